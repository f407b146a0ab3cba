/**
 * The audit against honest books, against every kind of damage, and against lies told by somebody who holds the
 * server's key and rewrites the books so that CRC, chain and signatures fit.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuditReport, audit } from '../../src/cli/audit/audit.ts';
import { hex } from '../../src/core/bytes.ts';
import type { StateExtra } from '../../src/core/dump.ts';
import { type CreateEntry, type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { findHandle, type State } from '../../src/core/state.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest, sha256 } from '../../src/proof/digest.ts';
import { createKeyPair, encodeBase64 } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { FORMAT_VERSION, readSegmentHeader, writeSegmentHeader } from '../../src/storage/format.ts';
import { connect, type Json, type Keys, makeKeys, makeToken, record } from '../support/client.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { issue, limit, makeKit, openLedger, pause, proofFor, reasonOf, transfer } from '../support/kit.ts';
import { againWith, often, SHARE } from '../support/long.ts';
import { NOWHERE } from '../support/samples.ts';
import { startServer } from '../support/server.ts';
import {
  ayni,
  copyOf,
  filesIn,
  fillBooks,
  framesOf,
  freshDirectory,
  keyIn,
  removeDirectories,
  reportOf,
  resnapped,
  rewritten,
} from './books.ts';

const BOOKS = /^(journal|snapshot|part)-/;
let plain = '';
let pruned = '';

beforeAll(async () => {
  plain = freshDirectory();
  const one = await startServer({ directory: plain });
  await fillBooks(one, 20);
  await one.stop();
  pruned = freshDirectory();
  const flags = ['--snapshot-every', '40', '--segment-bytes-max', '12000'];
  const other = await startServer({ directory: pruned, flags });
  await fillBooks(other, 60);
  await other.stop();
});

afterAll(removeDirectories);

function look(directory: string, more: { otherRules?: boolean; key?: Uint8Array } = {}): Promise<AuditReport> {
  return audit({ disk: realDisk, directory, key: null, workers: 0, otherRules: false, ...more });
}

function imprint(directory: string): string[] {
  return filesIn(directory, /./).map((name) => {
    const path = join(directory, name);
    const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
    return `${name} ${hash} ${statSync(path).mtimeMs}`;
  });
}

describe('honest books', () => {
  test('are believed, and not a byte of them changes', async () => {
    const before = [imprint(plain), imprint(pruned)];
    const ran = await ayni('verify', pruned);
    expect(ran.out + ran.err).toContain('Nothing wrong');
    expect(ran.code).toBe(0);
    expect((await look(plain)).finding).toBeNull();
    expect([imprint(plain), imprint(pruned)]).toEqual(before);
  });

  test('are checked in every way there is', async () => {
    const report = await look(plain);
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const of = (...types: number[]) => entries.filter((entry) => types.includes(entry.type)).length;
    const { create, update, drop, proof, intent, step } = EntryType;
    expect(of(update) * of(drop) * of(proof) * of(intent) * of(step)).toBeGreaterThan(0);
    expect(report.counts).toMatchObject({
      entries: entries.length,
      hashes: of(create, intent, update, drop),
      luids: of(create, intent),
      seals: of(create, intent, update),
      decisions: entries.length,
      otherwise: 0,
    });
    expect(report.signatures).toBe(report.counts.proofs + report.counts.seals + report.frames);
    expect(report.postings).toBeGreaterThan(20);
  });

  test('whose first segments went after two snapshots are read from the older one', async () => {
    const report = await look(pruned);
    expect(report.finding).toBeNull();
    expect(filesIn(pruned, /^snapshot/).length).toBe(2);
    expect(report.snapshots).toBe(2);
    expect(filesIn(pruned, /^journal/)[0]).not.toMatch(/0001\.ayj$/);
    expect(report.notes.join()).toContain('are gone');
    expect(report.counts.entries).toBe(report.seq);
  });

  test('are audited while their server works', async () => {
    const directory = copyOf(pruned);
    const server = await startServer({ directory, flags: ['--snapshot-every', '20', '--segment-bytes-max', '8000'] });
    const kit = makeKit(connect(server), makeKeys());
    const symbol = await kit.symbol();
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        await kit.send([transfer('nobody', 'nobody', symbol, 1)]);
        await pause(5);
      }
    })();
    try {
      for (let i = 0; i < often(2, 5); i++) {
        const ran = await ayni('verify', directory);
        expect(ran.out + ran.err).toContain('Nothing wrong');
      }
    } finally {
      isOver = true;
      await load;
      await server.stop();
    }
  });

  test('with numbers that are written as others: decided by what is written', async () => {
    const directory = freshDirectory();
    const server = await startServer({ directory, flags: ['--snapshot-every', '12'] });
    const client = connect(server);
    const keys = makeKeys();
    const kit = makeKit(client, keys);
    const [symbol, wallet] = [await kit.symbol(), await kit.wallet()];
    const custom = { properties: { n: { type: 'number' } } };
    await kit.make('schemas', {
      handle: 's',
      record: 'circle',
      format: 'json-schema',
      schema: { properties: { custom } },
    });
    /** Signs data and sends it with one number in other digits. */
    const send = (path: string, data: Json, from: string, to: string) =>
      client.post(path, JSON.stringify(record(data, keys)).replace(from, to));
    for (const metric of ['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount']) {
      const data = { handle: metric, claims: [limit(wallet, symbol, metric, 0)] };
      expect((await send('/intents', data, '"amount":0', '"amount":-0')).status).toBe(201);
      expect((await client.get(`/intents/${metric}`)).body.meta.status).toBe('completed');
    }
    const circle = { handle: 'c', schema: 's', custom: { n: null } };
    expect(reasonOf(await send('/circles', circle, 'null', '1e999'))).toEqual([422, 'record.schema-invalid']);
    const free = await send('/wallets', { handle: 'w', custom: { n: null } }, 'null', '-1e999');
    expect([free.status, free.body.data.custom]).toEqual([201, { n: null }]);
    for (let i = 0; i < 24; i++) await kit.wallet();
    await server.stop();
    const report = await look(directory);
    expect([report.finding, report.counts.otherwise]).toEqual([null, 0]);
    expect(report.snapshots).toBe(2);
  });

  test('with words of a bridge that end in the middle of a character, or begin there', async () => {
    const directory = freshDirectory();
    const server = await startServer({ directory });
    const client = connect(server);
    const keys = makeKeys();
    const kit = makeKit(client, keys);
    await kit.make('bridges', { handle: 'bank', config: { server: NOWHERE } });
    const [symbol, wallet] = [await kit.symbol(), await kit.wallet({ bridge: 'bank' })];
    const intent = (await kit.send([issue(wallet, symbol, 1)])).body;
    const entry = `cre_${intent.luid.slice(5)}.0`;
    const words = { reason: '\ude00bridge.no', detail: `x${'😀'.repeat(600)}` };
    const said = { moment: new Date().toISOString(), handle: entry, status: 'failed', ...words };
    const reply = await client.post(`/intents/${intent.luid}/proofs`, proofFor(intent, keys, said));
    expect(
      reply.body.meta.proofs.find((one: Json) => one.custom.reason === 'core.bridge-prepare-failed').custom,
    ).toMatchObject({
      failId: '\ufffdbridge.no',
      detail: `x${'😀'.repeat(499)}\ufffd`,
    });
    await server.stop();
    const report = await look(directory);
    expect([report.finding, report.counts.otherwise]).toEqual([null, 0]);
  });

  test('with a torn tail: told, not cut, no lie', async () => {
    let torn = '';
    for (const tear of [
      (path: string) => appendFileSync(path, Buffer.alloc(300, 0x5a)),
      (path: string) => appendFileSync(path, Buffer.alloc(5000).fill(1, 4000, 4002)),
      (path: string) => truncateSync(path, statSync(path).size - 10),
    ]) {
      const directory = copyOf(plain);
      const path = join(directory, filesIn(directory, /^journal/).at(-1)!);
      tear(path);
      const before = imprint(directory);
      const report = await look(directory);
      expect([report.finding, report.notes.join()]).toEqual([null, expect.stringContaining('torn tail')]);
      expect(imprint(directory)).toEqual(before);
      torn = directory;
    }
    const ran = await ayni('verify', torn);
    expect([ran.code, ran.out.includes('torn tail')]).toEqual([0, true]);
  });

  test('with room for frames to come: nothing to tell, but of a byte that has changed there', async () => {
    const directory = copyOf(plain);
    const path = join(directory, filesIn(directory, /^journal/).at(-1)!);
    const { size } = statSync(path);
    appendFileSync(path, Buffer.alloc(5000));
    const quiet = await look(directory);
    expect([quiet.finding, quiet.notes.filter((note) => note.includes('torn tail'))]).toEqual([null, []]);
    truncateSync(path, size);
    appendFileSync(path, Buffer.alloc(5000).fill(1, 4000, 4001));
    const changed = await look(directory);
    expect(changed.finding).toMatchObject({ kind: 'damage', file: path, byte: size + 4000 });
  });

  test('need no secret: a key that is given, or the one the books give', async () => {
    const directory = copyOf(pruned);
    const key = encodeBase64(keyIn(directory).public);
    rmSync(join(directory, 'server.key'));
    const ran = await ayni('verify', directory, '--json', '--key', key);
    expect(ran.code).toBe(0);
    expect(reportOf(ran)).toMatchObject({ ok: true, key: { public: key }, finding: null });
    const found = await ayni('verify', directory);
    expect([found.code, found.out]).toEqual([0, expect.stringContaining('the books themselves')]);
    expect(found.out).toContain(key);
  });
});

