/**
 * The head that a server signs, and what it proves later: the history up to it is still in the books, or it was
 * rewritten, or cut off, or can no longer be told.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AuditReport, audit } from '../../src/cli/audit/audit.ts';
import { readHead } from '../../src/cli/audit/head.ts';
import type { IntentEntry } from '../../src/core/entry.ts';
import { headText } from '../../src/http/head.ts';
import { createKeyPair, encodeBase64, type KeyPair } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { signedText } from '../../src/render.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { connect, type Json, makeKeys, proof, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, MOMENT, makeKit, openLedger } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { ayni, filesIn, keyIn, type Ran, reportOf, rewritten } from './books.ts';

/** What a server was asked for, once for each frame or oftener. */
interface Life {
  directory: string;
  key: string;
  heads: Json[];
}
const whole = await life([]);
const pruned = await life(['--snapshot-every', '15', '--segment-bytes-max', '4096']);

async function life(flags: string[]): Promise<Life> {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags });
  const client = connect(server);
  const kit = makeKit(client, makeKeys());
  const [wallet, symbol] = [await kit.wallet(), await kit.symbol()];
  const heads = [(await client.get('/head')).body];
  for (let n = 0; n < 50; n++) {
    await kit.done([issue(wallet, symbol, 1)]);
    heads.push((await client.get('/head')).body);
  }
  await server.stop();
  return { directory, key: server.publicKey, heads };
}

/** The command, as people run it. */
async function verifyHead(directory: string, head: Json, ...args: string[]): Promise<Ran> {
  const file = join(freshDirectory(), 'head.json');
  writeFileSync(file, JSON.stringify(head));
  return ayni('verify', directory, '--head', file, '--workers', '1', ...args);
}

/** The audit behind it, without a process. */
function look(directory: string, head: Json): Promise<AuditReport> {
  const text = typeof head === 'string' ? head : JSON.stringify(head);
  return audit({ disk: realDisk, directory, key: null, workers: 0, otherRules: false, head: { file: 'head', text } });
}

/** A head of any content, signed with any key. */
const headOf = (position: { seq: number; chain: Uint8Array; moment: number }, keys: KeyPair): Json =>
  JSON.parse(signedText(headText(position), Date.now(), new Sealer(keys)));

function endsOf(directory: string): { seq: number; chain: Uint8Array; moment: number }[] {
  const ends: { seq: number; chain: Uint8Array; moment: number }[] = [];
  readJournal(realDisk, directory, JOURNAL_START, {
    verifyFrame: () => true,
    onEntry() {},
    onFrame: ({ seq, chain, moment }) => ends.push({ seq, chain, moment }),
  });
  return ends;
}

describe('GET /v2/head', () => {
  test('is of the last frame, signed, and grows with every answer', () => {
    const ends = endsOf(whole.directory);
    const of = new Map(ends.map((end) => [end.seq, end]));
    let before = 0;
    for (const { data } of whole.heads) {
      expect(Object.keys(data)).toEqual(['chain', 'moment', 'seq']);
      expect(data.moment).toMatch(MOMENT);
      const end = of.get(data.seq)!;
      expect([data.chain, Date.parse(data.moment)]).toEqual([Buffer.from(end.chain).toString('hex'), end.moment]);
      expect(data.seq).toBeGreaterThan(before);
      before = data.seq;
    }
    expect(before).toBe(ends.at(-1)!.seq);
  });

  test('is the same in every ledger, and open to whoever may read nothing else', async () => {
    const server = await startServer({ directory: freshDirectory() });
    const client = connect(server);
    const keys = makeKeys();
    const ledger = await openLedger(client, keys, {
      access: [{ action: 'any', record: 'any', signer: { public: keys.public } }],
    });
    const [one, other] = [await client.get('/head'), await client.get('/head', { 'x-ledger': ledger.data.handle })];
    expect((await client.get('/wallets', { 'x-ledger': ledger.data.handle })).status).toBe(403);
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(other.body.data).toEqual(one.body.data);
    expect((await client.get('/head', { 'x-ledger': 'none' })).status).toBe(404);
    expect((await client.post('/head', record({}, keys))).status).toBe(405);
    expect((await client.get('/head/1')).status).toBe(404);
    await server.stop();
  });
});

