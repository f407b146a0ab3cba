/** Walks under a clock turned by hand: who goes on when, and how much of each turn of the event loop all of them take. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Walk, Walks } from '../../src/http/walks.ts';
import { turn, turns } from '../support/turns.ts';

let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => void vi.restoreAllMocks());

/** One that is over after so many milliseconds of looking, and says so in `ended`. */
function looking(name: string, ms: number, ended: string[], began: string[] = []): Walk {
  let left = ms;
  return (pause) => {
    expect(pause).toBeGreaterThan(now);
    if (left === ms) began.push(name);
    while (left > 0 && now < pause) {
      now++;
      left--;
    }
    if (left === 0) ended.push(name);
    return left === 0;
  };
}

async function turnsUntilQuiet(walks: Walks): Promise<number> {
  for (let turns = 0; ; turns++) {
    if (walks.waiting === 0) return turns;
    await turn();
  }
}

describe('walks', () => {
  test('that begin another one are over, and that one comes to its end too, whoever waits beside it', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    const beginning: Walk = (pause) => {
      now = pause;
      walks.begin(1, looking('begun by another', 5, ended));
      return true;
    };
    walks.begin(1, looking('first', 3, ended));
    walks.begin(1, beginning);
    walks.begin(1, looking('last', 3, ended));
    await turnsUntilQuiet(walks);
    expect(ended.toSorted()).toEqual(['begun by another', 'first', 'last']);
  });
  test('however many they are, take one slice of a turn together', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    for (let n = 0; n < 100; n++) walks.begin(n % 3, looking(`${n}`, 5, ended));
    expect(now).toBeLessThanOrEqual(2);
    for (let before = now; walks.waiting > 0; before = now) {
      await turn();
      expect(now - before).toBeGreaterThan(0);
      expect(now - before).toBeLessThanOrEqual(2);
    }
    expect(ended).toHaveLength(100);
  });

  test('that are short are over at once, as long as the turn has time for them', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    for (let n = 0; n < 10; n++) walks.begin(1, looking(`none ${n}`, 0, ended));
    for (let n = 0; n < 3; n++) walks.begin(1, looking(`${n}`, 1, ended));
    expect(ended).toHaveLength(12);
    await turn();
    expect(ended).toHaveLength(13);
    walks.begin(1, looking('later', 1, ended));
    expect(ended).toHaveLength(14);
    expect(walks.waiting).toBe(0);
  });

  test('of a ledger with a hundred long ones do not hold up another ledger', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    for (let n = 0; n < 100; n++) walks.begin(1, looking(`${n}`, 40, ended));
    walks.begin(2, looking('other', 6, ended));
    await turns(10);
    expect(ended).toEqual(['other']);
    await turnsUntilQuiet(walks);
    expect(ended).toHaveLength(101);
  });

  test('that are short do not wait for the long ones of their ledger, of which the first ends first', async () => {
    const walks = new Walks();
    const [ended, began]: string[][] = [[], []];
    for (const name of ['a', 'b', 'c']) walks.begin(1, looking(name, 20, ended!, began));
    for (let n = 0; n < 3; n++) walks.begin(1, looking(`short ${n}`, 1, ended!, began));
    await turns(12);
    expect(began!.slice(0, 3)).toEqual(['a', 'b', 'c']);
    expect(ended).toEqual(['short 0', 'short 1', 'short 2']);
    expect(await turnsUntilQuiet(walks)).toBeLessThan(40);
    expect(ended!.slice(3)).toEqual(['a', 'b', 'c']);
  });

  test('whose time is over are told so in one turn, though others take the whole of each', async () => {
    const walks = new Walks();
    const [ended, late]: string[][] = [[], []];
    const END = 1000;
    const inVain = (name: string): Walk => {
      return (pause) => {
        if (now > END) late!.push(name);
        else now = pause;
        return now > END;
      };
    };
    const names = Array.from({ length: 40 }, (_, n) => `in vain ${n}`);
    for (const name of names) walks.begin(1 + (names.indexOf(name) % 4), inVain(name), END);
    // All have begun but the last few.
    await turns(60);
    expect(late).toEqual([]);
    for (let n = 0; n < 40; n++) walks.begin(1 + (n % 4), looking(`patient ${n}`, 2, ended!));
    now = END + 1;
    await turn();
    expect(late!.toSorted()).toEqual(names.toSorted());
    expect(now).toBeLessThanOrEqual(END + 3);
    await turnsUntilQuiet(walks);
    expect(ended).toHaveLength(40);
  });

  test('whose time is over take no more than a slice of a turn to be told so', async () => {
    const walks = new Walks();
    let told = 0;
    const slow = (): Walk => () => {
      now++;
      return now > 1000 && ++told > 0;
    };
    for (let n = 0; n < 10; n++) walks.begin(1, slow(), 1000);
    now = 1001;
    await turn();
    expect(told).toBe(2);
    await turnsUntilQuiet(walks);
    expect(told).toBe(10);
  });

  test('that are over in time hear nothing of their end, and take no more turns', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    for (const name of ['short', 'long']) walks.begin(1, looking(name, 3, ended), 1000);
    await turnsUntilQuiet(walks);
    now = 1001;
    walks.begin(1, looking('later', 3, ended));
    await turnsUntilQuiet(walks);
    expect(ended).toEqual(['short', 'long', 'later']);
    await turn();
    const later = vi.spyOn(globalThis, 'setImmediate');
    await turns(3);
    // Those of the test itself.
    expect(later).toHaveBeenCalledTimes(3);
  });

  test('that are owed have every other slice of their ledger, and others theirs, whoever is many', async () => {
    for (const [owed, asked] of [
      [3, 100],
      [100, 3],
    ] as const) {
      const walks = new Walks();
      const ended: string[] = [];
      for (let n = 0; n < asked; n++) walks.begin(1, looking('asked', 2, ended));
      for (let n = 0; n < owed; n++) walks.begin(1, looking('owed', 2, ended), undefined, 'owed');
      await turns(10);
      const few = owed < asked ? 'owed' : 'asked';
      expect(ended.filter((name) => name === few)).toHaveLength(3);
      await turnsUntilQuiet(walks);
      expect(ended).toHaveLength(103);
    }
  });

  test('of answers that are made do not stand behind all who ask, and what is owed does not stand behind them', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    for (let n = 0; n < 10; n++) walks.begin(1, looking('asked', 20, ended));
    for (let n = 0; n < 3; n++) walks.begin(1, looking('made', 20, ended), undefined, 'made');
    await turns(20);
    expect(ended).toEqual(['made']);
    walks.begin(1, looking('owed', 2, ended), undefined, 'owed');
    await turns(2);
    expect(ended).toEqual(['made', 'owed']);
    // One that is long goes on as they do.
    walks.begin(1, looking('long and owed', 20, ended), undefined, 'owed');
    await turns(60);
    expect(ended.filter((name) => name !== 'asked')).toEqual(['made', 'owed', 'made', 'made', 'long and owed']);
    await turnsUntilQuiet(walks);
    expect(ended).toHaveLength(15);
  });

  test('that are owed come between those who have begun and those who have not, each of whom have every other slice left', async () => {
    const walks = new Walks();
    const slices: string[] = [];
    const naming = (name: string, ms: number): Walk => {
      const walk = looking(name, ms, []);
      return (pause) => {
        slices.push(name);
        return walk(pause);
      };
    };
    walks.begin(1, naming('begun', 20));
    for (let n = 0; n < 3; n++) walks.begin(1, naming('fresh', 2));
    for (let n = 0; n < 6; n++) walks.begin(1, naming('owed', 2), undefined, 'owed');
    await turns(12);
    expect(slices.slice(1, 13)).toEqual([
      'owed',
      'fresh',
      'owed',
      'begun',
      'owed',
      'fresh',
      'owed',
      'begun',
      'owed',
      'fresh',
      'owed',
      'begun',
    ]);
    await turnsUntilQuiet(walks);
  });

  test.each(['made', 'fresh'] as const)(
    'that give up before their slice is over make way for those of their queue, who may have what they wait for: %s',
    async (standing) => {
      const walks = new Walks();
      const ended: string[] = [];
      // All have begun, and stand in one queue.
      walks.begin(1, looking('takes the slice', 2, ended));
      const waiting: Walk = () => {
        now += 0.5;
        if (!ended.includes('giving')) return false;
        ended.push('waiting');
        return true;
      };
      walks.begin(1, waiting, undefined, standing);
      walks.begin(1, looking('giving', 6, ended), undefined, standing);
      await turns(20);
      expect(ended).toEqual(['takes the slice', 'giving', 'waiting']);
      expect(walks.waiting).toBe(0);
    },
  );

  test('may begin others on their way', async () => {
    const walks = new Walks();
    const ended: string[] = [];
    walks.begin(1, () => {
      walks.begin(1, looking('within', 3, ended));
      return true;
    });
    await turnsUntilQuiet(walks);
    expect(ended).toEqual(['within']);
  });
});
