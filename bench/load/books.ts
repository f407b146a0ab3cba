/**
 * The books a load runs on: filled before it, and checked after it through the same API a client has.
 */
import { type Answer, type Client, findLie, type Refusal, signRecord } from '../../src/cli/client.ts';
import { runInParallel } from '../../src/cli/parallel.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
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

function expectCreated(answer: Answer): void {
  if (answer.status === 201) return;
  const { reason, detail } = (answer.body as unknown as Refusal).data;
  throw new Error(`the service refused what the bench rests on: ${answer.status} ${reason}: ${detail}`);
}
