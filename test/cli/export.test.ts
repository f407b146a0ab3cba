/**
 * The story of a record: what the server shows of it, proven by another program in another language with the server's
 * public key alone; nothing of anybody else in it; and no part of it can be changed unseen.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Point, utils } from '@noble/ed25519';
import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { storyOf } from '../../src/cli/export.ts';
import { Kind } from '../../src/core/kinds.ts';
import { headText } from '../../src/http/head.ts';
import { canon } from '../../src/proof/canon.ts';
import { createKeyPair, encodeBase64, type KeyPair } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import { signedText } from '../../src/render.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { readData } from '../proof/data.ts';
import { type Client, connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit, openLedger, proofFor, segment, transfer, until } from '../support/kit.ts';
import { againWith, oneOfEach } from '../support/long.ts';
import { startServer } from '../support/server.ts';
import { CHECKER, checkInPage, checkStories, hasPython, storyText } from '../support/stories.ts';
import { ayni, ayniProcess, copyWithoutKey, filesIn, keyIn } from './books.ts';

const whole = freshDirectory();
const pruned = freshDirectory();
let key = '';
/** What the server answered for each record, by kind and handle. */
const answers = new Map<string, Json>();
let droppedLuid = '';
/** Of one that was changed before it was dropped. */
let changedLuid = '';
/** The intent that a route made. */
let routedLuid = '';
/** The newest intent of the pruned books. */
let lateIntent = '';

beforeAll(async () => {
  const server = await startServer({ directory: whole });
  key = server.publicKey;
  const client = connect(server);
  await fill(client);
  await server.stop();
  cpSync(whole, pruned, { recursive: true });
  const again = await startServer({
    directory: pruned,
    flags: ['--snapshot-every', '10', '--segment-bytes-max', '4096', '--body-depth-max', '512'],
  });
  const kit = makeKit(connect(again), makeKeys());
  const symbol = await kit.symbol({ handle: 'late-symbol' });
  for (let n = 0; n < 30; n++) lateIntent = (await kit.done([issue('ana', symbol, 1)])).data.handle;
  let custom = {};
  for (let level = 0; level < 505; level++) custom = { a: custom };
  await kit.make('wallets', { handle: 'deep', custom });
  await again.stop();
});

/** A record of every sort of past. */
async function fill(client: Client): Promise<void> {
  const keys = makeKeys();
  const kit = makeKit(client, keys);
  const custom = {
    text: 'ñandú ☀ \u2028 "\\\t',
    numbers: [1.5, 1e21, 1e-7, 123456.75, -0.000001, 5e-324, 1e20],
    deep: [{}],
  };
  await kit.symbol({ handle: 'usd' });
  await kit.wallet({ handle: 'ana', custom });
  // Together, so that some share a frame.
  await Promise.all(['luz', ...CROWD].map((handle) => kit.wallet({ handle })));
  await kit.done([issue('ana', 'usd', 500)]);
  await kit.done([transfer('ana', 'luz', 'usd', 20)], { data: { handle: 'good' } });
  await kit.refused([transfer('luz', 'ana', 'usd', 90_000)], { data: { handle: 'bad' } });
  await kit.send([transfer('ana', 'luz', 'usd', 7)], { data: { handle: 'aborted', config: { commit: 'manual' } } });
  const waiting = (await client.get('/intents/aborted')).body;
  await client.post(
    '/intents/aborted/proofs',
    proofFor(waiting, keys, { action: 'abort', moment: new Date().toISOString() }),
  );
  await kit.wallet({ handle: 'post-box', routes: [{ action: 'forward', target: 'luz' }] });
  const { meta } = await kit.done([issue('post-box', 'usd', 3)], { data: { handle: 'passed-on' } });
  const { data: thread } = (await client.get(`/intents?meta.thread=${meta.thread}`)).body;
  routedLuid = thread.find(({ data }: Json) => data.handle !== 'passed-on').luid;
  let anchor = await kit.make('anchors', { handle: 'moved', wallet: 'ana', target: 'luz', custom: { n: 0 } });
  for (let n = 1; n < 4; n++) {
    const { parent: _, ...data } = anchor.data;
    anchor = (await kit.change('anchors', anchor, { ...data, custom: { n } })).body;
    const given = { moment: new Date().toISOString(), status: 'connected', step: n };
    await client.post('/anchors/moved/proofs', proofFor(anchor, keys, given));
  }
  await kit.make('effects', {
    handle: 'listens',
    signal: 'wallet-limited',
    action: { schema: 'webhook', endpoint: 'http://127.0.0.1:9/' },
  });
  const two = record({ handle: 'signed-twice' }, [keys, makeKeys()], [{ n: 1 }, { n: 2 }]);
  expect((await client.post('/wallets', two)).status).toBe(201);
  const loose = await kit.make('wallets', { handle: 'gone' });
  droppedLuid = loose.luid;
  const brief = await kit.make('anchors', { handle: 'brief', wallet: 'ana', target: 'luz', custom: { n: 0 } });
  const { parent: _, ...first } = brief.data;
  const changed = (await kit.change('anchors', brief, { ...first, custom: { n: 1 } })).body;
  changedLuid = changed.luid;
  expect((await client.del('/anchors/brief', kit.dropBody(changed))).status).toBe(204);
  await client.del('/wallets/gone', kit.dropBody(loose));
  const elsewhere = { 'x-ledger': (await openLedger(client, keys, { handle: 'elsewhere' })).data.handle as string };
  await client.post('/wallets', record({ handle: 'ana', custom: { secret: 'of another tenant' } }, keys), elsewhere);
  // What is rejected here is done there: the same content, so the same hash.
  await client.post('/symbols', record({ handle: 'usd', factor: 100 }, keys), elsewhere);
  await client.post('/wallets', record({ handle: 'luz' }, keys), elsewhere);
  const rich = { handle: 'rich', claims: [issue('luz', 'usd', 100_000)] };
  await client.post('/intents', record(rich, keys), elsewhere);
  const { data } = (await client.get('/intents/bad')).body;
  await client.post('/intents', record(data, keys), elsewhere);
  const moody = await kit.make('wallets', { handle: 'moody' });
  for (const status of ['verified', 'Not a status', 'suspended']) {
    const given = { moment: new Date().toISOString(), status };
    expect((await client.post('/wallets/moody/proofs', proofFor(moody, keys, given))).status).toBe(200);
  }
  // The same content there, of which somebody says what nobody says of this one.
  const namesake = (await client.post('/wallets', record(moody.data, keys), elsewhere)).body;
  const praise = { moment: new Date().toISOString(), status: 'approved' };
  await client.post('/wallets/moody/proofs', proofFor(namesake, keys, praise), elsewhere);
  for (const [kinds, handle] of RECORDS) {
    answers.set(`${kinds} ${handle}`, (await client.get(`/${kinds}/${segment(handle)}`)).body);
  }
}