describe('permissions that stand in no entry', () => {
  const [owner, clerk] = [makeKeys(), makeKeys()];
  let directory = '';
  const statuses: string[] = [];

  beforeAll(async () => {
    directory = freshDirectory();
    const server = await startServer({ directory });
    const client = connect(server);
    const byToken = (keys: Keys) => ({ bearer: { $signer: { public: keys.public } } });
    const ledger = await openLedger(client, owner, {
      access: [
        { action: 'any', record: 'any', ...byToken(owner) },
        { action: { $in: ['access', 'create'] }, record: 'intent', ...byToken(clerk) },
        { action: { $in: ['access', 'create'] }, record: 'intent-proof', ...byToken(clerk) },
      ],
    });
    const handle: string = ledger.data.handle;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: 'audit', sub: 'audit', aud: handle, iat: now, exp: now + 60 };
    const headers = (keys: Keys) => ({ 'x-ledger': handle, authorization: `Bearer ${makeToken(claims, keys)}` });
    const post = async (path: string, body: Json, keys: Keys) => {
      const reply = await client.post(path, body, headers(keys));
      if (reply.status >= 300) throw new Error(reply.text);
      return reply.body;
    };
    await post('/symbols', record({ handle: 'inti', factor: 1 }, owner), owner);
    for (const wallet of ['a', 'b']) await post('/wallets', record({ handle: wallet }, owner), owner);
    await post('/intents', record({ handle: 'i-0', claims: [issue('a', 'inti', 50)] }, owner), owner);
    const sent = record({ handle: 'i-1', claims: [transfer('a', 'b', 'inti', 5)] }, clerk);
    const waits = await post('/intents', sent, clerk);
    const moment = new Date().toISOString();
    for (const keys of [clerk, owner]) {
      await post('/intents/i-1/proofs', proofFor(waits, keys, { moment, note: keys.public }), keys);
      statuses.push((await client.get('/intents/i-1', headers(owner))).body.meta.status);
    }
    await server.stop();
  });

  test('are taken for given, counted, and told', async () => {
    expect(statuses).toEqual(['pending', 'completed']);
    const report = await look(directory);
    expect(report.finding).toBeNull();
    expect(report.counts.permitted).toBeGreaterThan(5);
    expect(report.notes.join()).toContain(`${report.counts.permitted} decisions rest on permissions`);
  });

  test('are taken for given where they let a proof count that anybody may add', async () => {
    const own = freshDirectory();
    const server = await startServer({ directory: own });
    const client = connect(server);
    const byToken = { bearer: { $signer: { public: clerk.public } } };
    const ledger = await openLedger(client, owner, {
      access: [
        { action: { $in: ['access', 'create', 'issue'] }, record: 'any', signer: {} },
        { action: { $in: ['commit', 'abort'] }, record: 'intent', ...byToken },
      ],
    });
    const handle: string = ledger.data.handle;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: 'audit', sub: 'audit', aud: handle, iat: now, exp: now + 60 };
    const token = { authorization: `Bearer ${makeToken(claims, clerk)}` };
    const post = async (path: string, body: Json, headers = {}) => {
      const reply = await client.post(path, body, { 'x-ledger': handle, ...headers });
      if (reply.status >= 300) throw new Error(reply.text);
      return reply.body;
    };
    await post('/symbols', record({ handle: 'inti', factor: 1 }, owner));
    await post('/wallets', record({ handle: 'a', access: [{ action: 'spend', ...byToken }] }, owner));
    await post('/wallets', record({ handle: 'b' }, owner));
    await post('/intents', record({ handle: 'seed', claims: [issue('a', 'inti', 50)] }, owner));
    const ends: string[] = [];
    for (const action of ['commit', 'abort']) {
      const data = { handle: action, claims: [transfer('a', 'b', 'inti', 5)], config: { commit: 'manual' } };
      const waits = await post('/intents', record(data, owner));
      for (const custom of [{ note: 'go on' }, { action }]) {
        const moment = new Date().toISOString();
        for (const headers of [{}, token]) {
          const proof = proofFor(waits, clerk, { moment, ...custom, by: Object.keys(headers).join() });
          ends.push((await post(`/intents/${action}/proofs`, proof, headers)).meta.status);
        }
      }
    }
    await server.stop();
    expect(ends).toEqual(
      ['commit', 'abort'].flatMap((action) => {
        return ['pending', 'prepared', 'prepared', action === 'commit' ? 'completed' : 'rejected'];
      }),
    );
    const report = await look(own);
    expect([report.finding, report.counts.permitted]).toEqual([null, 4]);
  });

  test('excuse nothing else', async () => {
    const lies: ((frames: Frames) => void)[] = [
      (frames) => void pickTransfer(frames, EntryType.step).outcome.postings[2]!--,
      (frames) => void Object.assign(pick<IntentEntry>(frames, waits).outcome, { reason: 'core.other' }),
    ];
    const waits = (entry: Entry) => entry.type === EntryType.intent && entry.outcome.steps.length === 0;
    for (const lie of lies) {
      expect((await look(await rewritten(directory, lie))).finding?.kind).toBe('decided');
    }
  });

  test('do not excuse an intent that everybody could have made and that is kept waiting', async () => {
    const kept = await rewritten(plain, (frames) => {
      Object.assign(pickTransfer(frames).outcome, { steps: [], postings: [] });
    });
    expect((await look(kept)).finding?.kind).toBe('decided');
  });
});

