/** The bank's file under everything that happens to files: torn ends are cut, damage is named, nothing synced is lost. */
import { describe, expect, test } from 'vitest';
import { DamageError, Lines } from '../../src/bridge/lines.ts';
import { FakeDisk, randomFrom } from '../storage/fake-disk.ts';
import { slow } from '../support/slow.ts';
import { turn } from '../support/turns.ts';

interface Fact {
  number: number;
  text?: string;
}

const DIRECTORY = '/bank';
const FILE = '/bank/lines';

function makeDisk(seed = 1): FakeDisk {
  const disk = new FakeDisk(seed);
  disk.mkdir(DIRECTORY);
  return disk;
}

function open(disk: FakeDisk, failed: (error: Error) => void = () => {}) {
  const read: number[] = [];
  const take = ({ number }: Fact): number => read.push(number);
  const opened = Lines.open<Fact>(disk, DIRECTORY, 'lines', take, failed);
  return { ...opened, read };
}

/** A file of `count` lines of one fact each. */
async function written(count: number): Promise<FakeDisk> {
  const disk = makeDisk();
  const { lines } = open(disk);
  for (let number = 1; number <= count; number++) await lines.append({ number });
  await lines.close();
  return disk;
}

const linesOf = (disk: FakeDisk): string[] =>
  disk
    .bytesOf(FILE)
    .toString()
    .split(/(?<=\n)/);
const put = (disk: FakeDisk, lines: string[]): void => disk.put(FILE, Buffer.from(lines.join('')));

describe('writing', () => {
  test('what comes while the disk is busy goes into one line, and each waits for its own sync', async () => {
    const disk = makeDisk();
    const { lines } = open(disk);
    disk.holdSyncs();
    const done: number[] = [];
    for (const number of [1, 2, 3]) void lines.append({ number }).then(() => done.push(number));
    await turn();
    expect(done).toEqual([]);
    expect(linesOf(disk)).toHaveLength(1);
    disk.releaseSyncs();
    await lines.settled();
    expect(done).toEqual([1, 2, 3]);
    expect(linesOf(disk)).toHaveLength(2);
    expect(open(disk).read).toEqual([1, 2, 3]);
  });

  test('whoever looks while a sync is under way waits for it', async () => {
    const disk = makeDisk();
    const { lines } = open(disk);
    disk.holdSyncs();
    void lines.append({ number: 1 });
    let looked = false;
    const look = lines.settled().then(() => {
      looked = true;
    });
    await turn();
    expect(looked).toBe(false);
    disk.releaseSyncs();
    await look;
  });

  test.each(['sync', 'write'] as const)(
    'a %s that fails is final: nothing is written after it, all who wait are told',
    async (call) => {
      const disk = makeDisk();
      const errors: Error[] = [];
      const { lines } = open(disk, (error) => errors.push(error));
      await lines.append({ number: 1 });
      disk.inject({ call, code: 'EIO' });
      const all = await Promise.allSettled([lines.append({ number: 2 }), lines.append({ number: 3 })]);
      expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await expect(lines.append({ number: 4 })).rejects.toThrow('EIO');
      await expect(lines.settled()).rejects.toThrow('EIO');
      expect(errors).toHaveLength(1);
      expect(linesOf(disk).length).toBeLessThanOrEqual(2);
    },
  );

  test('a disk that takes a few bytes at a time', async () => {
    const disk = makeDisk();
    const { lines } = open(disk);
    disk.inject({ call: 'write', short: 7, times: 9 });
    await lines.append({ number: 1, text: 'a'.repeat(100) });
    await lines.append({ number: 2 });
    expect(open(disk).read).toEqual([1, 2]);
  });

  slow('a line that is written can be read, the longest too: it was cut for a torn end', async () => {
    const frame = JSON.stringify({ after: '00000000', facts: [{ number: 1, text: '' }], seq: 1 }).length;
    // Before the JSON stand nine bytes, behind it one.
    for (const [jsonBytes, read] of [
      [2 ** 26 - 10, [1]],
      [2 ** 26 - 9, []],
    ] as const) {
      const disk = makeDisk();
      const written = open(disk).lines.append({ number: 1, text: 'x'.repeat(jsonBytes - frame) });
      if (read.length === 0) await expect(written).rejects.toThrow('more than the bank reads again');
      await written.catch(() => {});
      expect(open(disk).read).toEqual(read);
    }
  });

  test('lines longer than what is read at once', async () => {
    const disk = makeDisk();
    const { lines } = open(disk);
    await lines.append({ number: 1, text: 'é'.repeat(900_000) });
    await lines.append({ number: 2, text: 'x'.repeat(3_000_000) });
    await lines.append({ number: 3 });
    expect(open(disk).read).toEqual([1, 2, 3]);
  });

  test('a disk that gives fewer bytes than it is asked for: behind them stand those that were read before', async () => {
    const disk = makeDisk();
    const { lines } = open(disk);
    for (const number of [1, 2, 3]) await lines.append({ number, text: 'x'.repeat(700_000) });
    disk.inject({ call: 'read', skip: 1, short: 1000 });
    expect(open(disk).read).toEqual([1, 2, 3]);
  });

  test('a disk that takes no byte any more', async () => {
    const disk = makeDisk();
    const failed: string[] = [];
    const { lines } = open(disk, ({ message }) => failed.push(message));
    disk.inject({ call: 'write', short: 0, times: 9 });
    await expect(lines.append({ number: 1 })).rejects.toThrow('the disk takes no more bytes');
    expect(failed).toHaveLength(1);
  });
});

