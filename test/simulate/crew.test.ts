/** Lives that hang, crash, or outlast their time hold up nobody, and none of them goes untold. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { slow } from '../support/slow.ts';
import { Crew, type Report } from './crew.ts';
import { Loop } from './loop.ts';

const script = fileURLToPath(new URL('./hanging.js', import.meta.url));

async function live(
  seeds: Iterable<number>,
  secondsMax: number | (() => number),
  lifeSecondsMax: number,
  failuresMax = 10,
  program = script,
) {
  const reports: Report<number>[] = [];
  const crew = new Crew<number>({
    script: program,
    args: [],
    workers: 2,
    seeds: seeds[Symbol.iterator](),
    get secondsMax() {
      return typeof secondsMax === 'number' ? secondsMax : secondsMax();
    },
    lifeSecondsMax,
    failuresMax,
    graceSeconds: 0.5,
    tell: (report) => reports.push(report),
  });
  await crew.run();
  const failures = reports.filter(({ result }) => result === null);
  return {
    lived: reports.map(({ seed }) => seed).sort((one, other) => one - other),
    failed: Object.fromEntries(failures.map(({ seed, failure }) => [seed, failure.split('\n')[0]])),
    brokenOff: crew.brokenOff,
  };
}

function* forever(seed: number): Generator<number> {
  for (;;) yield seed;
}

describe('a crew', () => {
  slow('lives each seed once, and tells of those that fail, crash or hang', async () => {
    const { lived, failed } = await live([10, 11, 12, 13, 14, 15, 16, 17], 1000, 3);
    expect(lived).toEqual([10, 11, 12, 13, 14, 15, 16, 17]);
    expect(failed).toEqual({
      11: 'Error: as it should',
      12: 'ended by 7',
      13: 'the life has not ended after 3 s',
      14: 'the life has not ended after 3 s',
    });
  });

  test('breaks off what outlasts the time, and says which seeds', async () => {
    // The time is over once both have begun, however long a machine takes to start two processes.
    let begun = 0;
    function* seeds(): Generator<number> {
      for (const seed of [3, 4, 5]) {
        begun++;
        yield seed;
      }
    }
    const { lived, brokenOff } = await live(seeds(), () => (begun < 2 ? 1000 : 0), 1000);
    expect(lived).toEqual([]);
    expect(brokenOff.sort()).toEqual([3, 4]);
  });

  test('begins nothing once the time is over', async () => {
    const { lived, brokenOff } = await live(forever(5), 0, 1000);
    expect([lived, brokenOff]).toEqual([[], []]);
  });

  test('says so where its workers do not start', async () => {
    await expect(live([5], 1000, 1000, 10, 'no-such-script.js')).rejects.toThrow('a worker does not start');
  });

  test('begins nothing once enough have failed', async () => {
    const { lived } = await live(forever(1), 1000, 1000, 3);
    expect(lived.length).toBeGreaterThanOrEqual(3);
    expect(lived.length).toBeLessThan(6);
  });
});

test('a life in which ever more happens is ended', async () => {
  const loop = new Loop();
  const again = () => loop.after(1, again);
  const story = () => {
    again();
    return new Promise<void>(() => {});
  };
  await expect(loop.run(story)).rejects.toThrow('a life does not end');
});

test('who stands still does what was due in its order later, while others go on', async () => {
  const loop = new Loop();
  const [still, other] = ['still', 'other'].map((name) => ({ name, isGone: false }));
  const done: string[] = [];
  const note = (ms: number, owner: typeof still) =>
    loop.after(ms, () => done.push(`${loop.owner.name} ${ms} at ${loop.now}`), owner);
  const story = async () => {
    for (const ms of [1, 3, 2]) note(ms, still);
    for (const ms of [2, 12]) note(ms, other);
    loop.hold(still!, 10);
    await loop.sleep(20);
  };
  await loop.run(story);
  expect(done).toEqual(['other 2 at 2', 'still 1 at 10', 'still 2 at 10', 'still 3 at 10', 'other 12 at 12']);
});