describe('damage', () => {
  const names = () =>
    [plain, pruned].flatMap((directory) => filesIn(directory, BOOKS).map((name) => ({ directory, name })));

  test('a flipped bit anywhere is found, and its file named', async () => {
    const missed: string[] = [];
    for (const { directory, name } of names()) {
      const path = join(copyOf(directory), name);
      const whole = readFileSync(path);
      const step = Math.ceil(whole.length / often(5, 16));
      for (let at = 0; at < whole.length; at += step) {
        const byte = at + ((at * 7 + SHARE) % Math.min(step, whole.length - at));
        const bytes = Buffer.from(whole);
        bytes[byte]! ^= 1 << (byte % 8);
        writeFileSync(path, bytes);
        const { finding } = await look(join(path, '..'), { key: keyIn(directory).public });
        if (finding?.kind !== 'damage' || finding.file !== path || finding.byte! > byte) {
          missed.push(`${name} ${byte}: ${JSON.stringify(finding)}`);
        }
      }
    }
    expect(missed, againWith()).toEqual([]);
  });

  test('every bit of the last frame counts, although it looks like a torn tail', async () => {
    const directory = copyOf(plain);
    const path = join(directory, filesIn(directory, /^journal/).at(-1)!);
    const whole = readFileSync(path);
    let lastFrame = 0;
    const report = await look(directory);
    expect(report.finding).toBeNull();
    for (let at = 0; at >= 0; at = whole.indexOf(Buffer.from([0xdd, 0, 0, 0, 7, FORMAT_VERSION, 0xcf]), at + 1))
      lastFrame = at - 8;
    for (let byte = lastFrame; byte < whole.length; byte += 41) {
      const bytes = Buffer.from(whole);
      bytes[byte]! ^= 1 << (byte % 8);
      writeFileSync(path, bytes);
      expect((await look(directory)).finding).toMatchObject({ kind: 'damage', file: path, byte });
    }
  });

  test.each<[string, (directory: string) => void, RegExp]>([
    ['a segment missing in the middle', (d) => unlinkSync(join(d, filesIn(d, /^journal/)[1]!)), /where \d+ belongs/],
    ['the first segment missing', (d) => unlinkSync(join(d, filesIn(d, /^journal/)[0]!)), /belongs|missing|no segment/],
    ['the last segment missing', (d) => unlinkSync(join(d, filesIn(d, /^journal/).at(-1)!)), /./],
    ['no journal', (d) => filesIn(d, /^journal/).forEach((name) => void unlinkSync(join(d, name))), /no journal/],
    ['an unnamed part', (d) => writeFileSync(join(d, 'part-x-0123456789abcdef.ayp'), 'x'), /another hash/],
    ['a snapshot cut short', (d) => truncateSync(join(d, filesIn(d, /^snapshot/)[1]!), 5000), /half-written|whole/],
  ])('%s', async (name, spoil, what) => {
    const directory = copyOf(pruned);
    spoil(directory);
    const { finding } = await look(directory);
    // A journal cut between two frames is whole; only what was signed later can tell.
    if (name === 'the last segment missing')
      return expect((await look(directory)).seq).toBeLessThan((await look(pruned)).seq);
    expect(finding?.kind).toBe('damage');
    expect(finding?.what).toMatch(what);
  });

  test('the version that a header gives, which nobody signs, with its CRC made right', async () => {
    const stating = (directory: string, version: number) => {
      const path = join(directory, filesIn(directory, /^journal/)[0]!);
      const bytes = readFileSync(path);
      const { firstSeq, chain } = readSegmentHeader(bytes, 0, bytes.length)!;
      writeSegmentHeader(bytes, 0, firstSeq, chain, version);
      writeFileSync(path, bytes);
      return path;
    };
    // What an older server began and did not get to write looks the same: it is told, and no lie.
    const older = copyOf(plain);
    stating(older, 1);
    const report = await look(older);
    expect(report.finding).toBeNull();
    const told = `^journal-0+1\\.ayj says that it was begun in format version 1, .+ version ${FORMAT_VERSION}: `;
    expect(report.notes.join()).toMatch(new RegExp(told));
    const first = await rewritten(plain, () => {}, keyIn(plain), FIRST_FORMAT);
    expect((await look(first)).notes).toEqual((await look(plain)).notes);
    // A newer one leaves no older frames behind its header.
    const file = stating(first, 2);
    const what = 'it was begun in format version 2, it says, but its first frame is of version 1';
    expect((await look(first)).finding).toMatchObject({ kind: 'damage', file, byte: 8, what });
  });

  test('a journal that ends before its snapshot', async () => {
    const directory = copyOf(pruned);
    for (const name of filesIn(directory, /^journal/).slice(1)) unlinkSync(join(directory, name));
    expect((await look(directory)).finding).toMatchObject({
      kind: 'damage',
      what: expect.stringContaining('the journal ends'),
    });
  });
});