/** Wallets made at once. */
const CROWD = Array.from({ length: 40 }, (_, n) => `neighbour${String(n).padStart(2, '0')}`);

const RECORDS: [kinds: string, handle: string][] = [
  ['wallets', 'ana'],
  ['wallets', 'luz'],
  ['wallets', 'signed-twice'],
  ['wallets', 'moody'],
  ['symbols', 'usd'],
  ['intents', 'good'],
  ['intents', 'bad'],
  ['intents', 'aborted'],
  ['intents', 'passed-on'],
  ['anchors', 'moved'],
  ['effects', 'listens'],
  ['signers', 'system'],
  ['ledgers', 'main'],
];

const kindOf = (kinds: string) => Kind[kinds.slice(0, -1) as keyof typeof Kind];
const story = (kinds: string, id: string, directory = whole, ledger = 'main') =>
  storyText(directory, { ledger, kind: kindOf(kinds), id });

const check = (texts: string[], by = key) => checkStories(texts, by);

describe('a story', () => {
  test.each(RECORDS)('of %s/%s shows what the server shows', (kinds, handle) => {
    expect(JSON.parse(story(kinds, handle)).record).toEqual(answers.get(`${kinds} ${handle}`));
  });

  test('has all versions, oldest first, and a line for each thing that happened', () => {
    const { record: now, versions, entries, chain, head } = JSON.parse(story('anchors', 'moved'));
    expect([...versions, now].map(({ data }) => data.custom.n)).toEqual([0, 1, 2, 3]);
    expect(versions.slice(1).every((version: Json, n: number) => version.data.parent === versions[n].hash)).toBe(true);
    expect(entries).toHaveLength(7);
    expect(chain.frames.length).toBeGreaterThan(6);
    expect(head.data.seq).toBeGreaterThanOrEqual(entries.at(-1).seq);
  });

  test('holds nothing of any other record, not even of the same frame', () => {
    const isShared = (text: string) => JSON.parse(text).chain.frames.some((frame: Json) => frame.entries?.length > 1);
    const text = CROWD.map((handle) => story('wallets', handle)).find(isShared)!;
    expect(text, 'a frame with more than one entry').toBeDefined();
    const { entries, chain, record: own } = JSON.parse(text);
    const raw = (item: Json) =>
      typeof item === 'string' ? Buffer.from(item, 'base64') : Buffer.from(item.head, 'hex');
    const hidden = Buffer.concat([
      ...chain.frames.map(raw),
      ...entries.map(({ bytes }: Json) => Buffer.from(bytes, 'base64')),
    ]);
    const others = CROWD.filter((handle) => handle !== own.data.handle);
    // Short ones as they stand in data: three letters may come up in signatures.
    for (const word of [...others, '"luz"', '"usd"', 'another tenant', 'elsewhere']) {
      expect(text).not.toContain(word);
      expect(hidden.includes(word), word).toBe(false);
    }
  });

  test.each([-1, 0, Date.UTC(2001, 0)])(
    'by a clock at %i, behind the books: its head is not signed before it came',
    (now) => {
      const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
      try {
        const { head } = JSON.parse(story('wallets', 'ana'));
        expect(head.meta.moment).toBe(head.data.moment);
        expect(head.meta.proofs[0].custom.moment).toBe(head.data.moment);
      } finally {
        clock.mockRestore();
      }
    },
  );

  test('of a dropped record is there by its luid, of another ledger by its handle', () => {
    expect(JSON.parse(story('wallets', droppedLuid)).entries).toHaveLength(2);
    expect(() => story('wallets', 'gone')).toThrow('ledger main has no wallet gone');
    expect(JSON.parse(story('wallets', 'ana', whole, 'elsewhere')).record.data.custom.secret).toBe('of another tenant');
    expect(() => story('wallets', 'post-box', whole, 'elsewhere')).toThrow('has no wallet post-box');
    expect(() => story('wallets', 'ana', whole, 'nowhere')).toThrow('the books have no ledger nowhere');
  });
});

