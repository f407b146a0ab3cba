/**
 * Payments between the banks' accounts: made by chance, signed by clients, and sent until the ledger has said that it
 * has them. Most can be done; some ask for more than there is, or name nobody.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createKeyPair } from '../../proof/keys.ts';
import { type Client, type Refusal, type SignedRecord, signRecord } from '../client.ts';

export interface Place {
  bank: string;
  account: string;
}

/** One claim of a payment. */
export interface Move {
  from: Place;
  to: Place;
  amount: number;
}

export interface Payment {
  handle: string;
  moves: Move[];
  record: SignedRecord;
}

interface TrafficPlan {
  banks: readonly [string, string];
  accounts: readonly string[];
  symbol: string;
  amountMax: number;
}

const NOBODY = 'nobody';
const SEND_AGAIN_MS = 50;

/** From `random`, numbers from 0 up to 1. */
export function makePayment(number: number, plan: TrafficPlan, random: () => number): Payment {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const [near, far] = random() < 0.5 ? plan.banks : [plan.banks[1], plan.banks[0]];
  const move = (from: string, to: string): Move => ({
    from: { bank: from, account: pick(plan.accounts) },
    to: { bank: to, account: pick(plan.accounts) },
    amount: 1 + Math.floor(random() * plan.amountMax),
  });
  const moves = [move(near, far)];
  const kind = random();
  if (kind < 0.05) moves[0]!.amount *= 1000;
  else if (kind < 0.1) moves[0]!.to.account = NOBODY;
  else if (kind < 0.2) moves.push(move(far, near));
  else if (kind < 0.3) moves.push(move(near, far));
  const handle = `payment-${number}`;
  const end = ({ bank, account }: Place) => ({ handle: bank, custom: { account } });
  const claims = moves.map(({ from, to, amount }) => ({
    action: 'transfer',
    source: end(from),
    target: end(to),
    symbol: { handle: plan.symbol },
    amount,
  }));
  return { handle, moves, record: signRecord({ handle, schema: 'transfer', claims }, createKeyPair()) };
}

/**
 * Sends it as a client does that gets no answer: the same bytes again, until they are in. Answers why not, where the
 * ledger does not want them at all.
 */
export async function send(client: Client, { record }: Payment, isOver: () => boolean): Promise<string | null> {
  while (!isOver()) {
    try {
      const { status, body } = await client.post('/intents', record);
      const { data } = body as unknown as Refusal;
      if (status === 201 || (status === 409 && data.custom?.hash === record.hash)) return null;
      if (status !== 429 && status !== 503) return `refused: ${status} ${data.reason} ${data.detail}`;
    } catch {
      // Killed, and soon back.
    }
    await pause(SEND_AGAIN_MS);
  }
  return 'never answered';
}