type Frames = ReturnType<typeof framesOf>;

/** The first entry that passes, to be changed in place. */
function pick<T extends Entry>(frames: Frames, passes: (entry: Entry) => boolean): T {
  return frames.flatMap((frame) => frame.entries).find(passes)! as T;
}

const isTransfer = (entry: Entry, type: EntryType = EntryType.intent): boolean =>
  entry.type === type && 'outcome' in entry && entry.outcome.steps.length === 3 && entry.outcome.postings.length === 8;
const pickTransfer = (frames: Frames, type: EntryType = EntryType.intent) =>
  pick<IntentEntry>(frames, (entry) => isTransfer(entry, type));
const pickWallet = (frames: Frames) =>
  pick<CreateEntry>(frames, (entry) => entry.type === EntryType.create && entry.kind === Kind.wallet);
const isSystem = (entry: Entry) => entry.kind === Kind.signer && entry.handle === 'system';
const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

function replaceData(entry: CreateEntry | IntentEntry, data: string): void {
  entry.data = data;
  entry.hash = sha256(data);
}

describe("lies that the server's key signs", () => {
  test.each<[string, (frames: Frames) => void, 'lie' | 'decided', RegExp]>([
    [
      'a larger transfer, balanced',
      (frames) => {
        const { postings } = pickTransfer(frames).outcome;
        postings[2]! -= 1;
        postings[6]! += 1;
      },
      'decided',
      /outcome\.postings\.2/,
    ],
    [
      'a posting that makes money',
      (frames) => void pickTransfer(frames).outcome.postings[6]!++,
      'decided',
      /postings\.6/,
    ],
    ['another wallet', (frames) => void pickTransfer(frames).outcome.postings[4]!++, 'decided', /postings\.4/],
    ['the proof of a client', (frames) => forgeProof(pickTransfer(frames)), 'lie', /proof 0 is not a signature of/],
    ['the proof of a client over custom', (frames) => forgeCustom(pickTransfer(frames)), 'lie', /proof 0 is not/],
    ['no proof', (frames) => void pickTransfer(frames).proofs.pop(), 'lie', /nobody signed/],
    ['the seal', (frames) => forgeSeal(pickWallet(frames)), 'lie', /did not seal/],
    ['a moment', (frames) => void pickTransfer(frames).moment--, 'lie', /time goes back|luid|seal/],
    ['two records in another order', (frames) => turnRound(frames), 'lie', /time goes back/],
    [
      'a later moment',
      (frames) => void Object.assign(pickTransfer(frames), { moment: Date.now() + 60_000 }),
      'lie',
      /after it was written/,
    ],
    [
      'a moment of clearing',
      (frames) => void pickTransfer(frames).outcome.moment--,
      'lie',
      /of another moment than its frame/,
    ],
    [
      'the data',
      (frames) => void Object.assign(pickWallet(frames), { data: '{"handle":"mine"}' }),
      'lie',
      /hash is not that/,
    ],
    [
      'the data and its hash',
      (frames) => replaceData(pickWallet(frames), '{"handle":"mine"}'),
      'lie',
      /proof 0|did not seal/,
    ],
    ['data out of order', (frames) => unsorted(pickTransfer(frames)), 'lie', /not canonical/],
    [
      'a handle beside its data',
      (frames) => void Object.assign(pickWallet(frames), { handle: 'mine' }),
      'decided',
      /handle would be/,
    ],
    [
      'a refusal instead of a transfer',
      (frames) => {
        Object.assign(pickTransfer(frames).outcome, {
          steps: ['failed', 'aborted', 'rejected'],
          reason: 'core.insufficient-balance',
          detail: 'none',
          postings: [],
        });
      },
      'decided',
      /outcome\.steps\.0 would be/,
    ],
    [
      'a transfer instead of a refusal',
      (frames) => {
        const done = pickTransfer(frames).outcome;
        const refused = pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '');
        refused.outcome = { ...done, moment: refused.outcome.moment };
      },
      'decided',
      /outcome\./,
    ],
    [
      'a reason',
      (frames) => {
        pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '').outcome.reason =
          'core.other';
      },
      'decided',
      /outcome\.reason/,
    ],
    [
      'a commit instead of an abort',
      (frames) => {
        const step = pick<IntentEntry>(frames, (e) => e.type === EntryType.step && e.outcome.steps[0] === 'aborted');
        step.outcome.steps = ['committed', 'completed'];
      },
      'decided',
      /outcome\.steps\.0/,
    ],
    [
      'a step left out',
      (frames) => void drop(frames, (entry) => entry.type === EntryType.step && entry.outcome.steps[0] === 'aborted'),
      'decided',
      /should follow/,
    ],
    [
      'a step out of turn',
      (frames) => {
        const step = pick<Entry>(frames, (entry) => entry.type === EntryType.step);
        frames.at(-1)!.entries.push({ ...step });
      },
      'lie',
      /outcome is of another moment/,
    ],
    ['an entry left out', (frames) => void drop(frames, (entry) => isTransfer(entry)), 'decided', /would be/],
    [
      'an entry twice',
      (frames) => twice(frames, (entry) => isTransfer(entry)),
      'lie',
      /luid is that of another record/,
    ],
    ['a luid of another kind', (frames) => reluid(pickTransfer(frames), 'wlt'), 'lie', /another kind or moment/],
    [
      'no luid',
      (frames) => void Object.assign(pickTransfer(frames), { luid: '$int.!!!!!!!!!!!!!!!!!' }),
      'lie',
      /luid is none/,
    ],
    [
      'a ledger without its first signer',
      (frames) => void drop(frames, isSystem),
      'decided',
      /first signer|should follow/,
    ],
    ["another key as the server's", (frames) => rekey(frames), 'lie', /another key/],
    [
      'a record nobody would let in',
      (frames) => replaceData(pickWallet(frames), '{"handle":"a b"}'),
      'decided',
      /not let in/,
    ],
  ])('%s', async (_, lie, kind, what) => {
    const directory = await rewritten(plain, lie);
    const { finding } = await look(directory, { key: keyIn(plain).public });
    expect(finding?.what).toMatch(what);
    expect(finding?.kind).toBe(kind);
    expect(finding?.file).toContain('journal-');
    expect(finding?.seq).toBeGreaterThan(0);
    expect(finding?.byte).toBeGreaterThan(0);
  });

  test('are found in books of version 1 as well, where an intent states its hash', async () => {
    const key = keyIn(plain);
    const honest = await rewritten(plain, () => {}, key, FIRST_FORMAT);
    expect((await look(honest)).finding).toBeNull();
    const lying = await rewritten(
      plain,
      (frames) => {
        const entry = pickTransfer(frames);
        entry.hash = flipped(entry.hash, 5);
      },
      key,
      FIRST_FORMAT,
    );
    const what = expect.stringMatching(/hash is not that of its data/);
    expect((await look(lying)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('end the command with 1, the lie as its last line', async () => {
    const directory = await rewritten(plain, (frames) => forgeProof(pickTransfer(frames)));
    const ran = await ayni('verify', directory);
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/\nLIE: .*journal-\d{20}\.ayj, byte \d+, entry \d+, \$int\..{17}: proof 0 .*\n$/);
    const json = reportOf(await ayni('verify', directory, '--json'));
    expect(json).toMatchObject({ ok: false, finding: { kind: 'lie', seq: expect.any(Number) } });
  });

  test('the finding names file, byte, entry and luid', async () => {
    let luid = '';
    const directory = await rewritten(plain, (frames) => {
      const entry = pickTransfer(frames);
      forgeProof(entry);
      luid = entry.luid;
    });
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const seq = entries.findIndex((entry) => entry.luid === luid) + 1;
    const { finding } = await look(directory);
    expect(finding).toMatchObject({ seq, luid });
    const bytes = readFileSync(finding!.file);
    expect(bytes.toString('latin1', finding!.byte! + 2, finding!.byte! + 24)).toBe(luid);
  });

  test('the first of several lies is told', async () => {
    const directory = await rewritten(plain, (frames) => {
      const all = frames.flatMap((frame) => frame.entries).filter((entry) => isTransfer(entry)) as IntentEntry[];
      forgeProof(all[2]!);
      all[5]!.outcome.postings[2]!--;
      forgeProof(all[7]!);
    });
    expect((await look(directory)).finding?.what).toMatch(/proof 0 is not/);
  });

  test('what other rules decided is counted where that is asked for, other lies still end it', async () => {
    const reason = (frames: Frames) => {
      pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '').outcome.detail = 'no';
    };
    const report = await look(await rewritten(plain, reason), { otherRules: true });
    expect(report.finding).toBeNull();
    expect(report.counts.otherwise).toBe(1);
    const both = await rewritten(plain, (frames) => {
      reason(frames);
      pickTransfer(frames).outcome.postings[6]!++;
    });
    expect((await look(both, { otherRules: true })).finding).toMatchObject({
      kind: 'lie',
      what: expect.stringContaining('postings of an intent add up'),
    });
  });
});

