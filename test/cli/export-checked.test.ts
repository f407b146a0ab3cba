/**
 * Stories are proven by another program in another language, with the public key of the server alone, and no part of one
 * can be changed unseen.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Point, utils } from '@noble/ed25519';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { secondOf } from '../../src/core/luid.ts';
import { headText } from '../../src/http/head.ts';
import { canon } from '../../src/proof/canon.ts';
import { createKeyPair, encodeBase64, type KeyPair } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import { signedText } from '../../src/render.ts';
import { encode, entryCodec } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import * as msgpack from '../../src/storage/msgpack.ts';
import { checkText } from '../../src/story/check.ts';
import { readData } from '../proof/data.ts';
import { type Json, makeKeys, proof } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { againWith, oneOfEach } from '../support/long.ts';
import { CHECKER, checkInPage, hasPython, storyText } from '../support/stories.ts';
import { filesIn, keyIn } from './books.ts';
import { RECORDS, storyBooks } from './story-books.ts';

const { changedLuid, check, droppedLuid, key, lateIntent, pruned, routedLuid, story, whole } = await storyBooks();

/** Every member of a JSON text that is no object and no list, and how to put another value there. */
function leavesOf(value: Json, path: string[] = []): { path: string[]; was: Json }[] {
  if (typeof value !== 'object' || value === null) return [{ path, was: value }];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]));
}

function altered(text: string, path: string[], to: (was: Json) => Json): string {
  const whole = JSON.parse(text);
  if (path.length === 0) return JSON.stringify(to(whole));
  const last = path.at(-1)!;
  const holder = path.slice(0, -1).reduce((value, name) => value[name], whole);
  const changed = to(holder[last]);
  if (changed === undefined && Array.isArray(holder)) holder.splice(Number(last), 1);
  else if (changed === undefined) delete holder[last];
  else holder[last] = changed;
  return JSON.stringify(whole);
}

/** Another signature of the same text by the same key: who has the key chooses the number that it begins with. */
function signedAgain(text: Uint8Array, { secret, public: own }: KeyPair): string {
  const order = Point.CURVE().n;
  const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
  const chosen = 5n;
  const start = Point.BASE.multiply(chosen).toBytes();
  const challenge = numberOf(createHash('sha512').update(start).update(own).update(text).digest()) % order;
  const s = (chosen + challenge * utils.getExtendedPublicKey(secret).scalar) % order;
  const end = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([start, end]).toString('base64');
}

const bytesOf = (base64: string) => Buffer.from(base64, 'base64');

/** The links of a story's chain, each with what a story may have for it; hidden are those whose entries it does not show. */
function linksOf({ chain }: Json): { link: Buffer; isHidden: boolean; item: Json }[] {
  return chain.frames.flatMap((item: Json) => {
    if (typeof item !== 'string') {
      const digests = createHash('sha256')
        .update(Buffer.from(item.entries.join(''), 'hex'))
        .digest();
      return [{ link: Buffer.concat([Buffer.from(item.head, 'hex'), digests]), isHidden: false, item }];
    }
    const links = bytesOf(item);
    return Array.from({ length: links.length / 99 }, (_, n) => {
      const link = links.subarray(99 * n, 99 * (n + 1));
      return { link, isHidden: true, item: link.toString('base64') };
    });
  });
}

/** Whether the entry `seq` came in this frame. */
function isIn({ head, entries }: { head: string; entries: string[] }, seq: number): boolean {
  const first = Number(Buffer.from(head, 'hex').readBigUInt64BE(11));
  return seq >= first && seq < first + entries.length;
}

/** The story with other bytes of its entries, as whoever has the server's key would tell it from there on. */
function toldAgain(told: Json, entries: readonly Buffer[], more: (end: Buffer) => Buffer[] = () => []): string {
  const hexOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  const lines = told.entries.map((line: Json, n: number) => ({ ...line, bytes: entries[n]!.toString('base64') }));
  const hashes = new Map(told.entries.map(({ bytes }: Json, n: number) => [hexOf(bytesOf(bytes)), hexOf(entries[n]!)]));
  let before: Buffer = Buffer.from(told.chain.before, 'hex');
  let end = before;
  const linked = (link: Buffer): Buffer => {
    before.copy(link, 35);
    before = createHash('sha256').update(link).digest();
    end = link;
    return link;
  };
  const frames = linksOf(told).map(({ link, isHidden, item }) => {
    if (isHidden) return linked(link).toString('base64');
    const own = item.entries.map((hash: string) => hashes.get(hash) ?? hash);
    const digests = createHash('sha256')
      .update(Buffer.from(own.join(''), 'hex'))
      .digest();
    const head = linked(Buffer.concat([link.subarray(0, 67), digests])).toString('hex', 0, 67);
    return { head, entries: own };
  });
  for (const link of more(end)) frames.push(linked(link).toString('base64'));
  // Beyond 2^53 one more is the same.
  const seq = Number(end.readBigUInt64BE(11)) + (end.readUInt32BE(20) - 1);
  const text = headText({ seq, chain: before, moment: Date.parse(told.head.data.moment) });
  const head = JSON.parse(signedText(text, Date.now(), new Sealer(keyIn(whole))));
  return JSON.stringify({ ...told, entries: lines, chain: { ...told.chain, frames }, head });
}

