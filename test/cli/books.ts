/**
 * Directories of books to be audited: made by a real server, copied, and rewritten by somebody who holds its key.
 */
import { execFile } from 'node:child_process';
import { readdirSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type AuditOptions, type AuditReport, audit } from '../../src/cli/audit/audit.ts';
import { EntryAudit, type EntryCounts } from '../../src/cli/audit/entries.ts';
import { Signatures } from '../../src/cli/audit/signatures.ts';
import { isUsageError } from '../../src/cli/usage.ts';
import { dumpState, type StateExtra } from '../../src/core/dump.ts';
import type { Entry } from '../../src/core/entry.ts';
import type { State } from '../../src/core/state.ts';
import { type KeyPair, keyPairFromSecret } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { stateOf } from '../../src/recovery.ts';
import { encode } from '../../src/storage/codec.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { type EntryFormat, JOURNAL_START, Journal, type JournalPosition } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { readKeyFile } from '../../src/storage/key-file.ts';
import { END_FILE } from '../../src/storage/known-end.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { snapshotName } from '../../src/storage/snapshot-format.ts';
import { readSnapshots } from '../../src/storage/snapshot-reader.ts';
import { errorText } from '../../src/storage/system-error.ts';
import { packValue } from '../../src/storage/values.ts';
import { commit } from '../storage/kit.ts';
import { bearer, connect, type Json, makeKeys, record } from '../support/client.ts';
import { directoryCopy, freshDirectory, makeDirectory } from '../support/directory.ts';
import { openHook } from '../support/hook.ts';
import { destroy, issue, limit, makeKit, openLedger, proofFor, transfer, unique, until } from '../support/kit.ts';
import { AYNI, type Server, startServer } from '../support/server.ts';

/** Where a copy may go: not there yet. */
export const fresh = () => join(freshDirectory(), 'copy');

/** A copy whose end may be rewritten: nothing is noted of where a server stopped. */
export function copyOf(directory: string): string {
  const copy = directoryCopy(directory);
  rmSync(join(copy, END_FILE), { force: true });
  return copy;
}

/** A copy as it is taken by whoever keeps the key elsewhere. */
export function copyWithoutKey(directory: string): string {
  const copy = copyOf(directory);
  unlinkSync(join(copy, 'server.key'));
  return copy;
}

/**
 * Books that several files of tests look at are made once in a process, and go when the suite ends. Each time they
 * are asked for a copy is given, for the file or the test to do with as it likes.
 */
function madeOnce(make: (directory: string) => Promise<void>): () => Promise<string> {
  let made: Promise<string> | null = null;
  const makeIt = async () => {
    const directory = makeDirectory();
    await make(directory);
    return directory;
  };
  return async () => {
    made ??= makeIt();
    return copyOf(await made);
  };
}

const PRUNED = ['--snapshot-every', '40', '--segment-bytes-max', '12000'];

/** Books with a bit of everything, in one segment. */
export const plainBooks = madeOnce((directory) => fillDirectory(directory, 20, []));

/** The same from whose journal the first segments went after two snapshots. */
export const prunedBooks = madeOnce((directory) => fillDirectory(directory, 60, PRUNED));

/** The same with tokens that are good only once, before the segments that are left, between the snapshots and after. */
export const tokenBooks = madeOnce(async (directory) => {
  const server = await startServer({ directory, flags: PRUNED });
  const keys = makeKeys(Buffer.alloc(32, 5));
  const client = connect(server);
  const kit = makeKit(client, keys);
  const symbol = await kit.symbol();
  const wallet = await kit.wallet();
  for (let i = 0; i < 60; i++) {
    const headers = bearer(keys, 'main', { jti: unique('once') });
    await kit.send([issue(wallet, symbol, 1 + i)], i % 3 === 0 ? {} : { headers });
  }
  await server.stop();
});

/**
 * The same in whose first segments more intents were too old at once than one frame takes, the last of them one that a bank
 * was asked about, and never answered.
 */