test('books in which one signature brought about two things, as it once could, are served, and tell of it', async () => {
  const directory = freshDirectory();
  const first = await startServer({ directory });
  const body = record({ handle: 'once' }, makeKeys(), [{ moment: '2026-01-01T00:00:00.000Z' }]);
  await connect(first).post('/circles', body);
  await first.stop();
  const old = await rewritten(directory, (frames) => {
    const { moment, entries } = frames.at(-1)!;
    const circle = entries.at(-1) as CreateEntry;
    const luid = makeLuid('wlt', moment, new Uint8Array(11));
    const wallet: CreateEntry = { ...circle, kind: Kind.wallet, luid, moment };
    wallet.seal = sign(proofDigest(hex(wallet.hash), sealCustom(wallet)), keyIn(directory));
    entries.push(wallet);
  });
  expect((await look(old)).finding).toMatchObject({
    kind: 'decided',
    what: expect.stringContaining('stands on $crc.'),
  });
  const told = await ayni('verify', old);
  expect([told.code, told.out]).toEqual([
    1,
    expect.stringMatching(/DECIDED OTHERWISE: .*\nThat is no damage.*--other-rules/),
  ]);
  const report = await look(old, { otherRules: true });
  expect([report.finding, report.counts.otherwise]).toEqual([null, 1]);
  const second = await startServer({ directory: old });
  try {
    const client = connect(second);
    const wallet = (await client.get('/wallets/once')).body;
    expect([wallet.hash, wallet.meta.proofs[0]]).toEqual([body.hash, body.meta.proofs[0]]);
    const drop = record({ parent: wallet.hash }, makeKeys());
    expect((await client.del('/wallets/once', drop)).status).toBe(204);
    expect(reasonOf(await client.post('/wallets', body))).toEqual([409, 'record.duplicated']);
  } finally {
    await second.stop();
  }
});