describe('ayni verify --head', () => {
  test('proves each head of a whole journal, with the key an outsider knows', async () => {
    const head = whole.heads[17];
    const ran = await verifyHead(whole.directory, head, '--against', whole.key);
    expect(ran.out + ran.err).toContain(`The history up to entry ${head.data.seq} is the one the server signed`);
    expect(ran.code).toBe(0);
    for (const { data, ...rest } of whole.heads.filter((_, n) => n % 8 === 0)) {
      const report = await look(whole.directory, { data, ...rest });
      expect(report.head).toEqual({ seq: data.seq, chain: data.chain, isProven: true });
    }
  });

  test('finds a history that its own server rewrote, which by itself looks whole', async () => {
    const copy = await rewritten(whole.directory, (frames) => void frames.splice(20, 1));
    const known = endsOf(whole.directory);
    const headAt = (seq: number) => whole.heads.find(({ data }) => data.seq === seq)!;
    expect((await look(copy, headAt(known[19]!.seq))).head!.isProven).toBe(true);
    const ran = await verifyHead(copy, headAt(known[20]!.seq));
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('the history up to here was rewritten');
    expect(ran.out).not.toContain('is the one the server signed');
    expect((await look(copy, headAt(known[30]!.seq))).finding?.what).toContain('was rewritten');
  });

  test('proves nothing where anything else is wrong, be it long after it', async () => {
    const copy = await rewritten(whole.directory, (frames) => {
      const { outcome } = frames.at(-1)!.entries[0] as IntentEntry;
      outcome.postings[2]!++;
    });
    const { finding, head } = await look(copy, whole.heads[17]);
    expect([finding?.kind, head!.isProven]).toEqual(['decided', false]);
  });

  test('finds a history that ends before it, which by itself looks whole', async () => {
    const cut = await rewritten(whole.directory, (frames) => void frames.splice(-3));
    const { seq } = whole.heads.at(-1).data;
    const ran = await verifyHead(cut, whole.heads.at(-1));
    expect(ran.code).toBe(1);
    expect(ran.out).toContain(`signed that entry ${seq} is in the books; they end with entry ${seq - 3}`);
    expect((await look(cut, whole.heads.at(-4))).head!.isProven).toBe(true);
  });

  test('finds one that has another frame there, or none that ends there', async () => {
    const keys = keyIn(whole.directory);
    const end = endsOf(whole.directory)[9]!;
    const other = { ...end, chain: end.chain.map((byte, index) => (index === 7 ? byte ^ 1 : byte)) };
    const later = { ...end, moment: end.moment + 1 };
    for (const wrong of [other, later]) {
      expect((await look(whole.directory, headOf(wrong, keys))).finding?.what).toContain('was rewritten');
    }
    const inside = await look(whole.directory, headOf({ ...end, seq: 1 }, keys));
    expect(inside.finding?.what).toContain('here none does');
    expect(inside.head!.isProven).toBe(false);
  });

  test('where segments are gone: proves what is left to prove, and says what is not', async () => {
    const first = Number(/\d+/.exec(filesIn(pruned.directory, /^journal/)[0]!)![0]) - 1;
    expect(first).toBeGreaterThan(10);
    const of = (seq: number) => pruned.heads.find(({ data }) => data.seq === seq)!;
    for (const seq of [first, first + 1, pruned.heads.at(-1).data.seq]) {
      const { head, finding } = await look(pruned.directory, of(seq));
      expect([finding, head!.isProven]).toEqual([null, true]);
    }
    const ran = await verifyHead(pruned.directory, of(first - 1), '--json');
    expect(ran.code).toBe(1);
    expect(reportOf(ran)).toMatchObject({ ok: false, finding: null, head: { seq: first - 1, isProven: false } });
    const told = `Not proven: the head is of entry ${first - 1}, and the frames up to entry ${first} are gone`;
    expect(reportOf(ran).notes.join()).toContain(told);
    const forged = { ...of(first).data, chain: Buffer.alloc(32, 9), moment: Date.parse(of(first).data.moment) };
    const found = await look(pruned.directory, headOf(forged, keyIn(pruned.directory)));
    expect(found.finding?.what).toContain('was rewritten');
  });

  test.each<[string, (head: Json) => Json, RegExp]>([
    [
      'of another server',
      ({ data }) => headOf({ ...data, chain: Buffer.alloc(32), moment: 0 }, createKeyPair()),
      /another key/,
    ],
    ['with another seq', (head) => ({ ...head, data: { ...head.data, seq: 9 } }), /hash is not that of its data/],
    ['without a proof', (head) => ({ ...head, meta: { proofs: [] } }), /it has no proof/],
    ['with a proof that is none', (head) => ({ ...head, meta: { proofs: [{}] } }), /not of the form a proof has/],
    ['that is another answer', (head) => ({ ...head, data: { handle: 'x' } }), /holds no head/],
    ['that is no JSON', () => 'seq 9', /holds no head/],
    ['that is null', () => 'null', /holds no head/],
  ])('takes no head %s', async (_name, change, what) => {
    await expect(look(whole.directory, change(whole.heads[9]))).rejects.toThrow(what);
  });

  test('takes a head as it is, whoever else signed it, and no text in which any of it is missing', () => {
    const [head] = whole.heads;
    const key = keyIn(whole.directory).public;
    const read = (value: Json) => readHead('head.json', JSON.stringify(value), key);
    expect(read(head)).toEqual(head.data);
    const other = proof(head.hash, makeKeys());
    for (const proofs of [
      [...head.meta.proofs, other],
      [other, ...head.meta.proofs],
    ])
      expect(read({ ...head, meta: { ...head.meta, proofs } })).toEqual(head.data);
    expect(() => read({ ...head, meta: { proofs: [other] } })).toThrow('signed with another key than these books');
    const { data } = head;
    const odd = [
      ...[null, 7, 'x', [], [head], {}],
      ...[undefined, 7, null].map((hash) => ({ ...head, hash })),
      ...[undefined, null, 7, {}, { proofs: null }, { proofs: { 0: other } }].map((meta) => ({ ...head, meta })),
      ...[undefined, null, 7, 'x', []].map((data) => ({ ...head, data })),
      ...[undefined, null, '1', 1.5, 2 ** 53].map((seq) => ({ ...head, data: { ...data, seq } })),
      ...[undefined, null, 7, data.chain.toUpperCase().replace(/^./, 'A'), data.chain.slice(1), `${data.chain}0`].map(
        (chain) => ({ ...head, data: { ...data, chain } }),
      ),
      ...[undefined, null, 7].map((moment) => ({ ...head, data: { ...data, moment } })),
    ];
    for (const value of odd)
      expect(() => read(value), JSON.stringify(value)).toThrow(
        '--head: head.json holds no head as GET /v2/head gives it',
      );
  });

  test('is told as any other finding where the head is a lie, and as a mistake where there is no head', async () => {
    const lie = await verifyHead(whole.directory, { ...whole.heads[9], meta: { proofs: [] } });
    expect([lie.code, lie.out.startsWith('LIE: ')]).toEqual([1, true]);
    const none = await verifyHead(whole.directory, 'x');
    expect([none.code, none.out, none.err.includes('holds no head')]).toEqual([2, '', true]);
    const gone = await ayni('verify', whole.directory, '--head', join(whole.directory, 'gone.json'));
    expect([gone.code, gone.out, gone.err.includes('--head: ENOENT')]).toEqual([2, '', true]);
  });

  test('believes nothing against another key', async () => {
    const stranger = encodeBase64(createKeyPair().public);
    const ran = await ayni('verify', whole.directory, '--against', stranger);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('not signed by the server');
    expect((await ayni('verify', whole.directory, '--against', 'abc')).code).toBe(2);
    const twice = await ayni('verify', whole.directory, '--against', whole.key, '--key', 'abc');
    expect([twice.code, twice.out, twice.err.includes('one of them')]).toEqual([2, '', true]);
  });
});