export async function expiredBooks(): Promise<string> {
  const directory = freshDirectory();
  const hook = await openHook();
  hook.answer = () => 202;
  const flags = [...PRUNED, '--batch-entries-max', '2'];
  const keys = makeKeys(Buffer.alloc(32, 5));
  let server = await startServer({ directory, flags });
  const ledger = await openLedger(connect(server), keys, {
    config: { 'intent.expiryThresholdMinutes': 1 },
    access: [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' }],
  });
  const headers = { 'x-ledger': ledger.data.handle as string };
  const kitOf = () => makeKit(connect(server, headers), keys);
  const symbol = await kitOf().symbol();
  const [a, b] = [await kitOf().wallet(), await kitOf().wallet()];
  const waiting: string[] = [];
  for (let i = 0; i < 7; i++) waiting.push((await kitOf().send([transfer(a, b, symbol, 1)])).body.luid);
  const bridge = await kitOf().make('bridges', { handle: unique('bridge'), config: { server: hook.url } });
  const away = await kitOf().wallet({ bridge: bridge.data.handle });
  const asked: string = (await kitOf().send([issue(away, symbol, 1)])).body.luid;
  await server.stop();
  // Two minutes go by.
  const later = 'const%20now=Date.now.bind(Date);Date.now=()=>now()+120000';
  server = await startServer({ directory, flags, env: { NODE_OPTIONS: `--import=data:text/javascript,${later}` } });
  const client = connect(server, headers);
  await until(async () => {
    const replies = await Promise.all(waiting.map((luid) => client.get(`/intents/${luid}`)));
    const { body } = await client.get(`/intents/${asked}`);
    return body.meta.status === 'aborted' && replies.every(({ body }) => body.meta.status === 'rejected');
  }, 'the end of each');
  for (let i = 0; i < 60; i++) await kitOf().send([issue(a, symbol, 1)]);
  await server.stop();
  await hook.close();
  return directory;
}

/** The same in whose first segments the server noted of one call after the other that the bridge will not hear of it. */
export async function strandedBooks(): Promise<string> {
  const directory = freshDirectory();
  const hook = await openHook();
  hook.answer = () => 501;
  const server = await startServer({ directory, flags: [...PRUNED, '--batch-entries-max', '1'] });
  const client = connect(server);
  const kit = makeKit(client, makeKeys(Buffer.alloc(32, 5)));
  const symbol = await kit.symbol();
  const bridge = await kit.make('bridges', { handle: unique('bridge'), config: { server: hook.url } });
  const [away, here] = [await kit.wallet({ bridge: bridge.data.handle }), await kit.wallet()];
  await kit.done([limit(away, symbol, 'minBalance', -1000)]);
  const sent = await Promise.all(Array.from({ length: 12 }, () => kit.send([transfer(away, here, symbol, 1)])));
  await until(async () => {
    const replies = await Promise.all(sent.map(({ body }) => client.get(`/intents/${body.luid}`)));
    return replies.every(({ text }) => text.includes('bridge-unreachable'));
  }, 'notes of the calls');
  for (let i = 0; i < 60; i++) await kit.send([issue(here, symbol, 1)]);
  await server.stop();
  await hook.close();
  return directory;
}

/** Books of a server with these flags. */
async function fillDirectory(directory: string, transfers: number, flags: string[]): Promise<void> {
  const server = await startServer({ directory, flags });
  await fillBooks(server, transfers);
  await server.stop();
}

export function look(directory: string, more: Partial<AuditOptions> = {}): Promise<AuditReport> {
  return audit({ disk: realDisk, directory, key: null, workers: 0, otherRules: false, ...more });
}

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** The command, in a process of its own as people run it. */
export async function ayniProcess(...args: string[]): Promise<Ran> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [AYNI, ...args], { maxBuffer: 1 << 26 });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