describe('books by another key', () => {
  test('are told apart from the ones with the key that is known', async () => {
    const forger = createKeyPair();
    const directory = await rewritten(plain, () => {}, forger);
    const { finding } = await look(directory, { key: keyIn(plain).public });
    expect(finding).toMatchObject({ kind: 'lie', what: 'this frame is not signed by the server' });
    expect((await look(directory, { key: forger.public })).finding).toMatchObject({ kind: 'lie' });
  });

  test('a snapshot of another server', async () => {
    const directory = await resnapped(pruned, () => {}, createKeyPair());
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what: expect.stringContaining('not signed') });
  });
});

describe("lies in a snapshot that the server's key signs", () => {
  const slotOf = (state: State) => {
    for (let slot = 0; slot < state.balances.size; slot++) if (state.balances.available(slot) > 0) return slot;
    throw new Error('no balance');
  };
  test.each<[string, (state: State, extra: StateExtra) => void, RegExp]>([
    [
      'one balance',
      (state) => state.balances.add(slotOf(state), 1, 0),
      /has \d+ available, and its postings add up to/,
    ],
    ['the moment of a balance', (state) => state.balances.add(slotOf(state), 0, 1), /differs .* in balance-moment/],
    ['a balance more', (state) => void state.balances.create(1, 1, 0), /differs .* in balance-/],
    ['a limit', (state) => state.balances.setLimit(slotOf(state), 0, -500, 0), /balance-limit/],
    ['a supply', (_, extra) => void extra.supply.splice(0, 1, [extra.supply[0]![0], '1']), /its supply is given as 1/],
    ['a count', (_, extra) => void extra.counts[0]![1]++, /differs .* in counts/],
    ['a status', (state) => state.rows.status.set(3, 1 - state.rows.status.get(3)), /row-status/],
    ['a dropped record', (state) => state.rows.flags.set(3, 1), /row-flags/],
    ['a ledger less', (_, extra) => void extra.ledgerRows.pop(), /ledgerRows/],
    ['an intent less', ({ open }) => open.delete([...open.keys()].at(-1)!), /open/],
    ['a record that is not found', (state) => unindex(state), /its index handles/],
    ['a record of lists', (state) => state.terms.push(77, state.order.length - 1), /its index terms/],
    ['a record more', (state) => void state.rows.lines.push(), /entries|row/],
  ])('%s', async (_, lie, what) => {
    const directory = await resnapped(pruned, lie);
    const { finding } = await look(directory);
    expect(finding?.kind).toBe('lie');
    expect(finding?.file).toContain('snapshot-');
    expect(finding?.what).toMatch(what);
  });

  test('of nothing but the seed: that is none', async () => {
    const directory = await resnapped(pruned, () => {});
    expect((await look(directory)).finding).toBeNull();
  });
});

