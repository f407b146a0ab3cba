/**
 * The audit against every kind of damage: each file of the books, each part that may be missing or cut.
 */

import { copyFileSync, mkdirSync, readFileSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findingText } from '../../src/cli/audit/finding.ts';
import { loadSnapshot } from '../../src/cli/audit/snapshots.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { type Disk, type DiskFile, realDisk } from '../../src/storage/disk.ts';
import { FORMAT_VERSION, readSegmentHeader, writeSegmentHeader } from '../../src/storage/format.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { SNAPSHOT_HEADER_BYTES, snapshotName } from '../../src/storage/snapshot-format.ts';
import type { Json } from '../support/client.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { flip } from '../support/flip.ts';
import { againWith, isLong, often, SHARE } from '../support/long.ts';
import {
  ayni,
  copyOf,
  copyWithoutKey,
  filesIn,
  fresh,
  keyIn,
  look,
  plainBooks,
  prunedBooks,
  reportOf,
  rewritten,
} from './books.ts';

const BOOKS = /^(journal|snapshot|part)-/;
const plain = await plainBooks();
const pruned = await prunedBooks();

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

test('a snapshot that changes while it is read is damaged: nobody has lied', () => {
  const [name] = filesIn(pruned, /^snapshot/);
  let times = 0;
  const open: Disk['open'] = (path, mode) => {
    const file = realDisk.open(path, mode);
    const read: DiskFile['read'] = (bytes, from, to, position) => {
      const count = file.read(bytes, from, to, position);
      // Its first part: once for the hash over all, once more for its turn.
      if (position === SNAPSHOT_HEADER_BYTES && ++times === 2) bytes[from]! ^= 1;
      return count;
    };
    return { ...file, read };
  };
  const what = expect.stringContaining('while it was read');
  const finding = expect.objectContaining({ kind: 'damage', what });
  expect(() => loadSnapshot({ ...realDisk, open }, pruned, name!, () => true)).toThrow(
    expect.objectContaining({ finding }),
  );
});

test.runIf(isLong)('a part that is longer than can be read or hashed at once', async () => {
  const directory = copyOf(pruned);
  const file = join(directory, 'part-x-0123456789abcdef.ayp');
  writeFileSync(file, '');
  truncateSync(file, 2 ** 31 + 1);
  const what = 'its 2147483649 bytes have another hash than its name';
  expect((await look(directory)).finding).toMatchObject({ kind: 'damage', file, what });
});