/** A key of somebody's own: the file, and the public one. */
export async function makeKeyFile(): Promise<{ file: string; key: string }> {
  const file = join(freshDirectory(), 'me.json');
  const { out } = await ayniProcess('keygen', '--out', file);
  return { file, key: out.trim() };
}

interface Tool {
  run(args: string[]): number | Promise<number>;
}

const TOOLS: Record<string, () => Promise<Tool>> = {
  verify: () => import('../../src/cli/verify.ts'),
  inspect: () => import('../../src/cli/inspect.ts'),
  follow: () => import('../../src/cli/follow.ts'),
  backup: () => import('../../src/cli/backup.ts'),
  export: () => import('../../src/cli/export.ts'),
  balances: () => import('../../src/cli/balances.ts'),
  statement: () => import('../../src/cli/statement.ts'),
  keygen: () => import('../../src/cli/keygen.ts'),
};

/** The same without a process: what the command of the first name does, says, and ends with. One at a time. */
export async function ayni(...[name, ...args]: string[]): Promise<Ran> {
  const said = { out: '', err: '' };
  const { stdout, stderr } = process;
  const [tellOut, tellErr] = [stdout.write, stderr.write];
  const { run } = await TOOLS[name!]!();
  const hear = (stream: keyof typeof said) => (text: string | Uint8Array) => {
    said[stream] += text;
    return true;
  };
  [stdout.write, stderr.write] = [hear('out'), hear('err')];
  try {
    const code = await run(args);
    return { ...said, code };
  } catch (error) {
    return {
      ...said,
      code: isUsageError(error as Error) ? 2 : 1,
      err: `${said.err}ayni: ${errorText(error as Error)}\n`,
    };
  } finally {
    [stdout.write, stderr.write] = [tellOut, tellErr];
  }
}

/** A bit of everything a ledger can be asked for. */
export async function fillBooks(server: Server, transfers: number): Promise<void> {
  const keys = makeKeys(Buffer.alloc(32, 5));
  const client = connect(server);
  const kit = makeKit(client, keys);
  const symbol = await kit.symbol();
  const wallets: string[] = [];
  for (let i = 0; i < 4; i++) wallets.push(await kit.wallet());
  const [a, b, c, d] = wallets as [string, string, string, string];
  await kit.done([issue(a, symbol, 1_000_000), issue(b, symbol, 500)]);
  await kit.done([limit(c, symbol, 'maxBalance', 300), limit(d, symbol, 'dailyAmount', 1000)]);
  for (let i = 0; i < transfers; i++) {
    const claims = [transfer(a, wallets[1 + (i % 3)]!, symbol, 1 + (i % 9))];
    if (i % 10 === 0) claims.push(transfer(b, a, symbol, 2));
    await kit.send(claims);
  }
  await kit.refused([transfer(d, a, symbol, 900_000)]);
  await kit.done([destroy(a, symbol, 1000)]);
  for (const action of ['commit', 'abort']) {
    const sent = await kit.send([transfer(a, b, symbol, 77)], { data: { config: { commit: 'manual' } } });
    const proof = proofFor(sent.body, keys, { action, moment: new Date().toISOString() });
    await client.post(`/intents/${encodeURIComponent(sent.body.data.handle)}/proofs`, proof);
  }
  await kit.send([transfer(a, d, symbol, 5)], { data: { config: { commit: 'manual' } } });
  const anchor = await kit.make('anchors', {
    handle: unique('anchor'),
    wallet: a,
    target: b,
    custom: { name: 'ñandú ☀' },
  });
  const changed = await kit.change('anchors', anchor, { ...anchor.data, custom: { name: 'other' } });
  await client.post(
    `/anchors/${encodeURIComponent(anchor.data.handle)}/proofs`,
    proofFor(changed.body, keys, { moment: new Date().toISOString(), status: 'connected' }),
  );
  const loose = await kit.make('wallets', { handle: unique('loose') });
  await client.del(`/wallets/${loose.data.handle}`, kit.dropBody(loose));
  const ledger = await openLedger(client, keys);
  const elsewhere = { 'x-ledger': ledger.data.handle as string };
  await client.post('/symbols', record({ handle: 'inti', factor: 1 }, keys), elsewhere);
  await client.post('/wallets', record({ handle: 'sol' }, keys), elsewhere);
  await kit.send([issue('sol', 'inti', 9)], { headers: elsewhere });
}