describe('the command', () => {
  test.each<[string, string[], number, RegExp]>([
    ['a directory without books', ['verify', '/usr/lib'], 1, /no books/],
    ['a directory that is not there', ['verify', '/nowhere/at/all'], 1, /ENOENT/],
    ['two directories', ['verify', 'a', 'b'], 2, /one directory/],
    ['a key that is none', ['verify', '--key', 'abc'], 2, /--against/],
    ['an unknown flag', ['verify', '--fix'], 2, /--fix/],
    ['an unknown command', ['repair'], 2, /no command repair/],
  ])('%s', async (_, args, code, what) => {
    const ran = await ayni(...args);
    expect(ran.err).toMatch(what);
    expect(ran.code).toBe(code);
  });
});

function forgeProof(entry: IntentEntry): void {
  entry.proofs[0]!.result = flipped(entry.proofs[0]!.result, 5);
}

function forgeCustom(entry: IntentEntry): void {
  entry.proofs[0]!.custom = canon({ ...JSON.parse(entry.proofs[0]!.custom!), status: 'approved' });
}

function forgeSeal(entry: CreateEntry): void {
  entry.seal = flipped(entry.seal, 40);
}

function unsorted(entry: IntentEntry): void {
  replaceData(entry, JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(entry.data)).reverse())));
}