// What was written after it lay in a file without a name, or behind a hole, and was acknowledged.
describe('others have changed the file under a bank that writes to it', () => {
  const resize = (disk: FakeDisk, by: number): void => {
    const file = disk.open(FILE, 'write');
    file.truncate(file.size() + by);
    file.close();
  };
  const changes: [string, (disk: FakeDisk) => void][] = [
    ['it was removed', (disk) => disk.put(FILE, null)],
    ['a copy was put in its place', (disk) => disk.put(FILE, disk.bytesOf(FILE))],
    ['it was cut', (disk) => resize(disk, -1)],
    ['it was made longer', (disk) => resize(disk, 1)],
  ];

  test.each(changes)('%s: nothing is acknowledged', async (_how, change) => {
    const disk = await written(3);
    const failures: Error[] = [];
    const { lines } = open(disk, (error) => failures.push(error));
    change(disk);
    await expect(lines.append({ number: 4 })).rejects.toThrow(/ENOENT|not as it was left/);
    expect(failures).toHaveLength(1);
  });

  test.each(changes)('%s while a line is synced: that is not acknowledged', async (_how, change) => {
    const disk = await written(3);
    const { lines } = open(disk);
    disk.holdSyncs();
    const appended = lines.append({ number: 4 });
    change(disk);
    disk.releaseSyncs();
    await expect(appended).rejects.toThrow(/ENOENT|not as it was left/);
  });
});

