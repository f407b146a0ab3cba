/**
 * The audit over honest books, whatever they were through: believed, checked in every way, and left as they are. And
 * what its command line takes.
 */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AuditOptions } from '../../src/cli/audit/audit.ts';
import { misfitOf } from '../../src/cli/audit/shapes.ts';
import { loadSnapshot } from '../../src/cli/audit/snapshots.ts';
import { hex } from '../../src/core/bytes.ts';
import { type CreateEntry, type Entry, EntryType, type ProofEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest } from '../../src/proof/digest.ts';
import { createKeyPair, encodeBase64 } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { type Disk, realDisk } from '../../src/storage/disk.ts';
import { SEGMENT_HEADER_BYTES, segmentSeq } from '../../src/storage/format.ts';
import { keyText } from '../../src/storage/key-file.ts';
import { snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { bearer, connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, limit, makeKit, pause, proofFor, reasonOf, transfer, unique } from '../support/kit.ts';
import { often } from '../support/long.ts';
import { NOWHERE } from '../support/samples.ts';
import { startServer } from '../support/server.ts';
import {
  ayni,
  ayniProcess,
  copyOf,
  expiredBooks,
  filesIn,
  framesOf,
  keyIn,
  look,
  plainBooks,
  prunedBooks,
  reportOf,
  rewritten,
  strandedBooks,
  tokenBooks,
} from './books.ts';
import { isSystem, pick, replaceData } from './lies.ts';

const plain = await plainBooks();
const pruned = await prunedBooks();

function openButKey(...[path, ...how]: Parameters<Disk['open']>): ReturnType<Disk['open']> {
  if (path.endsWith('server.key')) throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
  return realDisk.open(path, ...how);
}

function imprint(directory: string): string[] {
  return filesIn(directory, /./).map((name) => {
    const path = join(directory, name);
    const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
    return `${name} ${hash} ${statSync(path).mtimeMs}`;
  });
}

describe('honest books', () => {
  test('whose first segments are gone, with tokens that were good only once all along, are believed', async () => {
    const directory = await tokenBooks();
    const report = await look(directory);
    expect(report.finding).toBeNull();
    expect(report.snapshots).toBe(2);
    expect(report.notes.join()).toContain('are gone');
  });

  test('are believed, and not a byte of them changes', async () => {
    const before = [imprint(plain), imprint(pruned)];
    const ran = await ayniProcess('verify', pruned);
    expect(ran.out + ran.err).toContain('Nothing wrong');
    expect(ran.code).toBe(0);
    expect((await look(plain)).finding).toBeNull();
    expect([imprint(plain), imprint(pruned)]).toEqual(before);
  });

  test.each([
    ['intents that were too old, in one frame after the other', expiredBooks],
    ['notes of calls, in one frame after the other', strandedBooks],
  ])('whose first segments are gone, and in them %s, are believed', async (_, make) => {
    const report = await look(await make());
    expect(report.finding).toBeNull();
    expect(report.notes.join()).toContain('are gone');
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

  test('whose first segment that is left begins right behind a snapshot', async () => {
    const directory = freshDirectory();
    const server = await startServer({ directory, flags: ['--snapshot-every', '5', '--segment-bytes-max', '4096'] });
    const kit = makeKit(connect(server), makeKeys());
    // Each fills a segment.
    const custom = { name: 'x'.repeat(5000) };
    for (let i = 0; i < 30; i++) await kit.make('wallets', { handle: `fat-${i}`, custom });
    await server.stop();
    const [oldest] = filesIn(directory, /^snapshot/).map((name) => snapshotSeq(name));
    const [first] = filesIn(directory, /^journal/).map((name) => segmentSeq(name));
    expect(first).toBe(oldest! + 1);
    const report = await look(directory);
    expect(report.finding).toBeNull();
    expect(report.snapshots).toBe(2);
  });

  test('with a snapshot that one start had to do without, so that the next has hashes of another seed', async () => {
    const directory = freshDirectory();
    const away = freshDirectory();
    const keys = makeKeys();
    const live = async () => {
      const server = await startServer({ directory, flags: ['--snapshot-every', '20'] });
      const kit = makeKit(connect(server), keys);
      const wallet = await kit.wallet();
      const symbol = await kit.symbol();
      for (let i = 0; i < 25; i++) {
        const headers = bearer(keys, 'main', { jti: unique('once') });
        await kit.send([issue(wallet, symbol, 1)], { headers });
      }
      await server.stop();
    };
    await live();
    const gone = filesIn(directory, /^(snapshot|part)-/);
    for (const name of gone) renameSync(join(directory, name), join(away, name));
    await live();
    for (const name of gone) copyFileSync(join(away, name), join(directory, name));
    const seeds = filesIn(directory, /^snapshot-/).map(
      (name) => loadSnapshot(realDisk, directory, name, () => true).state.hashSeed,
    );
    expect(new Set(seeds).size).toBeGreaterThan(1);
    const report = await look(directory);
    expect([report.finding, report.snapshots]).toEqual([null, seeds.length]);
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
        const ran = await ayniProcess('verify', directory);
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

  test('with a segment that has only begun, its header all there is: no lie', async () => {
    const directory = copyOf(plain);
    for (const name of filesIn(directory, /^journal/)) truncateSync(join(directory, name), SEGMENT_HEADER_BYTES);
    const { finding, toEnd, counts } = await look(directory);
    expect([finding, toEnd, counts.entries]).toEqual([null, true, 0]);
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
    // Not where a sector begins: there it may be the end of a write that did not end.
    const at = (size + 4000) % 512 < 2 ? 4002 : 4000;
    appendFileSync(path, Buffer.alloc(5000).fill(1, at, at + 1));
    const changed = await look(directory);
    expect(changed.finding).toMatchObject({ kind: 'damage', file: path, byte: size + at });
  });

  test.each<[string, (directory: string) => void, Partial<AuditOptions>, string]>([
    [
      'what a write left',
      (directory) => writeFileSync(join(directory, 'snapshot-7.tmp'), 'x'),
      {},
      'Half-written and of no account: snapshot-7.tmp.',
    ],
    [
      'a key file that somebody wrote again',
      (directory) => {
        const file = join(directory, 'server.key');
        writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8')), null, 4));
      },
      {},
      'server.key is not written as the server writes it, though its keys are whole.',
    ],
    [
      'a key file of which the auditor may not know the secret',
      () => {},
      { disk: { ...realDisk, open: openButKey }, key: keyIn(plain).public },
      'server.key may not be read by this user, and was not checked.',
    ],
  ])('with %s: told, no lie', async (_, change, options, note) => {
    const directory = copyOf(plain);
    writeFileSync(join(directory, 'notes.txt'), '');
    change(directory);
    const { finding, notes, strangers } = await look(directory, options);
    expect([finding, notes, strangers.toSorted()]).toEqual([null, [note], ['lock-0000000001', 'notes.txt']]);
  });

  test('where the system gives no more memory, at whichever time: the audit fails, the books are not accused', async () => {
    for (const directory of [plain, pruned]) {
      const given = { count: 0, max: Number.POSITIVE_INFINITY };
      const real = globalThis.SharedArrayBuffer;
      globalThis.SharedArrayBuffer = new Proxy(real, {
        construct(target, args) {
          if (given.count++ >= given.max) throw new RangeError('Array buffer allocation failed');
          return Reflect.construct(target, args);
        },
      });
      try {
        expect((await look(directory)).finding).toBeNull();
        const needed = given.count;
        expect(needed).toBeGreaterThan(5);
        for (given.max = 0; given.max < needed; given.max++) {
          given.count = 0;
          await expect(look(directory), `${given.max} of ${needed}`).rejects.toThrow('Array buffer allocation failed');
        }
      } finally {
        globalThis.SharedArrayBuffer = real;
      }
    }
  });

  test.each([
    ['their journal', plain],
    ['their oldest snapshot', pruned],
  ])('need no secret: a key that is given, or the one that %s gives', async (_, books) => {
    const directory = copyOf(books);
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

test('rules of a record that are longer together than new ones may be are no finding: the books have such', () => {
  const access = Array.from({ length: 900 }, () => ({ action: 'any', signer: { custom: { x: 'x'.repeat(900) } } }));
  expect(misfitOf(Kind.wallet, 'create', { handle: 'w', access })).toBeNull();
  expect(misfitOf(Kind.wallet, 'create', { handle: 'w', access: [...access, 7] })).not.toBeNull();
});

test('as many claims as a server may be told to take are no finding, one more is', () => {
  const claims = Array.from({ length: 100_000 }, () => transfer('a', 'b', 'inti', 1));
  expect(misfitOf(Kind.intent, 'create', { handle: 'i', claims })).toBeNull();
  expect(misfitOf(Kind.intent, 'create', { handle: 'i', claims: [...claims, claims[0]] })).toMatch(/^\/data\/claims /);
});

describe('the key to verify with', () => {
  const NO_KEY = /no key to verify with; give the server's with --against/;
  test.each(['null', '[]', '{"public":', '{"public":7}', '{"public":"AAAA"}'])(
    'where the books give %s for it they give none: some of these were told as a mistake of JavaScript',
    async (data) => {
      const directory = await rewritten(plain, (frames) => {
        Object.assign(pick<CreateEntry>(frames, isSystem), { data });
      });
      rmSync(join(directory, 'server.key'));
      const ran = await ayni('verify', directory);
      expect([ran.code, ran.out, ran.err]).toEqual([1, '', expect.stringMatching(NO_KEY)]);
      const against = encodeBase64(keyIn(plain).public);
      expect((await ayni('verify', directory, '--against', against)).out).toMatch(/^LIE: /m);
    },
  );

  test('nor do the books where the snapshots that held their beginning are gone', async () => {
    const directory = copyOf(pruned);
    for (const name of ['server.key', ...filesIn(directory, /^snapshot/)]) rmSync(join(directory, name));
    const ran = await ayni('verify', directory);
    expect([ran.code, ran.out, ran.err]).toEqual([1, '', expect.stringMatching(NO_KEY)]);
  });

  test('nor does a journal give one that has only begun', async () => {
    const directory = copyOf(plain);
    rmSync(join(directory, 'server.key'));
    for (const name of filesIn(directory, /^journal/)) truncateSync(join(directory, name), SEGMENT_HEADER_BYTES);
    const ran = await ayni('verify', directory);
    expect([ran.code, ran.out, ran.err]).toEqual([1, '', expect.stringMatching(NO_KEY)]);
  });

  test('that lies beside them is damage where it is none any more, or half of another', async () => {
    const { public: own } = keyIn(plain);
    const { secret } = createKeyPair();
    for (const [text, what] of [
      ['{}', 'it does not hold a key any more'],
      [keyText({ public: own, secret }), 'its two keys do not belong together'],
    ] as const) {
      const directory = copyOf(plain);
      const file = join(directory, 'server.key');
      writeFileSync(file, text);
      const found = { kind: 'damage', file, byte: 0, what };
      expect((await look(directory, { key: own })).finding).toMatchObject(found);
      const ran = await ayni('verify', directory);
      expect([ran.code, ran.out]).toEqual([1, `DAMAGE: ${file}, byte 0: ${what}\n`]);
    }
  });

  test('need not lie beside them, and nothing is said of that', async () => {
    const directory = copyOf(plain);
    rmSync(join(directory, 'server.key'));
    expect((await look(directory, { key: keyIn(plain).public })).notes).toEqual([]);
  });

  test('cannot be had from snapshots of which none is whole: what is wrong with the oldest is told', async () => {
    const directory = copyOf(pruned);
    rmSync(join(directory, 'server.key'));
    const snapshots = filesIn(directory, /^snapshot/).map((name) => join(directory, name));
    for (const path of snapshots) truncateSync(path, statSync(path).size - 1);
    const ran = await ayni('verify', directory);
    expect([ran.code, ran.out]).toEqual([1, expect.stringMatching(/^DAMAGE: .*\n$/)]);
    expect(ran.out).toContain(snapshots[0]);
  });

  test('that lies beside books of another is damage there, and nothing is wrong with the books', async () => {
    const directory = copyOf(plain);
    const file = join(directory, 'server.key');
    writeFileSync(file, keyText(createKeyPair()));
    const found = { kind: 'damage', file, byte: 0, what: 'it is not the key these books are signed with' };
    expect((await look(directory, { key: keyIn(plain).public })).finding).toMatchObject(found);
    expect((await look(directory)).finding).toMatchObject({
      kind: 'lie',
      what: 'this frame is not signed by the server',
    });
  });
});

test('a status that a proof gave is not withheld, also of the texts that were none to the first builds', async () => {
  const directory = freshDirectory();
  const first = await startServer({ directory });
  const keys = makeKeys();
  const client = connect(first);
  const made = await makeKit(client, keys).make('wallets', { handle: 'w' });
  for (const status of ['KYC_ok', 'closed']) {
    expect((await client.post('/wallets/w/proofs', proofFor(made, keys, { status }))).body.meta.status).toBe(status);
  }
  await first.stop();
  const isProof = (status: string) => (entry: Entry) => entry.type === EntryType.proof && entry.status === status;
  expect((await look(directory)).finding).toBe(null);
  for (const status of ['KYC_ok', 'closed']) {
    const without = await rewritten(directory, (frames) => {
      pick<ProofEntry>(frames, isProof(status)).status = null;
    });
    expect((await look(without)).finding).toMatchObject({ kind: 'decided' });
    const counted = await look(without, { otherRules: true });
    expect([counted.finding, counted.counts.otherwise]).toEqual([null, 1]);
  }
});

test('no name of a file looks like a line of what is told, or hides one', async () => {
  const directory = copyOf(plain);
  const name = 'x\nNothing wrong up to entry 9.\n\u001b[8m\u202e\u009b';
  writeFileSync(join(directory, name), '');
  const shown = 'x\\u000aNothing wrong up to entry 9.\\u000a\\u001b[8m\\u202e\\u009b';
  const ran = await ayni('verify', directory, '--workers', '1');
  expect([ran.code, ran.out.includes(shown), ran.out.includes('\nNothing wrong up to entry 9.')]).toEqual([
    0,
    true,
    false,
  ]);
  const json = await ayni('verify', directory, '--workers', '1', '--json');
  expect(json.out).toMatch(/^[\x20-\x7e]*\n$/);
  expect(reportOf(json).strangers).toContain(name);
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

describe('the command', () => {
  test.each<[string, string[], number, RegExp]>([
    ['a directory without books', ['verify', '/usr/lib'], 1, /no books/],
    ['a directory that is not there', ['verify', '/nowhere/at/all'], 1, /there is no directory \/nowhere\/at\/all/],
    ['two directories', ['verify', 'a', 'b'], 2, /one directory/],
    ['a key that is none', ['verify', '--key', 'abc'], 2, /--against/],
  ])('%s', async (_, args, code, what) => {
    const ran = await ayni(...args);
    expect(ran.err).toMatch(what);
    expect(ran.code).toBe(code);
  });

  test.each<[string, string[], number, RegExp]>([
    ['a directory that is not there', ['verify', '/nowhere/at/all'], 1, /^ayni: there is no directory \//],
    ['an unknown flag', ['verify', '--fix'], 2, /^ayni: .*--fix/],
    ['an unknown command', ['repair'], 2, /no command repair/],
  ])('%s, as a process', async (_, args, code, what) => {
    const ran = await ayniProcess(...args);
    expect(ran.err).toMatch(what);
    expect(ran.code).toBe(code);
  });
});

test('filters that lead nowhere, which earlier builds let in, verify in their books, and a change has to mend them', async () => {
  const directory = freshDirectory();
  const keys = makeKeys();
  const policy = (filter: Json) => ({ handle: 'old', schema: 'access', record: 'intent', values: [], filter });
  const first = await startServer({ directory });
  expect((await connect(first).post('/policies', record(policy({}), keys))).status).toBe(201);
  await first.stop();
  const nowhere = policy({ 'data.claims.0.amount': { $ne: 5 } });
  const { hash, meta } = record(nowhere, keys);
  const old = await rewritten(directory, (frames) => {
    const entry = frames.at(-1)!.entries.at(-1) as CreateEntry;
    replaceData(entry, canon(nowhere));
    const [{ public: key, result, custom = null }] = meta.proofs;
    const bytes = (text: string) => Buffer.from(text, 'base64');
    entry.proofs = [{ public: bytes(key), result: bytes(result), custom: custom === null ? null : canon(custom) }];
    entry.seal = sign(proofDigest(hash, sealCustom(entry)), keyIn(directory));
  });
  expect((await look(old)).finding).toBe(null);
  const second = await startServer({ directory: old });
  try {
    const client = connect(second);
    expect((await client.get('/policies/old')).body.hash).toBe(hash);
    const change = (data: Json) => client.put('/policies/old', record({ ...data, parent: hash }, keys));
    expect(reasonOf(await change({ ...nowhere, custom: {} }))).toEqual([422, 'record.schema-invalid']);
    expect((await change(policy({ 'data.claims.amount': { $ne: 5 } }))).status).toBe(200);
  } finally {
    await second.stop();
  }
});
