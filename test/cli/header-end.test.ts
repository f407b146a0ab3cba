/**
 * Books whose journal is a snapshot and the header of a segment behind it: the segment before, which the disk had changed, was
 * moved away. All there is was signed with the snapshot.
 */
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { dumpState } from '../../src/core/dump.ts';
import { isoMoment } from '../../src/core/proofs.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { readBooks } from '../../src/recovery.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { FORMAT_VERSION, SEGMENT_HEADER_BYTES, segmentName, writeSegmentHeader } from '../../src/storage/format.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { packValue } from '../../src/storage/values.ts';
import { ayni, filesIn, fresh, keyIn, plainBooks, reportOf } from './books.ts';

let [directory, seq, moment, chain] = ['', 0, '', ''];

beforeAll(async () => {
  directory = await plainBooks();
  const key = keyIn(directory);
  const verify = verifyBy(key.public);
  const { state, end } = readBooks({ disk: realDisk, directory, verify, hashSeed: 1 });
  const { extra, parts } = dumpState(state);
  const content = { seq: end.seq, chain: end.chain, moment: end.moment, extra: packValue(extra), parts };
  await takeSnapshot(realDisk, directory, content, { sign: (hash) => sign(hash, key), verify });
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  writeSegmentHeader(header, end.seq + 1, end.chain, FORMAT_VERSION);
  for (const name of filesIn(directory, /^journal/)) unlinkSync(join(directory, name));
  writeFileSync(join(directory, segmentName(end.seq + 1)), header);
  [seq, moment, chain] = [end.seq, isoMoment(end.moment), Buffer.from(end.chain).toString('hex')];
});

describe('of a journal that is a header alone', () => {
  test('the audit says what it has proven: it said that nothing was wrong up to entry 0', async () => {
    const { out, code } = await ayni('verify', directory);
    expect(out).toContain(`Nothing wrong up to entry ${seq}, chain ${chain}, in`);
    expect(code).toBe(0);
  });

  test('a copy says when its last entry was written: it said 1970', async () => {
    const { out } = await ayni('backup', directory, fresh());
    expect(out).toContain(`It holds entries 1 to ${seq}, the last written ${moment}, chain ${chain}.`);
  });

  test('the plan says no moment that nobody knows: it said 1970', async () => {
    const { out } = await ayni('inspect', directory);
    expect(out).toContain(`Last entry ${seq}.\n`);
  });

  test('another chain than the snapshot was taken at is a lie', async () => {
    const path = join(directory, segmentName(seq + 1));
    const header = readFileSync(path);
    const other = Buffer.alloc(SEGMENT_HEADER_BYTES);
    writeSegmentHeader(other, seq + 1, new Uint8Array(32).fill(7), FORMAT_VERSION);
    writeFileSync(path, other);
    const { finding } = reportOf(await ayni('verify', directory, '--json'));
    writeFileSync(path, header);
    expect(finding).toMatchObject({ kind: 'lie', seq });
  });
});
