/**
 * Every golden directory is opened, tells what it told, and is gone on with. So is one made now, which shows that the
 * check sees what it is there to see.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EntryType } from '../../src/core/entry.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { unpackValue } from '../../src/storage/values.ts';
import { filesIn } from '../cli/books.ts';
import { freshDirectory } from '../support/directory.ts';
import { SLOW } from '../support/slow.ts';
import { type Expected, faultsOf, writeGolden } from './golden.ts';

const home = join(process.cwd(), 'test', 'golden');
const kept = readdirSync(home).filter((name) => existsSync(join(home, name, 'expected.json')));

describe.skipIf(kept.length === 0)('books of a released version', SLOW, () => {
  test.each(kept)('%s: opened, the same, gone on with', async (name) => {
    expect(await faultsOf(join(home, name))).toEqual([]);
  });
});

describe('books of this version', () => {
  const golden = join(freshDirectory(), 'golden');
  const expectedAt = join(golden, 'expected.json');
  let whole = '';

  beforeAll(async () => {
    await writeGolden(golden);
    whole = readFileSync(expectedAt, 'utf8');
  });

  test('have every type of entry, a snapshot, and journal behind it', () => {
    const { entries, answers } = JSON.parse(whole) as Expected;
    expect(Object.keys(entries).sort()).toEqual(Object.keys(EntryType).sort());
    expect(answers.length).toBeGreaterThan(40);
    expect(filesIn(join(golden, 'books'), /^snapshot-.*ays$/)).toHaveLength(1);
    expect(filesIn(join(golden, 'books'), /^lock/)).toEqual([]);
  });

  test('have intents in every form that the format has for them', () => {
    const outcomes = new Set<string>();
    const keys = new Set<string>();
    const customs = new Set<string>();
    const threads = new Set<string>();
    const typeOf = (value: unknown) => (value === null ? 'nil' : typeof value);
    readJournal(realDisk, join(golden, 'books'), JOURNAL_START, {
      verifyFrame: () => true,
      onEntry({ type }, bytes, from, to) {
        if (type !== EntryType.intent) return;
        // src/storage/entry-bytes.ts names the elements.
        const elements = unpackValue(bytes.slice(from, to)) as unknown[];
        const [data, proofs, , thread, outcome] = elements.slice(6) as [
          string,
          unknown[][],
          unknown,
          unknown,
          unknown[],
        ];
        expect(data).toContain('"claims"');
        for (const [key, , custom] of proofs) {
          keys.add(typeOf(key));
          customs.add(typeOf(custom));
        }
        threads.add(typeOf(thread));
        outcomes.add(`${outcome.length}`);
      },
    });
    expect([...outcomes].sort()).toEqual(['2', '5', '6', '7']);
    expect([...keys].sort()).toEqual(['number', 'object']);
    expect([...customs].sort()).toEqual(['nil', 'number', 'string']);
    expect([...threads].sort()).toEqual(['nil', 'string']);
  });

  test('are opened, the same, gone on with', async () => {
    expect(await faultsOf(golden)).toEqual([]);
  });

  test('are not the same where anything is expected otherwise', async () => {
    const expected = JSON.parse(whole) as Expected;
    expected.seq++;
    expected.digests.entries = '00';
    expected.digests['a thing that is gone'] = '00';
    expected.answers[0]!.body.meta.status = 'other';
    expected.answers.at(-1)!.body.data = [];
    writeFileSync(expectedAt, JSON.stringify(expected));
    const faults = await faultsOf(golden);
    expect(faults).toEqual([
      expect.stringMatching(/^it holds \{"seq":/),
      'its state differs in entries',
      'its state differs in a thing that is gone',
      expect.stringMatching(/^without its snapshots, it holds/),
      'without its snapshots, its state differs in entries',
      'without its snapshots, its state differs in a thing that is gone',
      expect.stringMatching(/ differs at \.meta\.status$/),
      expect.stringMatching(/ differs at \.data$/),
      expect.stringMatching(/^after that .* differs at \.meta\.status$/),
    ]);
    writeFileSync(expectedAt, whole);
  });
});