describe('a story that is longer than one text may be', () => {
  const directory = freshDirectory();
  const name = { ledger: 'main', kind: Kind.wallet, id: 'long' };
  const VERSIONS = 24;
  const FRAMES = 300;
  const pad = 'x'.repeat(50_000);
  // The whole of it was one text, and none is longer than half a gigabyte.
  const longest = 100_000;
  let by = '';

  beforeAll(async () => {
    const server = await startServer({ directory, flags: ['--segment-bytes-max', '300000'] });
    by = server.publicKey;
    const kit = makeKit(connect(server), makeKeys());
    let wallet = await kit.make('wallets', { handle: 'long' });
    await kit.symbol({ handle: 'usd' });
    for (let n = 0; n < FRAMES; n++) {
      await kit.done([issue('long', 'usd', 1)]);
      if (n < VERSIONS) {
        wallet = (await kit.change('wallets', wallet, { handle: 'long', custom: { n, pad } })).body;
      }
    }
    server.process.kill('SIGUSR2');
    await until(() => filesIn(directory, /^snapshot-.*ays$/).length > 0);
    await server.stop();
  });

  test('is made in pieces, each of one version, one entry or a part of the chain, and proven', () => {
    const pieces = [...storyOf(realDisk, directory, name)];
    const whole = pieces.join('');
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(longest);
    expect(whole.length).toBeGreaterThan(20 * longest);
    const { format, server, record: now, versions, entries, chain, head } = JSON.parse(whole);
    const list = (values: Json[], comma: string) => `[${values.map((value) => JSON.stringify(value)).join(comma)}]`;
    const members = [
      `"format":"${format}"`,
      `"server":"${server}"`,
      `"record":${JSON.stringify(now)}`,
      `"versions":${list(versions, ',')}`,
      `"entries":${list(entries, ',\n')}`,
      `"chain":{"before":"${chain.before}","frames":${list(chain.frames, ',\n')}}`,
      `"head":${JSON.stringify(head)}`,
    ];
    expect(whole === `{${members.join(',\n')}}\n`).toBe(true);
    expect(JSON.stringify(chain).length).toBeGreaterThan(4 * 64 * 99);
    expect([now.data.custom.n, versions.length]).toEqual([VERSIONS - 1, VERSIONS]);
    expect(checkInPage(whole, by)).toMatchObject({ code: 0, said: expect.stringMatching(/^Proven: /) });
  });

  test('has one version in memory at a time', () => {
    const decode = vi.spyOn(entryCodec, 'decode');
    try {
      const steps = storyOf(realDisk, directory, name);
      steps.next();
      const before = decode.mock.calls.length;
      for (const count of [1, 2]) {
        while (!steps.next().value!.includes(pad)) {}
        expect(decode.mock.calls.length - before).toBeLessThan(10 * count);
      }
      steps.return(undefined);
    } finally {
      decode.mockRestore();
    }
  });

  test('goes to a new file as to standard output', async () => {
    const out = join(freshDirectory(), 'story.json');
    const ran = await ayni('export', directory, 'wallet', 'long', '--out', out);
    expect([ran.code, ran.out, ran.err]).toEqual([0, '', '']);
    const printed = await ayniProcess('export', directory, 'wallet', 'long');
    const [written, said] = [readFileSync(out, 'utf8'), printed.out].map((text) => text.split('"head":')[0]);
    expect(written === said && written!.length > 20 * longest).toBe(true);
  });

  test('that comes to an end in the chain leaves no file, and no whole text', async () => {
    const damaged = freshDirectory();
    cpSync(directory, damaged, { recursive: true });
    const segments = filesIn(damaged, /^journal/);
    expect(segments.length).toBeGreaterThan(2);
    // Books are read from the snapshot at their end on.
    const path = join(damaged, segments[1]!);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(path, bytes);
    const out = join(freshDirectory(), 'story.json');
    const ran = await ayni('export', damaged, 'wallet', 'long', '--out', out);
    expect([ran.code, ran.out, existsSync(out)], ran.err).toEqual([1, '', false]);
    const printed = await ayniProcess('export', damaged, 'wallet', 'long');
    expect([printed.code, printed.err]).toEqual([1, ran.err]);
    expect(printed.out.length).toBeGreaterThan(20 * longest);
    expect(() => JSON.parse(printed.out)).toThrow();
  });
});

