/**
 * The books a load runs on: filled before it, and checked after it through the same API a client has.
 */
import { type Answer, type Client, findLie, type Refusal, signRecord } from '../../src/cli/client.ts';
import { runInParallel } from '../../src/cli/parallel.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import type { LoadFigures } from './drive.ts';
import { FUNDS_PER_WALLET, fundingData, ownerKeys, SYMBOL, symbolData, walletData, walletHandle } from './intents.ts';

const CONNECTIONS = 32;
/** Claims in one funding intent: its body stays far below the service's bound. */
const FUNDING_CLAIMS = 500;

/** A row of GET /wallets/{id}/balances. */
interface BalanceRow {
  data: { symbol: string; schema: string; amount: number };
}

/** Makes the symbol, `wallets` wallets and their funds. Throws where anything is refused. */
export async function fillBooks(client: Client, wallets: number): Promise<void> {
  const system = ownerKeys(0);
  const systemPublic = encodeBase64(system.public);
  expectCreated(await client.post('/symbols', signRecord(symbolData(systemPublic), system)));
  await runInParallel(wallets, CONNECTIONS, async (wallet) => {
    const keys = ownerKeys(wallet);
    expectCreated(await client.post('/wallets', signRecord(walletData(wallet, encodeBase64(keys.public)), keys)));
  });
  for (let from = 0; from < wallets; from += FUNDING_CLAIMS) {
    const data = fundingData(from, Math.min(wallets, from + FUNDING_CLAIMS), systemPublic);
    expectCreated(await client.post('/intents', signRecord(data, system)));
  }
}

/** Makes a ledger that is open to all. Throws where it is refused. */
export async function makeLedger(client: Client, handle: string): Promise<void> {
  const access = [{ action: 'any', record: 'any' }];
  expectCreated(await client.post('/ledgers', signRecord({ handle, access }, ownerKeys(0))));
}

/** What is wrong with these intents: missing, not completed, or with a proof that does not hold. */
export async function findWrongIntents(client: Client, handles: string[]): Promise<string[]> {
  const wrong: string[] = [];
  await runInParallel(handles.length, CONNECTIONS, async (position) => {
    const handle = handles[position]!;
    const { status, body } = await client.get(`/intents/${handle}`);
    if (status !== 200) wrong.push(`${handle}: GET answers ${status}`);
    else if (body.meta.status !== 'completed') wrong.push(`${handle}: status ${body.meta.status}`);
    else {
      const lie = findLie(body);
      if (lie !== null) wrong.push(`${handle}: ${lie}`);
    }
  });
  return wrong;
}

/** What is wrong with the money: transfers neither make nor lose any, so all wallets hold what was issued. */
export async function findWrongBalances(client: Client, wallets: number): Promise<string[]> {
  let sum = 0n;
  await runInParallel(wallets, CONNECTIONS, async (wallet) => {
    const { body } = await client.get<{ data: BalanceRow[] }>(`/wallets/${walletHandle(wallet)}/balances`);
    for (const row of body.data) {
      if (row.data.symbol === SYMBOL && row.data.schema === 'available') sum += BigInt(row.data.amount);
    }
  });
  const issued = BigInt(wallets) * BigInt(FUNDS_PER_WALLET);
  return sum === issued ? [] : [`balances sum up to ${sum}, issued were ${issued}`];
}

/** What of these books was rejected: the intents of all loads can be paid, so each is to come to `completed`. */
export async function findRejected(client: Client): Promise<string[]> {
  const { status, body } = await client.get<{ data: { data: { handle: string } }[] }>(
    '/intents?meta.status=rejected&page.limit=1',
  );
  if (status !== 200) return [`the list of rejected intents is answered ${status}`];
  return body.data.map(({ data }) => `${data.handle}: rejected, and others may be`);
}

/**
 * Drives loads, and holds what the generators count as accepted to the books: each answer 201 is an entry on the disk by
 * then. Throws where it is not so: the figures of such a run are none. There may be more entries than answers, of requests
 * that were under way when a generator ended.
 */
export async function countingEntries<T extends LoadFigures | LoadFigures[]>(
  client: Client,
  drive: () => Promise<T>,
): Promise<T> {
  const before = await readSeq(client);
  const loads = await drive();
  const lie = findMiscount((await readSeq(client)) - before, Array.isArray(loads) ? loads : [loads]);
  if (lie !== null) throw new Error(lie);
  return loads;
}

/** How the entries that came contradict what the generators say, or null. */
export function findMiscount(entries: number, loads: readonly Pick<LoadFigures, 'accepted'>[]): string | null {
  const accepted = loads.reduce((sum, load) => sum + load.accepted, 0);
  return entries < accepted ? `WRONG: ${accepted} intents were acknowledged, the books have ${entries}` : null;
}

async function readSeq(client: Client): Promise<number> {
  const { body } = await client.get<{ data: { seq: number } }>('/head');
  return body.data.seq;
}

function expectCreated(answer: Answer): void {
  if (answer.status === 201) return;
  const { reason, detail } = (answer.body as unknown as Refusal).data;
  throw new Error(`the service refused what the bench rests on: ${answer.status} ${reason}: ${detail}`);
}