function reluid(entry: IntentEntry, prefix: string): void {
  entry.luid = makeLuid(prefix, entry.moment, new Uint8Array(11));
}

function drop(frames: Frames, passes: (entry: Entry) => boolean): void {
  const at = frames.findIndex((frame) => frame.entries.some(passes));
  const frame = frames[at]!;
  frame.entries = frame.entries.filter((entry) => !passes(entry));
  if (frame.entries.length === 0) frames.splice(at, 1);
}

/** The later of two records comes first, in the frame of the later one. */
function turnRound(frames: Frames): void {
  const isMade = (entry: Entry | undefined) => entry?.type === EntryType.create && entry.kind === Kind.wallet;
  const at = frames.findIndex(({ entries: [one] }, index) => {
    const other = frames[index + 1]?.entries[0];
    return isMade(one) && isMade(other) && one!.moment < other!.moment;
  });
  frames[at + 1]!.entries.push(...frames[at]!.entries);
  frames.splice(at, 1);
}

function twice(frames: Frames, passes: (entry: Entry) => boolean): void {
  const frame = frames.find((each) => each.entries.some(passes))!;
  frame.entries.push(frame.entries.find(passes)!);
}

function rekey(frames: Frames): void {
  const signer = pick<CreateEntry>(frames, isSystem);
  const value = { ...JSON.parse(signer.data), public: encodeBase64(createKeyPair().public) };
  replaceData(signer, canon(value));
  const signed = (custom: string | null) => sign(proofDigest(hex(signer.hash), custom), keyIn(plain));
  signer.proofs[0]!.result = signed(signer.proofs[0]!.custom);
  signer.seal = signed(sealCustom(signer));
}

function unindex(state: State): void {
  const row = 3;
  const handle = findHandle(state, 1, Kind.wallet, 'x');
  expect(handle).toBe(-1);
  state.handles.insert(0x12345678, row);
}