describe('reading', () => {
  test('an end torn at any byte is cut, and writing goes on there', async () => {
    const whole = await written(3);
    const bytes = whole.bytesOf(FILE);
    const third = linesOf(whole).slice(0, 2).join('').length;
    for (let size = third; size < bytes.length; size++) {
      const disk = makeDisk();
      disk.put(FILE, bytes.subarray(0, size));
      const { lines, read, cutBytes } = open(disk);
      expect([read, cutBytes]).toEqual([[1, 2], size - third]);
      await lines.append({ number: 4 });
      await lines.close();
      expect(open(disk).read).toEqual([1, 2, 4]);
    }
  });

  test('an end of zeros or noise, with line ends in it, is cut', async () => {
    for (const tail of ['\0'.repeat(600), 'x\n\ny\n', '00000000 {}\n']) {
      const disk = await written(2);
      put(disk, [...linesOf(disk), tail]);
      const { read, cutBytes } = open(disk);
      expect([read, cutBytes]).toEqual([[1, 2], tail.length]);
    }
  });

  test('an end that is longer than any line is damage: no one write can have left it', async () => {
    const disk = await written(2);
    const bytes = disk.bytesOf(FILE);
    disk.put(FILE, Buffer.concat([bytes, Buffer.alloc(2 ** 26 + 10)]));
    expect(() => open(disk)).toThrow(`/bank/lines: damaged from byte ${bytes.length} to its end`);
    expect(disk.bytesOf(FILE).length).toBe(bytes.length + 2 ** 26 + 10);
    disk.put(FILE, Buffer.concat([bytes, Buffer.alloc(2 ** 26 + 9)]));
    expect(open(disk).cutBytes).toBe(2 ** 26 + 9);
  });

  test('one bit turned anywhere before the last line is damage, named by byte', async () => {
    const disk = await written(3);
    const bytes = disk.bytesOf(FILE);
    const third = linesOf(disk).slice(0, 2).join('').length;
    for (let at = 0; at < third; at++) {
      const spoiled = Buffer.from(bytes);
      spoiled[at]! ^= 1;
      disk.put(FILE, spoiled);
      expect(() => open(disk), `byte ${at}`).toThrow(DamageError);
      expect(() => open(disk)).toThrow(/\/bank\/lines: .*byte \d+/);
      // Nothing is mended by looking.
      expect(disk.bytesOf(FILE).equals(spoiled)).toBe(true);
    }
  });

  test.each<[string, (lines: string[]) => string[]]>([
    ['missing', ([first, , third]) => [first!, third!]],
    ['missing at the beginning', ([, second, third]) => [second!, third!]],
    ['doubled', ([first, second, third]) => [first!, second!, second!, third!]],
    ['in another place', ([first, second, third]) => [second!, first!, third!]],
    ['doubled at the end', ([first, second, third]) => [first!, second!, third!, third!]],
    ['behind noise', ([first, second, third]) => [first!, second!, 'noise\n', third!]],
  ])('a line %s is damage', async (_, change) => {
    const disk = await written(3);
    put(disk, change(linesOf(disk)));
    expect(() => open(disk)).toThrow(DamageError);
  });

  test('a line of another file with the same number does not follow', async () => {
    const disk = await written(3);
    const other = makeDisk();
    const { lines } = open(other);
    for (const number of [7, 8, 9]) await lines.append({ number });
    put(disk, [...linesOf(disk).slice(0, 2), linesOf(other)[2]!]);
    expect(() => open(disk)).toThrow(DamageError);
  });
});

test('a line whose sync failed, and which a start has read, outlives a power cut', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const disk = makeDisk(seed);
    const { lines } = open(disk);
    await lines.append({ number: 1 });
    disk.inject({ call: 'sync', code: 'EIO' });
    await expect(lines.append({ number: 2, text: 'x'.repeat(1500) })).rejects.toThrow('EIO');
    disk.kill();
    const { read } = open(disk);
    expect(read).toEqual([1, 2]);
    disk.crash();
    expect(open(disk).read, `seed ${seed}`).toEqual([1, 2]);
  }
});

test('power cuts at any moment: all that was acknowledged is there, in order, and nothing else but the last line', async () => {
  let [kept, lost] = [0, 0];
  for (let seed = 1; seed <= 200; seed++) {
    const disk = makeDisk(seed);
    const random = randomFrom(seed + 1000);
    let acknowledged: number[] = [];
    let next = 1;
    for (let life = 0; life < 4; life++) {
      const { lines, read } = open(disk);
      acknowledged = read;
      for (let line = Math.floor(random() * 6); line > 0; line--) {
        const number = next++;
        await lines.append({ number, text: 'x'.repeat(Math.floor(random() * 1500)) });
        acknowledged.push(number);
      }
      disk.holdSyncs();
      const number = next++;
      void lines.append({ number, text: 'y'.repeat(Math.floor(random() * 1500)) });
      if (random() < 0.3) disk.kill();
      else disk.crash();
      await turn();
      disk.releaseSyncs();
      const found = open(disk).read;
      const isWhole = found.length > acknowledged.length;
      expect(found, `seed ${seed}`).toEqual(isWhole ? [...acknowledged, number] : acknowledged);
      if (isWhole) kept += 1;
      else lost += 1;
    }
  }
  expect(Math.min(kept, lost)).toBeGreaterThan(50);
});
