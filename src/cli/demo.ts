/**
 * `npm run demo`: the service's main job, played against a service of its own, for somebody who sees it for
 * the first time.
 *
 * Clients send signed transfers, the service is killed in the middle (kill -9: it learns nothing of it), and
 * started again on the same files. Then every promise is checked from outside, through the API alone: what was
 * acknowledged is there with every signature in order, what was not is there or is not, and the books add up.
 * Exit code 1 when anything is missing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyPair, encodeBase64, type KeyPair } from '../proof/keys.ts';
import { type Answer, type Client, connect, findLie, type Refusal, type SignedRecord, signRecord } from './client.ts';
import { countText } from './count.ts';
import { runInParallel } from './parallel.ts';
import { type ServerProcess, startServer } from './server-process.ts';

const HELP = `ayni demo

Starts a ledger of its own on files of its own, kills it at work, starts it again, and checks every answer it gave. Takes
some twenty seconds and no flags, and leaves nothing behind. Ends with 0 where nothing is missing.
`;
const WALLETS = 20;
const TRANSFERS = 6000;
const CLIENTS = 32;
const FUNDS = 1_000_000;
const AMOUNT_MAX = 100;
/** The kill comes when this share of the transfers is acknowledged. */
const KILL_AT = 0.5;
/** Sending and checking stop after this time on a machine too slow for all of it; what is left is named. */
const SEND_MS_MAX = 6000;
const CHECK_MS_MAX = 8000;
const FINDINGS_SHOWN = 10;

/** A transfer a client has signed, and what it knows of it. */
interface Transfer {
  from: number;
  to: number;
  amount: number;
  record: SignedRecord;
  acknowledged: boolean;
}

interface BalanceRow {
  data: { symbol: string; schema: string; amount: number };
}

const wallets = Array.from({ length: WALLETS }, (_, number) => ({
  handle: `wallet-${number}`,
  keys: createKeyPair(),
}));
const [given] = process.argv.slice(2);
if (given === '--help') {
  process.stdout.write(HELP);
  process.exit(0);
}
if (given !== undefined) {
  process.stderr.write(`demo: takes no arguments, not ${given}\n`);
  process.exit(2);
}

const directory = makeDirectory();
const findings: string[] = [];

// Whoever ends this process ends the service too, which goes when it exits: a signal alone is no exit. The files go
// last.
const end = () => {
  process.once('exit', removeDirectory);
  process.exit(1);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
// So does whoever reads no more, as `| head` does.
process.stdout.once('error', end);

try {
  await play();
} catch (error) {
  findings.push(`the demo could not go on: ${error instanceof Error ? error.message : error}`);
} finally {
  removeDirectory();
}
for (const finding of findings.slice(0, FINDINGS_SHOWN)) say(`  WRONG  ${finding}`);
if (findings.length > 0) say(`\nThe promise is broken: ${count(findings.length)} findings.`);
else say('\nNothing acknowledged was lost, nothing was done twice, and the books add up.');
// A service that is still running after a failure goes with this process.
process.exit(findings.length > 0 ? 1 : 0);

function makeDirectory(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'ayni-demo-'));
  } catch (error) {
    process.stderr.write(`demo: ${(error as Error).message}\n`);
    return process.exit(1);
  }
}

/** While its service is killed it may still be at a file: then it is tried again. */
function removeDirectory(): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function play(): Promise<void> {
  say(`ayni demo: a ledger is killed in the middle of its work. Its files: ${directory}\n`);
  let server = await startServer(directory);
  say(`1  Started the service in ${ms(server.startMs)}: ${server.url} (process ${server.pid}).`);
  await fillBooks(connect(server.url));
  const issued = WALLETS * FUNDS;
  say(`2  Made the symbol "usd" and ${WALLETS} wallets, and issued ${count(issued)} to them.`);

  const transfers = signTransfers();
  await sendUntilKilled(server, transfers);

  server = await startServer(directory);
  say(`5  Started it again on the same files; it had its books back in ${ms(server.startMs)}.`);
  const client = connect(server.url);
  await checkTransfers(client, transfers);
  await sendAgain(client, transfers);
  await checkBalances(client, transfers, issued);
  const code = await server.stop('SIGTERM');
  if (code !== 0) findings.push(`asked to stop, the service ended with ${code}`);
}