/** The first entry of a story, received at another moment, and sealed so. */
function receivedAt(told: Json, moment: number): string {
  const { record: own } = told;
  const bytes = bytesOf(told.entries[0].bytes);
  const reader = msgpack.open(bytes, 0, bytes.length);
  msgpack.readArrayHead(reader);
  const second = secondOf(msgpack.readText(reader));
  msgpack.readText(reader);
  for (let count = 0; count < 3; count++) msgpack.readCount(reader);
  const number = Buffer.alloc(9);
  const head = bytes.subarray(0, reader.at);
  msgpack.readNumber(reader);
  const length = msgpack.writeNumber(number, 0, moment - second);
  const changed = Buffer.concat([head, number.subarray(0, length), bytes.subarray(reader.at)]);
  const at = own.meta.proofs.findIndex((one: Json) => one.public === key);
  const was = own.meta.proofs[at];
  const meta = { ...own.meta, moment: new Date(moment).toISOString() };
  const server = makeKeys(Buffer.from(keyIn(whole).secret));
  const seal = proof(own.hash, server, { ...was.custom, moment: meta.moment });
  meta.proofs = own.meta.proofs.with(at, seal);
  bytesOf(seal.result).copy(changed, changed.indexOf(bytesOf(was.result)));
  return toldAgain({ ...told, record: { ...own, meta } }, [changed]);
}

/** Another value of the same type, as near as can be. */
function other(was: Json): Json {
  if (typeof was === 'number') return was + 1;
  if (typeof was === 'boolean') return !was;
  if (was === null || was === '') return 'x';
  const at = was.length >> 1;
  // A digit counts in a number, in base64 and in hexadecimal, where an a is as good as an A.
  return was.slice(0, at) + (was[at] === '1' ? '2' : '1') + was.slice(at + 1);
}