export function keyIn(directory: string): KeyPair {
  return keyPairFromSecret(readKeyFile(realDisk, directory)!.secret);
}

export function filesIn(directory: string, pattern: RegExp): string[] {
  return readdirSync(directory)
    .filter((name) => pattern.test(name))
    .sort();
}

interface Frame {
  moment: number;
  entries: Entry[];
}

export function framesOf(directory: string): Frame[] {
  const frames: Frame[] = [];
  let entries: Entry[] = [];
  readJournal(realDisk, directory, JOURNAL_START, {
    verifyFrame: () => true,
    onEntry: (entry) => entries.push(entry),
    onFrame({ moment }) {
      frames.push({ moment, entries });
      entries = [];
    },
  });
  return frames;
}

/** A copy whose journal was written again, whole and signed with `key`, after `lie` had its way with it; in an older format where asked for. */
export async function rewritten(
  directory: string,
  lie: (frames: Frame[]) => void,
  key = keyIn(directory),
  format?: EntryFormat,
): Promise<string> {
  const copy = copyOf(directory);
  const frames = framesOf(directory);
  lie(frames);
  for (const name of filesIn(copy, /^(journal|snapshot|part)-/)) unlinkSync(join(copy, name));
  const journal = Journal.open(realDisk, copy, JOURNAL_START, {
    segmentBytesMax: 1 << 26,
    durability: 'none',
    sign: (hash) => sign(hash, key),
    ...(format === undefined ? {} : { format }),
  });
  for (const { moment, entries } of frames) {
    for (const entry of entries) journal.add(entry);
    await commit(journal, moment);
  }
  await journal.close();
  return copy;
}

/**
 * What an audit counts of these entries that knows of no frames, as of those that only a snapshot has, and before when nothing
 * more can have been written; it throws what it finds.
 */
export async function withoutFrames(
  entries: readonly Entry[],
  key: KeyPair,
  { signedOnly = false } = {},
): Promise<EntryCounts & { lastMoment: number }> {
  const signatures = new Signatures(0);
  const audit = new EntryAudit({ serverKey: key.public, signatures, hashSeed: 1, otherRules: false, signedOnly });
  for (const [index, entry] of entries.entries()) {
    const buffer = new FrameBuffer();
    encode(entry, buffer);
    const bytes = buffer.bytes.slice(0, buffer.end);
    audit.add({ entry, bytes, place: { file: '', seq: index + 1 } }, entries[index + 1] ?? null, null);
  }
  await signatures.close();
  return { ...audit.counts, lastMoment: audit.lastMoment };
}

/** A copy whose newest snapshot was taken again, whole and signed with `key`, after `lie` had its way with the state. */
export async function resnapped(
  directory: string,
  lie: (state: State, extra: StateExtra, at: JournalPosition) => void,
  key = keyIn(directory),
): Promise<string> {
  const copy = copyOf(directory);
  const { snapshot } = readSnapshots(
    realDisk,
    copy,
    () => true,
    (read) => stateOf(read),
  );
  const { seq, chain, moment, loaded: state } = snapshot!;
  unlinkSync(join(copy, snapshotName(seq)));
  const { extra } = dumpState(state);
  const at = { seq, chain, moment };
  lie(state, extra, at);
  const { parts } = dumpState(state);
  const content = { ...at, extra: packValue(extra), parts };
  await takeSnapshot(realDisk, copy, content, { sign: (hash) => sign(hash, key), verify: verifyBy(key.public) });
  return copy;
}

export function reportOf(ran: Ran): Json {
  return JSON.parse(ran.out);
}