async function fillBooks(client: Client): Promise<void> {
  const issuer = createKeyPair();
  await create(client, '/symbols', { handle: 'usd', factor: 100 }, issuer);
  for (const { handle, keys } of wallets) {
    const access = [{ action: 'any', signer: { public: encodeBase64(keys.public) } }];
    await create(client, '/wallets', { handle, schema: 'user-wallet', access }, keys);
  }
  const claims = wallets.map(({ handle }) => ({
    action: 'issue',
    amount: FUNDS,
    symbol: { handle: 'usd' },
    target: { handle },
  }));
  await create(client, '/intents', { handle: 'first-money', schema: 'issue', claims }, issuer);
}

async function create(client: Client, path: string, data: Record<string, unknown>, keys: KeyPair): Promise<void> {
  const answer = await client.post(path, signRecord(data, keys));
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${explain(answer)}`);
}

/** Each transfer is signed by the owner of its source wallet, as a client would do it. */
function signTransfers(): Transfer[] {
  const start = performance.now();
  const transfers = Array.from({ length: TRANSFERS }, (_, number) => {
    const from = number % WALLETS;
    const to = (from + 1 + (Math.floor(number / WALLETS) % (WALLETS - 1))) % WALLETS;
    const amount = 1 + ((number * 37) % AMOUNT_MAX);
    const claim = {
      action: 'transfer',
      amount,
      symbol: { handle: 'usd' },
      source: { handle: wallets[from]!.handle },
      target: { handle: wallets[to]!.handle },
    };
    const data = { handle: `transfer-${number}`, schema: 'transfer', claims: [claim], config: { commit: 'auto' } };
    return { from, to, amount, record: signRecord(data, wallets[from]!.keys), acknowledged: false };
  });
  say(`3  Signed ${count(TRANSFERS)} transfers in ${ms(performance.now() - start)}.`);
  return transfers;
}

/** Sends from many clients at once, and kills the service while their requests are under way. */
async function sendUntilKilled(server: ServerProcess, transfers: Transfer[]): Promise<void> {
  const client = connect(server.url);
  const start = performance.now();
  let [acknowledged, cutOff] = [0, 0];
  let killing = false;
  let killed: Promise<unknown> | undefined;
  await runInParallel(transfers.length, CLIENTS, async (position) => {
    if (killed) return;
    const transfer = transfers[position]!;
    try {
      const answer = await client.post('/intents', transfer.record);
      if (answer.status === 201) {
        transfer.acknowledged = true;
        acknowledged += 1;
      } else findings.push(`${transfer.record.data.handle} was refused: ${answer.status} ${explain(answer)}`);
    } catch (error) {
      if (!killed) throw error;
      cutOff += 1;
    }
    if (killing || (acknowledged < TRANSFERS * KILL_AT && performance.now() - start < SEND_MS_MAX)) return;
    killing = true;
    // Not at once: the others send their next request first, so that the kill meets the service at work.
    setImmediate(() => {
      killed = server.stop('SIGKILL');
    });
  });
  const tookMs = performance.now() - start;
  await killed;
  const rate = count(Math.round((acknowledged * 1000) / tookMs));
  say(`4  ${CLIENTS} clients sent them: ${count(acknowledged)} acknowledged in ${ms(tookMs)} (${rate} a second).`);
  say(`   kill -9: ${cutOff} clients wait for an answer that will not come.`);
}

/** Reads everything back that was or may have been sent. */
async function checkTransfers(client: Client, transfers: Transfer[]): Promise<void> {
  const start = performance.now();
  const system = (await client.get('/signers/system')).body.data.public;
  let [found, unasked, absent, proofs, unread] = [0, 0, 0, 0, 0];
  await runInParallel(transfers.length, CLIENTS, async (position) => {
    const transfer = transfers[position]!;
    if (transfer.acknowledged && performance.now() - start > CHECK_MS_MAX) {
      unread += 1;
      return;
    }
    const answer = await client.get(`/intents/${transfer.record.data.handle}`);
    if (answer.status === 404) {
      absent += 1;
      if (transfer.acknowledged) findings.push(`${transfer.record.data.handle} was acknowledged and is gone`);
      return;
    }
    const problem = findProblem(answer, transfer, system);
    if (problem !== null) findings.push(`${transfer.record.data.handle}: ${problem}`);
    if (transfer.acknowledged) found += 1;
    else unasked += 1;
    proofs += answer.body.meta.proofs?.length ?? 0;
  });
  const expected = transfers.filter((transfer) => transfer.acknowledged).length;
  say(
    `6  Read back ${count(found)} of ${count(expected)} acknowledged transfers and checked ${count(proofs)} signatures`,
  );
  say(
    `   in ${ms(performance.now() - start)}. Of those never acknowledged ${unasked} are in, ${count(absent)} are not.`,
  );
  if (unread > 0) say(`   Time was up: ${count(unread)} were not read back on this machine.`);
}

/** Why this is not what the client signed, completed and signed by the service; null where it is. */
function findProblem(answer: Answer, transfer: Transfer, system: unknown): string | null {
  if (answer.status !== 200) return `GET answers ${answer.status}: ${explain(answer)}`;
  const { hash, meta } = answer.body;
  if (hash !== transfer.record.hash) return 'its content is not what was signed';
  if (meta.status !== 'completed') return `its status is ${meta.status}`;
  if (meta.proofs[0]?.result !== transfer.record.meta.proofs[0]?.result) return "its first proof is not the client's";
  if (!meta.proofs.slice(1).some((proof) => proof.public === system)) return 'the service has not signed it';
  return findLie(answer.body);
}

/** What a client does that got no answer: it sends the same bytes again, and learns which it was. */
async function sendAgain(client: Client, transfers: Transfer[]): Promise<void> {
  let [already, fresh] = [0, 0];
  await runInParallel(transfers.length, CLIENTS, async (position) => {
    const transfer = transfers[position]!;
    if (transfer.acknowledged) return;
    const answer = await client.post('/intents', transfer.record);
    const { data } = answer.body as unknown as Refusal;
    if (answer.status === 201) fresh += 1;
    else if (answer.status === 409 && data.custom?.hash === transfer.record.hash) already += 1;
    else {
      findings.push(`${transfer.record.data.handle}, sent again: ${answer.status} ${explain(answer)}`);
      return;
    }
    transfer.acknowledged = true;
  });
  say(`7  Sent the others again: ${count(fresh)} accepted, ${already} answered "already in, with this very hash".`);
}

/** Every balance against what the acknowledged transfers add up to, and all together against what was issued. */
async function checkBalances(client: Client, transfers: Transfer[], issued: number): Promise<void> {
  const expected = wallets.map(() => FUNDS);
  for (const { from, to, amount, acknowledged } of transfers) {
    if (!acknowledged) continue;
    expected[from]! -= amount;
    expected[to]! += amount;
  }
  let sum = 0;
  for (const [number, { handle }] of wallets.entries()) {
    const { body } = await client.get<{ data: BalanceRow[] }>(`/wallets/${handle}/balances`);
    const balance = body.data.find((row) => row.data.schema === 'available')?.data.amount ?? 0;
    sum += balance;
    if (balance !== expected[number])
      findings.push(`${handle} holds ${balance}, its transfers say ${expected[number]}`);
  }
  if (sum !== issued) findings.push(`all wallets hold ${sum}, issued were ${issued}`);
  say(`8  Compared ${WALLETS} balances with the transfers: together ${count(sum)} of ${count(issued)} issued.`);
}

function explain(answer: Answer): string {
  const refusal = answer.body as unknown as Partial<Refusal>;
  return `${refusal.data?.reason ?? 'no reason'} ${refusal.data?.detail ?? ''}`.trim();
}

function ms(time: number): string {
  return time < 1000 ? `${time.toFixed(0)} ms` : `${(time / 1000).toFixed(1)} s`;
}

function count(value: number): string {
  return countText(value, ' ');
}

function say(line: string): void {
  console.log(line);
}