test.each([
  ['0.1.0', 'bb7fcab49aa1f6f7e4a312a0964734bb6ded80c35e8a7c705eea80cc5dc6e1c4'],
  ['0.5.0', '22339537c985cc9f903628209d677fdeede2a4a45770dfb691ad97ffedaed700'],
  ['0.6.0', 'e75e22be1600c94a17b54eb192f151dae68ec5930a6574b900f553e607b97a97'],
])('a story from the books of %s is the same to the last byte as earlier builds wrote it', (release, digest) => {
  const books = freshDirectory();
  cpSync(join(process.cwd(), 'test', 'golden', release, 'books'), books, { recursive: true });
  // The end is signed with the moment of the end then.
  const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
  try {
    const all = createHash('sha256');
    for (const [kind, id, ledger] of GOLDEN) all.update(storyText(books, { ledger, kind, id }));
    expect(all.digest('hex')).toBe(digest);
  } finally {
    clock.mockRestore();
  }
});

/** A few of the records there. */
const GOLDEN: [kind: Kind, id: string, ledger: string][] = [
  [Kind.wallet, 'golden', 'labelled'],
  [Kind.intent, 'through-bank', 'main'],
  [Kind.intent, 'passed-on', 'main'],
];

describe('the command', () => {
  test('writes to standard output, or to a new file, changing nothing', async () => {
    const files = () => filesIn(whole, /./).map((name) => [name, readFileSync(join(whole, name), 'base64')]);
    const before = files();
    const printed = await ayniProcess('export', whole, 'wallet', 'ana');
    expect([printed.code, printed.err]).toEqual([0, '']);
    expect(JSON.parse(printed.out).record).toEqual(answers.get('wallets ana'));
    const out = join(freshDirectory(), 'story.json');
    expect((await ayni('export', whole, 'wallets', 'ana', '--ledger', 'main', '--out', out)).code).toBe(0);
    expect(JSON.parse(readFileSync(out, 'utf8')).record).toEqual(answers.get('wallets ana'));
    const again = await ayni('export', whole, 'wallets', 'luz', '--out', out);
    expect([again.code, again.err]).toEqual([1, expect.stringMatching(/^ayni: .+ exists already\n$/)]);
    expect(files()).toEqual(before);
  });

  test.each<[string, () => string[], number, RegExp]>([
    ['no such record', () => [whole, 'wallet', 'nobody'], 1, /ledger main has no wallet nobody/],
    ['no such kind', () => [whole, 'account', 'ana'], 2, /there is no kind account/],
    ['too little', () => [whole, 'wallet'], 2, /a directory, a kind, and a handle or luid/],
    ['no key', () => [copyWithoutKey(whole), 'wallet', 'ana'], 1, /holds no server\.key/],
    ['no books', () => [freshDirectory(), 'wallet', 'ana'], 1, /holds no server\.key/],
  ])('%s', async (_name, args, code, what) => {
    const ran = await ayni('export', ...args());
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toMatch(what);
  });
});

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
      ['a status that another one followed', meta(moody, () => ({ status: 'verified' }))],
      ['a status that none is', meta(moody, () => ({ status: 'Not a status' }))],
      ['a label that stands elsewhere in it', meta(moody, () => ({ labels: ['moody'] }))],
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

  test('it is short, and needs nothing but Python', () => {
    const lines = readFileSync(CHECKER, 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(170);
    const without = spawnSync('python3', ['-I', '-S', CHECKER], { encoding: 'utf8' });
    expect([without.status, without.stderr.includes('Checks a story')]).toEqual([1, true]);
  });
});
