/**
 * kill -9 under load, round after round, on the same books. After every start everything that was ever acknowledged
 * is looked for, as it was told and with the status it was first seen to have; what was not answered is asked again,
 * and is there or not; the money is counted anew from the intents.
 *
 * Some kills come while the server is still starting: recovery from a fault, too, may meet one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { clientOf, crowd, intentsOf, type Sent } from '../engine/process.ts';
import { randomFrom } from '../storage/fake-disk.ts';
import { type Client, type Json, makeKeys } from '../support/client.ts';
import { destroy, issue, makeKit, pause, transfer } from '../support/kit.ts';
import { AYNI, launch, MAIN } from '../support/server.ts';

const WALLETS = ['ana', 'luz', 'eva', 'paz', 'sol'];
const SYMBOL = 'usd';
const LANES = 16;
/** Small segments and many snapshots, so that kills meet the making of both. */
const FLAGS = ['--snapshot-every', '120', '--segment-bytes-max', '65536'];
const START_KILL_MS_MAX = 500;
const ACKNOWLEDGED_MAX = 250;

interface KillOptions {
  directory: string;
  rounds: number;
  seed: number;
  tell?: (line: string) => void;
}

interface KillSummary {
  acknowledged: number;
  /** Requests whose connection broke: how many of them turned out to be done. */
  unanswered: number;
  found: number;
  tornTails: number;
  killsWhileStarting: number;
}

/** Plays so many rounds; throws where a promise was broken. */
export async function killRounds({ directory, rounds, seed, tell = () => {} }: KillOptions): Promise<KillSummary> {
  const random = randomFrom(seed);
  const known = new Map<string, Known>();
  const summary = { acknowledged: 0, unanswered: 0, found: 0, tornTails: 0, killsWhileStarting: 0 };
  for (let round = 1; round <= rounds; round++) {
    if (random() < 0.3) {
      await killWhileStarting(directory, random() * START_KILL_MS_MAX);
      summary.killsWhileStarting++;
    }
    const server = await launch(directory, { flags: FLAGS });
    try {
      const client = await clientOf(server);
      if (server.log().includes('Cut a torn tail')) summary.tornTails++;
      if (round === 1) await open(client);
      await judgeAll(client, known);
      const load = crowd(server.url, LANES, '', SYMBOL, () => anyClaim(random));
      await load.acknowledged(1 + Math.floor(random() * ACKNOWLEDGED_MAX));
      await pause(random() * 20);
      server.child.kill('SIGKILL');
      await server.ended;
      await load.end();
      for (const sent of load.sent) remember(known, sent, summary);
    } finally {
      server.child.kill('SIGKILL');
    }
    tell(`round ${round} of ${rounds}: ${summary.acknowledged} acknowledged, all there so far`);
  }
  const server = await launch(directory, { flags: FLAGS });
  await judgeAll(await clientOf(server), known);
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0, server.log());
  assert.equal(await verify(directory), 0, 'the audit of the books');
  for (const { wasUnanswered, isThere } of known.values()) if (wasUnanswered && isThere === true) summary.found++;
  return summary;
}

/** An intent that was sent, and what is known of it. */
interface Known {
  body: Json;
  luid: string | null;
  /** Once seen it stays. */
  status: string | null;
  wasUnanswered: boolean;
  /** Null until somebody has looked. */
  isThere: boolean | null;
}

function remember(known: Map<string, Known>, { body, status, reply }: Sent, summary: KillSummary): void {
  assert.ok(status === 201 || status === 0, `an answer of ${status} on the way to a kill: ${JSON.stringify(reply)}`);
  const wasUnanswered = status === 0;
  if (wasUnanswered) summary.unanswered++;
  else summary.acknowledged++;
  const luid = wasUnanswered ? null : (reply.luid as string);
  known.set(body.data.handle, { body, luid, status: null, wasUnanswered, isThere: wasUnanswered ? null : true });
}

async function open(client: Client): Promise<void> {
  const kit = makeKit(client, makeKeys());
  for (const handle of WALLETS) await kit.wallet({ handle });
  await kit.symbol({ handle: SYMBOL });
}

function anyClaim(random: () => number): Json {
  const anyOf = (list: string[]) => list[Math.floor(random() * list.length)]!;
  const amount = 1 + Math.floor(random() * 20);
  const chance = random();
  if (chance < 0.5) return issue(anyOf(WALLETS), SYMBOL, amount);
  if (chance < 0.95) return transfer(anyOf(WALLETS), anyOf(WALLETS), SYMBOL, amount);
  return destroy(anyOf(WALLETS), SYMBOL, amount);
}

/** A start of which nothing is heard: killed after so long, wherever it is by then. */
async function killWhileStarting(directory: string, ms: number): Promise<void> {
  const child = spawn(process.execPath, [MAIN, '--port', '0', '--data', directory, ...FLAGS], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await pause(ms);
  child.kill('SIGKILL');
  await ended;
}

async function judgeAll(client: Client, known: Map<string, Known>): Promise<void> {
  const intents = await intentsOf(client);
  for (const [handle, one] of known) {
    const found = intents.get(handle);
    if (one.isThere === null) one.isThere = found !== undefined;
    assert.equal(found !== undefined, one.isThere, `${handle} is ${one.isThere ? 'gone' : 'suddenly there'}`);
    if (found === undefined) continue;
    assert.equal(found.hash, one.body.hash);
    assert.ok(['completed', 'rejected'].includes(found.meta.status), `${handle} is ${found.meta.status}`);
    one.luid ??= found.luid;
    one.status ??= found.meta.status;
    assert.deepEqual([found.luid, found.meta.status], [one.luid, one.status], `${handle} has changed`);
  }
  await judgeMoney(client, intents);
  await retrySome(client, known);
}

/** Balances as the completed intents make them. */
async function judgeMoney(client: Client, intents: Map<string, Json>): Promise<void> {
  const balances = new Map(WALLETS.map((wallet) => [wallet, 0]));
  const add = (wallet: string | undefined, amount: number) => {
    if (wallet !== undefined) balances.set(wallet, balances.get(wallet)! + amount);
  };
  for (const { data, meta } of intents.values()) {
    if (meta.status !== 'completed') continue;
    for (const { source, target, amount } of data.claims) {
      add(source?.handle, -amount);
      add(target?.handle, amount);
    }
  }
  const kit = makeKit(client, makeKeys());
  for (const [wallet, amount] of balances) assert.equal(await kit.balance(wallet, SYMBOL), amount, wallet);
}

/** A client that asks again learns that its own bytes are in, or brings them in now. */
async function retrySome(client: Client, known: Map<string, Known>): Promise<void> {
  const all = [...known.values()].slice(-2 * LANES);
  for (const one of all.filter(({ isThere }) => isThere === true)) {
    const { status, body } = await client.post('/intents', one.body);
    assert.deepEqual([status, body.data.reason, body.data.custom.luid], [409, 'record.duplicated', one.luid]);
  }
  for (const one of all.filter(({ isThere }) => isThere === false)) {
    const { status, body } = await client.post('/intents', one.body);
    assert.equal(status, 201);
    one.luid = body.luid;
    one.isThere = true;
    // It is told as one that was found only if the server had it when it came back.
    one.wasUnanswered = false;
  }
}

/** Every byte, chain link, proof and decision, checked from outside. */
function verify(directory: string): Promise<number | null> {
  return new Promise((resolve) => {
    spawn(process.execPath, [AYNI, 'verify', directory], { stdio: ['ignore', 'ignore', 'inherit'] }).once(
      'close',
      resolve,
    );
  });
}