test('the version that a header gives, which nobody signs, with its CRC made right', async () => {
  const stating = (directory: string, version: number) => {
    const path = join(directory, filesIn(directory, /^journal/)[0]!);
    const bytes = readFileSync(path);
    const { firstSeq, chain } = readSegmentHeader(bytes, 0, bytes.length)!;
    writeSegmentHeader(bytes, firstSeq, chain, version);
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

describe('a snapshot that is not whole, where the rest leads past it', () => {
  const IN_PART = 200;
  /** That is seen without reading it all. */
  const IN_FOOT = -1;
  const IN_LAST_FRAME = -60;

  test.each([0, 1])('is told, and the audit goes on to the end: it had read no frame (%i)', async (index) => {
    const directory = copyOf(pruned);
    const snapshots = filesIn(directory, /^snapshot/);
    const [file, other] = [snapshots[index]!, snapshots[1 - index]!].map((name) => join(directory, name));
    flip(file!, IN_PART);
    const whole = await look(pruned);
    const { finding, findings, toEnd, seq, chain, frames, snapshots: compared, counts } = await look(directory);
    expect([finding, findings.length, toEnd]).toEqual([expect.objectContaining({ kind: 'damage', file }), 1, true]);
    expect({ seq, chain, frames, counts }).toEqual({
      seq: whole.seq,
      chain: whole.chain,
      frames: whole.frames,
      counts: whole.counts,
    });
    expect(compared).toBe(1);
    const told = await ayni('verify', directory);
    expect([told.code, told.out]).toEqual([1, expect.stringMatching(/\nDAMAGE: .*\nNothing else wrong up to entry/)]);
    // What comes after it is found as well.
    const journal = join(directory, filesIn(directory, /^journal/).at(-1)!);
    flip(journal, IN_LAST_FRAME);
    const json = reportOf(await ayni('verify', directory, '--json'));
    expect(json.findings.map((one: Json) => one.file)).toEqual([file, journal]);
    expect([json.ok, json.toEnd, json.finding.file]).toEqual([false, false, file]);
    flip(journal, IN_LAST_FRAME);
    // Without it nothing leads there: both are told, and that entries are missing.
    flip(other!, IN_PART);
    expect((await look(directory)).findings.map(({ what }) => what)).toEqual([
      expect.stringContaining('its part'),
      expect.stringContaining('its part'),
      expect.stringContaining('neither a segment nor a snapshot holds them'),
    ]);
  });

  test('is not the one that the key is taken from', async () => {
    const directory = copyWithoutKey(pruned);
    const [older] = filesIn(directory, /^snapshot/);
    flip(join(directory, older!), IN_PART);
    const { findings, toEnd, key } = await look(directory);
    expect([findings.length, toEnd, key.source]).toEqual([1, true, expect.stringContaining('the books themselves')]);
  });

  test('is told by those who show the books, and marked by inspect where its foot tells', async () => {
    const directory = copyOf(pruned);
    const newest = filesIn(directory, /^snapshot/).at(-1)!;
    flip(join(directory, newest), IN_FOOT);
    for (const args of [
      ['balances', directory, '--json'],
      ['statement', directory, '--all', '--csv'],
      ['export', directory, 'signer', 'system'],
    ]) {
      const { code, err } = await ayni(...args);
      expect([code, err], args[0]).toEqual([0, expect.stringContaining(`ayni: Snapshot ${newest} is not used: it is`)]);
    }
    const { code, out } = await ayni('inspect', directory);
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`${newest} .*: NOT WHOLE, a start passes it over: it is`));
    expect(out).toMatch(/^snapshot-.*: a start begins here/m);
    const before = await ayni('inspect', pruned);
    expect([before.code, before.out.includes('NOT WHOLE')]).toEqual([0, false]);
  });
});

test('a first segment that is gone is told by a copy as by an audit: which file, and up to which entry', async () => {
  const directory = copyOf(pruned);
  const [first, second] = filesIn(directory, /^journal/);
  unlinkSync(join(directory, first!));
  const { finding } = await look(directory);
  expect(finding).toMatchObject({
    file: join(directory, second!),
    byte: 0,
    // The newest snapshot holds them: a start begins there.
    what: expect.stringMatching(
      /^entries up to \d+ are missing: no segment goes on where snapshot-\d+\.ays, the oldest/,
    ),
  });
  const copy = fresh();
  const { code, out } = await ayni('backup', directory, copy);
  expect([code, out]).toEqual([1, expect.stringContaining(findingText({ ...finding!, file: join(copy, second!) }))]);
});

test('a snapshot of other books, older than the journal, is what a copy is told to have, and not that entries are missing', async () => {
  const directory = copyOf(pruned);
  const others = fresh();
  mkdirSync(others);
  const key = keyPairFromSecret(Buffer.alloc(32, 9));
  const content = { seq: 1, chain: new Uint8Array(32), moment: 0, extra: new Uint8Array(1), parts: [] };
  await takeSnapshot(realDisk, others, content, { sign: (hash) => sign(hash, key), verify: verifyBy(key.public) });
  const name = snapshotName(1);
  copyFileSync(join(others, name), join(directory, name));
  const { code, out } = await ayni('backup', directory, fresh());
  expect([code, out]).toEqual([1, expect.stringMatching(new RegExp(`LIE: .*${name}, .*not signed by this server`))]);
});