describe.skipIf(!hasPython)('checked by another program', () => {
  test('every kind of record is proven', () => {
    const texts = [
      ...RECORDS.map(([kinds, handle]) => story(kinds, handle)),
      story('intents', routedLuid),
      story('wallets', droppedLuid),
    ];
    const results = check(texts);
    expect(results.map(({ code, said }) => [code, said.slice(0, 7)])).toEqual(texts.map(() => [0, 'Proven:']));
    expect(results.at(-1)!.said).toContain(', dropped: 2 entries');
    expect(results.at(-1)!.said).toMatch(/in the chain up to entry \d+/);
  });

  test('one as deep as a server may take is proven: it was called wrong', () => {
    const [result] = check([story('wallets', 'deep', pruned)]);
    expect([result!.code, result!.said.slice(0, 7)]).toEqual([0, 'Proven:']);
  });

  test('no member of a story can be changed, none that is proven be left out', () => {
    const all = [story('anchors', 'moved'), story('intents', 'bad')].flatMap((text) => {
      const leaves = leavesOf(JSON.parse(text));
      expect(leaves.length).toBeGreaterThan(60);
      return leaves.map((leaf) => ({ ...leaf, text }));
    });
    const leaves = oneOfEach(all, ({ path }) => path.join('.').replace(/\b\d+\b/g, 'n'));
    expect(leaves.length).toBeGreaterThan(20);
    const results = check(leaves.map(({ text, path }) => altered(text, path, other)));
    const missed = leaves.filter((_, n) => results[n]!.code !== 1).map(({ path, was }) => `${path.join('.')}: ${was}`);
    expect(missed, againWith()).toEqual([]);
  });

  test('no number can be written so that another reader takes it for another, though a double is the same', () => {
    const honest = story('wallets', 'ana');
    const edits = [
      ['"numbers":[1.5,', '"numbers":[1.4999999999999999999,'],
      ['123456.75', '123456.7500000000000001'],
      ['100000000000000000000]', '100000000000000000001]'],
      ['100000000000000000000]', '100000000000000000001.0]'],
      ['5e-324', '4.0e-324'],
    ] as const;
    const texts = edits.map(([from, to]) => honest.replace(from, to));
    expect(new Set([honest, ...texts]).size).toBe(texts.length + 1);
    for (const text of texts) expect(JSON.parse(text)).toEqual(JSON.parse(honest));
    for (const { code } of check(texts)) expect(code).toBe(1);
    // As programs write them that read and kept it.
    const kept = honest.replace('"numbers":[1.5,1e+21,1e-7', '"numbers":[1.50,1E+21,1e-07');
    expect(kept).not.toBe(honest);
    expect(check([kept])[0]!.code).toBe(0);
  });

  test('nothing can be left out, put twice, or put elsewhere', () => {
    const text = story('anchors', 'moved');
    const good = JSON.parse(text);
    const lists: string[][] = [
      ['record', 'meta', 'proofs'],
      ['versions', '1', 'meta', 'proofs'],
      ['versions'],
      ['entries'],
      ['chain', 'frames'],
      ['chain', 'frames', '0', 'entries'],
      ['head', 'meta', 'proofs'],
    ];
    const items = lists.flatMap((path) => {
      const list: Json[] = path.reduce((value, name) => value[name], good);
      // The server's own proofs on reading are not in the journal, but no record here has such.
      return list.map((_, n) => ({ path: [...path, String(n)], isLast: n === list.length - 1 }));
    });
    const taken = oneOfEach(items, ({ path, isLast }) => `${path.slice(0, -1)} ${path.at(-1) === '0'} ${isLast}`);
    const changes = taken.map(({ path }) => altered(text, path, () => undefined));
    const swapped = altered(text, ['entries'], (list: Json[]) => [list[1], list[0], ...list.slice(2)]);
    const doubled = altered(text, ['chain', 'frames'], (list: Json[]) => [list[0], ...list]);
    const foreign = altered(text, ['entries', '0'], () => JSON.parse(story('wallets', 'ana')).entries[0]);
    const results = check([...changes, swapped, doubled, foreign]);
    expect(
      results.filter(({ code }) => code !== 1),
      againWith(),
    ).toEqual([]);
  });

  test('no record is shown in another state than the journal tells of', () => {
    const [good, bad, moody] = [story('intents', 'good'), story('intents', 'bad'), story('wallets', 'moody')];
    const [labelled, bare] = [story('wallets', 'labelled'), story('wallets', 'bare')];
    const labels = [labelled, bare].map((text) => JSON.parse(text).record.meta.labels);
    expect(labels).toEqual([['known'], undefined]);
    const done = JSON.parse(story('intents', 'bad', whole, 'elsewhere')).record;
    expect([done.hash, done.meta.status]).toEqual([JSON.parse(bad).record.hash, 'completed']);
    const meta = (text: string, change: (meta: Json) => Json) =>
      altered(text, ['record', 'meta'], (was) => ({ ...was, ...change(was) }));
    const without = (count: number, status: string) => (was: Json) => ({ proofs: was.proofs.slice(0, count), status });
    const forged: [string, string][] = [
      ['rejected, and shown as waiting', meta(bad, without(2, 'pending'))],
      ['completed, and shown as committed', meta(good, without(4, 'committed'))],
      [
        'rejected, with the proofs of the same content in another ledger',
        meta(bad, ({ proofs }) => ({
          proofs: [...proofs.slice(0, 2), ...done.meta.proofs.slice(2)],
          status: 'completed',
        })),
      ],
      [
        'rejected, with what the server said of the same content in another ledger',
        meta(bad, ({ proofs }) => ({ proofs: [...proofs.slice(0, 2), ...done.meta.proofs.slice(2)] })),
      ],
      [
        'completed, as somebody else than the server says',
        meta(good, ({ proofs }) => {
          const { hash } = JSON.parse(good).record;
          return { proofs: proofs.with(-1, proof(hash, makeKeys(), proofs.at(-1).custom)) };
        }),
      ],
      ['a status that another one followed', meta(moody, () => ({ status: 'verified' }))],
      ['a status that none is', meta(moody, () => ({ status: 'Not a status' }))],
      ['a label that stands elsewhere in it', meta(moody, () => ({ labels: ['moody'] }))],
      ['a label that was taken away', meta(labelled, () => ({ labels: ['known', 'vip'] }))],
      ['without its label', meta(labelled, () => ({ labels: undefined }))],
      ['with the labels of nothing', meta(bare, () => ({ labels: [] }))],
      ['routed', meta(good, () => ({ routed: true }))],
      ['a member of meta', meta(good, () => ({ approved: true }))],
      [
        'a proof twice, and its entry',
        altered(
          meta(moody, ({ proofs }) => ({ proofs: [...proofs, proofs.at(-1)] })),
          ['entries'],
          (was) => [...was, was.at(-1)],
        ),
      ],
      ['a proof twice', meta(moody, ({ proofs }) => ({ proofs: [...proofs, proofs.at(-1)] }))],
      ['proofs in another order', meta(moody, ({ proofs }) => ({ proofs: proofs.toReversed() }))],
      ['a member of a proof', altered(moody, ['record', 'meta', 'proofs', '2'], (was) => ({ ...was, note: 'x' }))],
      ['a member of the record', altered(moody, ['record'], (was) => ({ ...was, approved: true }))],
      ['a version more', altered(moody, [], (was) => ({ ...was, versions: [...was.versions, was.record] }))],
      ['a member of the story', altered(moody, [], (was) => ({ ...was, status: 'verified' }))],
      ['a member of the head', altered(moody, ['head'], (was) => ({ ...was, ledger: 'main' }))],
      ['a member of the meta of the head', altered(moody, ['head', 'meta'], (was) => ({ ...was, ledger: 'main' }))],
      ['a member of an entry', altered(moody, ['entries', '0'], (was) => ({ ...was, ledger: 'main' }))],
      ['a member of the chain', altered(moody, ['chain'], (was) => ({ ...was, ledger: 'main' }))],
      ['a member of a frame', altered(moody, ['chain', 'frames', '0'], (was) => ({ ...was, ledger: 'main' }))],
      [
        'a byte behind a signature that no entry holds',
        altered(good, ['record', 'meta', 'proofs', '4', 'result'], (was: string) => `${was.slice(0, -2)}AA`),
      ],
      ['routed, by a number', altered(story('intents', 'passed-on'), ['record', 'meta', 'routed'], Number)],
      // Only where a server says that frames are gone, its chain is null.
      ...[undefined, false, 0, ''].map((chain): [string, string] => [
        `a chain that is ${chain}`,
        altered(moody, ['chain'], () => chain),
      ]),
      // Readers differ in which of two they show.
      ['a record twice', moody.replace('"record":', `"record":${JSON.stringify(done)},"record":`)],
      ['a status twice', moody.replace('"status":"suspended"', '"status":"verified","status":"suspended"')],
    ];
    const results = check(forged.map(([, text]) => text));
    expect(forged.flatMap(([, text]) => checkInPage(text, key).said).filter((said) => said.includes('{'))).toEqual([]);
    expect(forged.filter((_, n) => results[n]!.code !== 1).map(([what]) => what)).toEqual([]);
  });

  test('a signature that holds, and is not the one that the entry has, is none of it', () => {
    const told = JSON.parse(story('wallets', 'ana'));
    const seal = told.record.meta.proofs.find((one: Json) => one.public === key);
    const again = signedAgain(Buffer.from(seal.digest, 'hex'), keyIn(whole));
    expect([
      again === seal.result,
      verify(keyIn(whole).public, Buffer.from(seal.digest, 'hex'), bytesOf(again)),
    ]).toEqual([false, true]);
    seal.result = again;
    expect(check([JSON.stringify(told)])).toEqual([
      { code: 1, said: 'NOT PROVEN: other proofs than the journal tells of' },
    ]);
  });

  test('what was said of the same content in another ledger is not said of this one', () => {
    const told = JSON.parse(story('wallets', 'moody'));
    const other = JSON.parse(story('wallets', 'moody', whole, 'elsewhere'));
    const [entry, praise] = [other.entries.at(-1), other.record.meta.proofs.at(-1)];
    expect([other.record.hash, praise.custom.status]).toEqual([told.record.hash, 'approved']);
    told.entries.push(entry);
    told.record.meta.proofs.push(praise);
    told.record.meta.status = 'approved';
    const [links, others] = [linksOf(told), linksOf(other)];
    told.chain.frames = links.map((one) => others.find(({ link }) => link.equals(one.link) && one.isHidden) ?? one);
    told.chain.frames = told.chain.frames.map(({ item }: Json) => item);
    expect(check([JSON.stringify(told)])).toEqual([{ code: 1, said: 'NOT PROVEN: an entry of another record' }]);
  });

  test('a chain whose numbers do not go on is none, even where the server signed it', () => {
    const told = JSON.parse(story('wallets', 'ana'));
    const links = linksOf(told);
    const endedBy = (more: bigint) => {
      const last = Buffer.from(links.at(-1)!.link);
      last.writeBigUInt64BE(last.readBigUInt64BE(11) + more, 11);
      const frames = [...links.slice(0, -1).map(({ item }) => item), last.toString('base64')];
      const seq = told.head.data.seq + Number(more);
      const chain = createHash('sha256').update(last).digest();
      const end = headText({ seq, chain, moment: Date.parse(told.head.data.moment) });
      const head = JSON.parse(signedText(end, Date.now(), new Sealer(keyIn(whole))));
      return JSON.stringify({ ...told, chain: { ...told.chain, frames }, head });
    };
    const results = check([endedBy(0n), endedBy(1n)]);
    expect(results.map(({ code }) => code)).toEqual([0, 1]);
    expect(results[1]!.said).toBe('NOT PROVEN: a frame does not continue the one before it');
  });

  test('the end of a chain is what the server signed, not who gives the story: by another key it is none', () => {
    const told = JSON.parse(story('wallets', 'ana'));
    const { chain, moment, seq } = told.head.data;
    const end = headText({ seq, chain: Buffer.from(chain, 'hex'), moment: Date.parse(moment) });
    const signedBy = (keys: KeyPair) => {
      const head = JSON.parse(signedText(end, Date.now(), new Sealer(keys)));
      return JSON.stringify({ ...told, head });
    };
    const results = check([signedBy(keyIn(whole)), signedBy(createKeyPair())]);
    expect(results).toEqual([
      { code: 0, said: expect.stringMatching(/^Proven/) },
      { code: 1, said: expect.stringContaining('the server has not signed it') },
    ]);
  });

  test('an entry without a moment or a thread is none, even where the server signed it: the page took it', () => {
    const [wallet, intent] = [JSON.parse(story('wallets', 'luz')), JSON.parse(story('intents', 'good'))];
    expect([wallet.entries.length, intent.entries.length]).toEqual([1, 1]);
    const decoded = entryCodec.decode(bytesOf(intent.entries[0].bytes), 0, bytesOf(intent.entries[0].bytes).length);
    const inThread = (thread: string) => {
      const buffer = new FrameBuffer();
      encode({ ...(decoded as IntentEntry), thread }, buffer);
      const { routed: _, ...meta } = intent.record.meta;
      const record = { ...intent.record, meta: { ...meta, thread, routed: true } };
      return toldAgain({ ...intent, record }, [Buffer.from(buffer.bytes.subarray(0, buffer.end))]);
    };
    const results = check([
      receivedAt(wallet, 0),
      inThread('x'),
      receivedAt(wallet, -1),
      receivedAt(wallet, -62_167_219_200_001),
      inThread(''),
    ]);
    const odd = { code: 1, said: 'NOT PROVEN: an entry as no server writes it' };
    expect(results.slice(0, 2).map(({ code }) => code)).toEqual([0, 0]);
    expect(results.slice(2)).toEqual([odd, odd, odd]);
  });

  test('a chain of entries beyond all numbers, or of none, is none: the page took two for one', () => {
    const told = JSON.parse(story('wallets', 'luz'));
    const entries = told.entries.map(({ bytes }: Json) => bytesOf(bytes));
    const end = 2n ** 53n - 1n;
    const moved = BigInt(Number.MAX_SAFE_INTEGER - told.head.data.seq);
    for (const line of told.entries) line.seq += Number(moved);
    told.chain.frames = linksOf(told).map(({ link, isHidden, item }) => {
      link.writeBigUInt64BE(link.readBigUInt64BE(11) + moved, 11);
      return isHidden ? link.toString('base64') : { ...item, head: link.toString('hex', 0, 67) };
    });
    const withFrame = (first: bigint, count: number) => (last: Buffer) => {
      const link = Buffer.from(last);
      link.writeBigUInt64BE(first, 11);
      link.writeUInt32BE(count, 20);
      return link;
    };
    const behind = (...frames: ((last: Buffer) => Buffer)[]) =>
      toldAgain(told, entries, (last) => frames.map((frame) => frame(last)));
    const next = withFrame(end + 1n, 1);
    const results = check([behind(), behind(next), behind(next, next), behind(withFrame(end + 1n, 0))]);
    const odd = { code: 1, said: 'NOT PROVEN: a frame does not continue the one before it' };
    expect([results[0]!.code, ...results.slice(1)]).toEqual([0, odd, odd, odd]);
  });

  test('an entry is not put behind a later one by hashes of its frame that are written in other pieces', () => {
    const told = JSON.parse(story('wallets', 'moody'));
    const { proofs } = told.record.meta;
    const moved = told.entries[1];
    // The hash that all hashes of a frame are under is of their bytes: where one ends is for the checker to ask.
    const frame = told.chain.frames.find((item: Json) => item.entries !== undefined && isIn(item, moved.seq));
    const { seq } = told.entries.at(-1);
    frame.entries = [...Array.from({ length: seq + 1 - moved.seq }, () => ''), ...frame.entries];
    told.entries = [told.entries[0], ...told.entries.slice(2), { ...moved, seq: seq + 1 }];
    told.record.meta = {
      ...told.record.meta,
      status: 'verified',
      proofs: [...proofs.slice(0, 2), ...proofs.slice(3), proofs[2]],
    };
    expect(proofs[2].custom.status).toBe('verified');
    expect(check([JSON.stringify(told)])).toEqual([{ code: 1, said: expect.stringContaining('NOT PROVEN') }]);
  });

  test('each entry is in its frame: one whose frame is there as a link alone is in none', () => {
    const told = JSON.parse(story('wallets', 'moody'));
    const links = linksOf(told);
    const hiding = ({ seq }: Json) => {
      const frames = links.map(({ link, isHidden, item }) =>
        !isHidden && isIn(item, seq) ? link.toString('base64') : item,
      );
      return JSON.stringify({ ...told, chain: { ...told.chain, frames } });
    };
    expect(told.entries.length).toBeGreaterThan(2);
    const results = check(told.entries.map(hiding));
    expect(results).toEqual(told.entries.map(() => ({ code: 1, said: 'NOT PROVEN: an entry is not in its frame' })));
  });

  test('links of a chain are whole, and none is of nothing', () => {
    const text = story('wallets', 'ana');
    const told = JSON.parse(text);
    const links = linksOf(told);
    const { link, item } = links.find(({ isHidden }) => isHidden)!;
    const at = told.chain.frames.findIndex((one: Json) => typeof one === 'string');
    const put = (...items: Json[]) =>
      altered(text, ['chain', 'frames'], (was: Json[]) => was.toSpliced(at, 0, ...items));
    /** What the first frame goes on from, but for half a byte. */
    const goesOnFrom = (at: number) =>
      altered(
        text,
        ['chain', 'before'],
        (was: string) => was.slice(0, at) + (was[at] === '1' ? '2' : '1') + was.slice(at + 1),
      );
    const texts = [
      goesOnFrom(0),
      goesOnFrom(63),
      put(item),
      put(link.subarray(0, 98).toString('base64')),
      put(Buffer.concat([link, link.subarray(0, 1)]).toString('base64')),
      altered(text, ['chain', 'frames'], () => []),
    ];
    const results = check(texts);
    expect(texts.map((one) => checkInPage(one, key))).toEqual(results);
    const odd = { code: 1, said: 'NOT PROVEN: a frame does not continue the one before it' };
    expect(results.slice(0, 5)).toEqual([odd, odd, odd, odd, odd]);
    expect(results[5]).toEqual({ code: 1, said: 'NOT PROVEN: an entry is not in its frame' });
    // Of what no server writes that other program has no words, or takes it.
    for (const item of ['', { head: link.toString('hex', 0, 67), entries: [] }])
      expect(checkInPage(put(item), key)).toEqual(odd);
  });

  test('the head has the one signature of its moment, and nobody adds another to it', () => {
    const text = story('wallets', 'ana');
    const { head } = JSON.parse(text);
    const [own] = head.meta.proofs;
    const moment = '2000-01-01T00:00:00.000Z';
    const others = [proof(head.hash, makeKeys(), { moment }), proof(head.hash, makeKeys()), own];
    const withHead = (meta: Json) => altered(text, ['head', 'meta'], (was) => ({ ...was, ...meta }));
    const results = check([
      ...others.map((one) => withHead({ proofs: [own, one] })),
      ...others.map((one) => withHead({ moment, proofs: [one, own] })),
      withHead({ moment }),
      withHead({ moment: 7 }),
    ]);
    expect(new Set(results.map(({ code, said }) => `${code} ${said}`))).toEqual(
      new Set(['1 NOT PROVEN: a moment of the head that is not signed']),
    );
  });

  test('a record begins once, also where no frame tells how often', () => {
    const told = JSON.parse(story('wallets', 'moody', pruned));
    const [first, second] = told.entries;
    const later = (entry: Json, n: number) => ({ ...entry, seq: told.entries.at(-1).seq + n });
    const created = (was: Json) => ({
      ...was,
      meta: { ...was.meta, status: 'created', proofs: was.meta.proofs.slice(0, 2) },
    });
    const twice = {
      ...told,
      entries: [first, later(first, 1)],
      versions: [created(told.record)],
      record: created(told.record),
    };
    const without = { ...told, entries: told.entries.slice(1) };
    const once = { ...told, entries: [first], record: created(told.record) };
    const results = check([once, twice, without].map((one) => JSON.stringify(one)));
    const odd = { code: 1, said: 'NOT PROVEN: a record that does not begin once' };
    expect([second.seq > first.seq, results[0]!.code, ...results.slice(1)]).toEqual([true, 2, odd, odd]);
  });

  test('no version is left out with its entries: the next one names it, and so does a drop', () => {
    const told = JSON.parse(story('anchors', 'moved'));
    // After the first, each version has an entry, and a proof that followed has one.
    const { versions, entries } = told;
    const without = { ...told, versions: versions.toSpliced(1, 1), entries: entries.toSpliced(1, 2) };
    const dropped = JSON.parse(story('anchors', changedLuid));
    expect([versions.length, dropped.versions.length, dropped.entries.length]).toEqual([3, 1, 3]);
    const asItWas = { ...dropped, record: dropped.versions[0], versions: [], entries: dropped.entries.toSpliced(1, 1) };
    const results = check([without, asItWas].map((one) => JSON.stringify(one)));
    expect(results).toEqual([1, 1].map((code) => ({ code, said: 'NOT PROVEN: a version that is left out' })));
  });

  test('the page shows each version by its number, the newest first, and says of what was dropped that it was', () => {
    const shown = [story('wallets', 'ana'), story('anchors', 'moved'), story('anchors', changedLuid)].map((text) => {
      const { notes, parts } = checkText(text, key);
      return [
        parts.map(({ title }) => title.replace(/^.*?(, |$)/, '')),
        notes[0]!.startsWith('The record was dropped'),
      ];
    });
    expect(shown).toEqual([
      [[''], false],
      [['version 4 of 4', 'version 3 of 4', 'version 2 of 4', 'version 1 of 4'], false],
      [['version 2 of 2', 'version 1 of 2'], true],
    ]);
  });

  test('the page says what is proven of a record, and what is not, whether or not its frames are there', () => {
    const toldBy = (text: string) => {
      const { verdict, notes, parts } = checkText(text, key);
      const { record, head } = JSON.parse(text);
      const facts = parts[0]!.facts.map(({ name, value, by }) => `${name} ${value}: ${by}`);
      return { verdict, notes, facts, record, head };
    };
    const proven = toldBy(story('wallets', 'moody'));
    const { luid, hash, meta } = proven.record;
    const { moment } = proven.head.data;
    expect([proven.verdict, proven.notes]).toEqual([
      'proven',
      [
        `The record was as it is shown, by all that the file holds of it. The chain ends at ${moment}; the server signed that end at ${proven.head.meta.moment}.`,
        'Not proven is that nothing else happened to it: what came after the last entry in the file, and proofs that were added between, may have been left out together with their entries.',
        `It names no ledger: one server keeps many. Ask the ledger that is meant for ${luid}.`,
      ],
    ]);
    expect(proven.facts.sort()).toEqual(
      [
        `luid ${luid}: proven`,
        `hash ${hash}: proven`,
        `moment ${meta.moment}: proven`,
        `owners ${canon(meta.owners)}: proven`,
        'status suspended: proven',
      ].sort(),
    );
    const unframed = toldBy(story('wallets', 'moody', pruned));
    const nobody = 'nobody has signed this: the word of whoever gave you the text';
    expect([unframed.verdict, unframed.notes]).toEqual([
      'signed',
      [
        'The server lets go of old frames. Its status, its labels and the order of its proofs are the word of whoever gave you the file; below, each line says whose.',
        'A story that was written before the frames went, or from a backup of that time, proves them.',
      ],
    ]);
    const who = meta.proofs.find((one: Json) => one.custom?.status === 'suspended').public;
    expect(unframed.facts.sort()).toEqual(
      [
        `luid ${luid}: signed by the server`,
        `hash ${hash}: follows from the data`,
        `moment ${meta.moment}: signed by the server, with the status created`,
        `owners ${canon(meta.owners)}: ${nobody}`,
        `status suspended: signed by the key ${who}; that it became the status, nobody has signed`,
      ].sort(),
    );
    const before = checkText(story('anchors', changedLuid), key);
    expect(before.notes[0]).toBe('The record was dropped: what is shown is what it was until then.');
  });

  test('a story that another key tells from beginning to end is of another server', () => {
    const stranger = encodeBase64(createKeyPair().public);
    const text = story('wallets', 'ana');
    expect(check([text], stranger)).toEqual([{ code: 1, said: 'NOT PROVEN: it is of another server' }]);
    const [renamed] = check([altered(text, ['server'], () => stranger)], stranger);
    expect(renamed).toMatchObject({ code: 1, said: expect.stringContaining('the server has not signed it') });
  });

  test('where segments are gone: all but its state and its place in the chain', () => {
    expect(filesIn(pruned, /^journal/)[0]).not.toMatch(/0001\.ayj$/);
    const [old, late] = check([story('wallets', 'ana', pruned), story('intents', lateIntent, pruned)]);
    const unframed =
      'Proven is each signature, and what it says; not the state of the record: the frames of its first entries are gone\n';
    expect(old).toEqual({ code: 2, said: unframed });
    expect(late).toMatchObject({ code: 0, said: expect.stringMatching(/^Proven: \$int/) });
    const { chain, entries } = JSON.parse(story('wallets', 'ana', pruned));
    expect([chain, entries[0].seq]).toEqual([null, JSON.parse(story('wallets', 'ana')).entries[0].seq]);
    // Without frames nobody vouches for entries: they can be put in another order, and with them what the record shows.
    const moody = JSON.parse(story('wallets', 'moody', pruned));
    const { proofs } = moody.record.meta;
    const at = (n: number) => ({ ...moody.entries[n], seq: moody.entries[0].seq + n });
    moody.entries = [moody.entries[0], { ...at(3), seq: at(1).seq }, at(2), { ...at(1), seq: at(3).seq }];
    moody.record.meta.proofs = [...proofs.slice(0, 2), proofs[4], proofs[3], proofs[2]];
    moody.record.meta.status = 'verified';
    expect(check([JSON.stringify(moody)])).toEqual([{ code: 2, said: unframed }]);
  });

  test.each([0, -1, 1.5, 2 ** 53, '7', null])('where segments are gone no entry has the number %j', (seq) => {
    const text = altered(story('wallets', 'ana', pruned), ['entries', '0', 'seq'], () => seq);
    expect(checkText(text, key)).toMatchObject({ verdict: 'wrong', said: 'NOT PROVEN: entries that are not in order' });
  });

  test('its Ed25519 has the rule of ours, its canonical text and its moments are ours', () => {
    const speccheck = readData<Json>('speccheck.json');
    const wycheproof = readData<Json>('wycheproof-ed25519.json');
    // With a zero behind it, S is the number that it was.
    const valid = wycheproof.tests.find((one: Json) => one[4] === 'valid');
    const values = fc.sample(fc.jsonValue({ maxDepth: 4 }), { numRuns: 400, seed: 5 });
    const numbers = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 2000, seed: 6 });
    const odd = [
      '\ud800',
      '\udfff x',
      { '\ud83d\ude00': 1, '\ufb01': 2, z: 3 },
      '\u007f\u0000\u001f',
      1e21,
      123456789012345680000,
    ];
    const input = JSON.stringify({
      signatures: [
        ...speccheck.cases.map((one: Json) => [one.pub_key, one.message, one.signature]),
        ...wycheproof.tests.map((one: Json) => [one[1], one[2], one[3]]),
        [valid[1], valid[2], `${valid[3]}00`],
      ],
      texts: [...values, ...numbers, ...odd].map((value) => canon(value)),
      moments: [0, 951_782_399_999, 253_402_300_799_999, 253_402_300_800_000, 8_640_000_000_000_000],
    });
    const source = readFileSync(CHECKER, 'utf8').split('\nif len(sys.argv)')[0];
    const driver = `${source}
given = json.load(sys.stdin)
print(json.dumps([[holds(*map(bytes.fromhex, row)) for row in given['signatures']], [canon(json.loads(text)) for text in given['texts']], [*map(iso, given['moments'])]]))`;
    const ran = spawnSync('python3', ['-c', driver], { input, encoding: 'utf8', maxBuffer: 1 << 26 });
    expect(ran.stderr).toBe('');
    const [verdicts, texts, moments] = JSON.parse(ran.stdout);
    const expected = [
      ...speccheck.cases.map((_: Json, n: number) => speccheck.accepted.includes(n)),
      ...wycheproof.tests.map((one: Json) => one[4] === 'valid'),
      false,
    ];
    expect(verdicts).toEqual(expected);
    expect(texts).toEqual(JSON.parse(input).texts);
    expect(moments).toEqual(JSON.parse(input).moments.map((moment: number) => new Date(moment).toISOString()));
  });

  test('what is no story, no file or no key is told in a sentence: a traceback said where the checker broke', () => {
    const story = storyText(whole, { ledger: 'main', kind: Kind.wallet, id: 'ana' });
    const cases = [
      [
        'story.json',
        story.replace('"format":"ayni-story-3",', ''),
        key,
        'no story as `ayni export` writes it: KeyError',
      ],
      ['text.json', 'not JSON', key, 'no story as `ayni export` writes it: JSONDecodeError'],
      ['key.json', story, 'abc', 'the key must be the base64 of 32 bytes'],
      ['key.json', story, `${key.slice(0, -2)}!=`, 'the key must be the base64 of 32 bytes'],
    ];
    const directory = freshDirectory();
    for (const [name, text, by, said] of cases as [string, string, string, string][]) {
      const path = join(directory, name);
      writeFileSync(path, text);
      const { status, stderr } = spawnSync('python3', [CHECKER, path, by], { encoding: 'utf8' });
      expect([status, stderr.split('\n').length]).toEqual([1, 2]);
      expect(stderr).toContain(`NOT PROVEN: ${said}`);
    }
    const { status, stderr } = spawnSync('python3', [CHECKER, join(directory, 'none'), key], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^NOT PROVEN: .*FileNotFoundError .*none'\n$/)]);
  });

  test('a lie that it tells of cannot clear the screen, and say there that all is proven', () => {
    const lie = '\u009b2J\u009bHProven\u007f\u2028\u202e';
    const [ran] = check([altered(story('wallets', 'ana'), ['record', 'meta', 'labels'], () => [lie])]);
    expect(ran).toMatchObject({ code: 1, said: expect.stringContaining('\\x9b2J\\x9bHProven') });
    expect(ran!.said).toMatch(/^NOT PROVEN: the record shows [ -~]+$/);
  });

  test('it is short, and needs nothing but Python', () => {
    const lines = readFileSync(CHECKER, 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(170);
    const without = spawnSync('python3', ['-I', '-S', CHECKER], { encoding: 'utf8' });
    expect([without.status, without.stderr.includes('Checks a story')]).toEqual([1, true]);
  });
});
