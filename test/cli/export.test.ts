/** The story of a record: what the server shows of it, and nothing of anybody else. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { storyOf } from '../../src/cli/export.ts';
import { Kind } from '../../src/core/kinds.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { connect, type Json, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { issue, makeKit, until } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { checkInPage, storyText } from '../support/stories.ts';
import { ayni, ayniProcess, copyWithoutKey, filesIn } from './books.ts';
import { RECORDS, storyBooks } from './story-books.ts';

const { answers, crowd, droppedLuid, shared, story, whole } = await storyBooks();

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
    const { entries, chain, record: own } = JSON.parse(shared);
    const raw = (item: Json) =>
      typeof item === 'string' ? Buffer.from(item, 'base64') : Buffer.from(item.head, 'hex');
    const hidden = Buffer.concat([
      ...chain.frames.map(raw),
      ...entries.map(({ bytes }: Json) => Buffer.from(bytes, 'base64')),
    ]);
    const others = crowd.filter((handle) => handle !== own.data.handle);
    // Short ones as they stand in data: three letters may come up in signatures.
    for (const word of [...others, '"luz"', '"usd"', 'another tenant', 'elsewhere']) {
      expect(shared).not.toContain(word);
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
    const pieces = [...storyOf(directory, name)];
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
      const steps = storyOf(directory, name);
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
    flip(path, statSync(path).size >> 1);
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
    ['no books', () => [freshDirectory(), 'wallet', 'ana'], 1, /holds no books/],
    ['no directory', () => [join(freshDirectory(), 'x'), 'wallet', 'ana'], 1, /there is no directory .*x\n/],
  ])('%s', async (_name, args, code, what) => {
    const ran = await ayni('export', ...args());
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toMatch(what);
  });
});
