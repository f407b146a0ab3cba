/**
 * Names and a name server that is silent: under a clock turned by hand, questions are asked and answered as told.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type Found, Names, type Resolve } from '../../src/effects/names.ts';
import { Clock } from './clock.ts';

const SILENT_MS = 10_000;
const SLOW_MS = 900;
const BRIEF_MS = 300;
const address = (text: string) => [{ address: text, family: 4 }];
const failed = (code: string) => Object.assign(new Error('secret'), { code });

/** A name server with `answers` by name, at once; `slow…` takes 0.9 seconds, `brief…` 0.3, others ten to be unknown. */
function makeWorld(answers: Map<string, string | Error>) {
  const clock = new Clock();
  const asked: string[] = [];
  const heard: string[] = [];
  const names = new Names((name, done) => {
    asked.push(name);
    const answer = answers.get(name);
    if (name.startsWith('slow')) clock.after(SLOW_MS, () => done(null, address('10.0.0.9')));
    else if (name.startsWith('brief')) clock.after(BRIEF_MS, () => done(null, address('10.0.0.3')));
    else if (answer === undefined) clock.after(SILENT_MS, () => done(failed('EAI_AGAIN'), []));
    else if (answer instanceof Error) done(answer, []);
    else done(null, address(answer));
  }, clock);
  const found =
    (name: string): Found =>
    (error, addresses) =>
      heard.push(`${clock.now()} ${name} ${error?.code ?? addresses.map((one) => one.address)}`);
  const findFor = (party: string, all: readonly string[], until?: AbortSignal) => {
    for (const name of all) {
      names.find(name, { party, signal: until ?? new AbortController().signal }, found(name));
    }
  };
  const find = (...all: string[]) => findFor('ana', all);
  return { clock, asked, heard, find, findFor, names };
}

const manyOf = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word}${n}`);

describe('of parties that ask for names', () => {
  test('one with hundreds that take 0.9 seconds, again and again, holds up no new name of another: it was never asked for', async () => {
    const { clock, heard, find, findFor } = makeWorld(new Map([['bank', '10.0.0.1']]));
    const names = manyOf('slow', 300);
    findFor('eve', names);
    for (let second = 0; second < 60; second++) {
      await clock.run(1000);
      findFor('eve', names);
    }
    find('bank');
    await clock.run(SLOW_MS);
    expect(heard).toContainEqual(expect.stringMatching(/^\d+ bank 10\.0\.0\.1$/));
  });

  test('twenty with names that take 0.9 seconds hold up a new name of another by one of them, not by all', async () => {
    const { clock, heard, find, findFor } = makeWorld(new Map([['bank', '10.0.0.1']]));
    for (const eve of manyOf('eve', 20)) findFor(eve, manyOf(`slow-${eve}-`, 20));
    await clock.run(50_500);
    find('bank');
    await clock.run(SLOW_MS);
    expect(heard).toContainEqual(expect.stringMatching(/^\d+ bank 10\.0\.0\.1$/));
  });

  test('two with ever new names that nobody answers for hold up no other, once they have shown it', async () => {
    const { clock, heard, find, findFor } = makeWorld(new Map([['bank', '10.0.0.1']]));
    for (const eve of ['eve', 'adam']) findFor(eve, manyOf(`dead-${eve}-`, 300));
    await clock.run(SILENT_MS / 2);
    find('bank');
    await clock.run(SILENT_MS / 2);
    expect(heard).toContain('10000 bank 10.0.0.1');
    await clock.run(3.5 * SILENT_MS);
    for (const eve of ['eve', 'adam']) findFor(eve, manyOf(`new-${eve}-`, 300));
    find('bank');
    expect(heard.at(-1)).toMatch(/ bank 10\.0\.0\.1$/);
  });

  test('five of one name each that takes 0.9 seconds have their turns alike: two or three of them took all', async () => {
    const { clock, asked, names } = makeWorld(new Map());
    const all = manyOf('slow', 5);
    const ask = (name: string): void => {
      const asking = { party: `of ${name}`, signal: new AbortController().signal };
      names.find(name, asking, () => clock.after(10, () => ask(name)));
    };
    for (const name of all) ask(name);
    await clock.run(100 * SLOW_MS);
    for (const name of all) {
      expect(Math.abs(asked.filter((one) => one === name).length - 40), name).toBeLessThanOrEqual(2);
    }
  });

  test('three have as much time each, not as many turns', async () => {
    const { clock, asked, findFor } = makeWorld(new Map());
    for (const word of ['slow-eve', 'slow-adam', 'brief-ana']) findFor(word, manyOf(word, 100));
    await clock.run(30 * SLOW_MS);
    const times = (word: string) => asked.filter((name) => name.startsWith(word)).length;
    expect(Math.abs(times('slow-eve') - 20)).toBeLessThanOrEqual(2);
    expect(Math.abs(times('slow-adam') - 20)).toBeLessThanOrEqual(2);
    expect(Math.abs(times('brief-ana') - 60)).toBeLessThanOrEqual(3);
  });

  test('two that are new have no credit for the time before they came', async () => {
    const { clock, asked, findFor } = makeWorld(new Map());
    for (const word of ['slow-eve', 'slow-adam']) findFor(word, manyOf(word, 100));
    await clock.run(20 * SLOW_MS);
    const before = asked.length;
    for (const word of ['slow-ana', 'slow-luz']) findFor(word, manyOf(word, 100));
    await clock.run(20 * SLOW_MS);
    for (const word of ['slow-eve', 'slow-adam', 'slow-ana', 'slow-luz']) {
      const times = asked.slice(before).filter((name) => name.startsWith(word)).length;
      expect(Math.abs(times - 10), word).toBeLessThanOrEqual(2);
    }
  });

  test('one with nobody beside it has both places', () => {
    const { asked, find } = makeWorld(new Map());
    find('dead1', 'dead2', 'dead3');
    expect(asked).toEqual(['dead1', 'dead2']);
  });

  test('several ask for one name: it is asked for once, when the first of them has his turn', async () => {
    const { clock, asked, heard, find, findFor } = makeWorld(new Map([['bank', '10.0.0.1']]));
    findFor('eve', [...manyOf('slow', 10), 'bank']);
    find('bank');
    findFor('eve', ['bank']);
    await clock.run(20_000);
    expect(asked.filter((name) => name === 'bank')).toHaveLength(1);
    expect(heard.filter((line) => line.includes('bank'))).toEqual(Array(3).fill('900 bank 10.0.0.1'));
  });
});

describe('a question that is called off', () => {
  test('is not asked any more, and what others wait for is', async () => {
    const { clock, asked, heard, find, findFor } = makeWorld(new Map());
    const off = new AbortController();
    findFor('ana', ['slow1', 'slow2', 'slow3', 'slow4'], off.signal);
    find('slow4');
    off.abort();
    findFor('ana', ['slow5'], off.signal);
    await clock.run(10 * SLOW_MS);
    expect(asked).toEqual(['slow1', 'slow2', 'slow4']);
    expect(heard).toEqual(['1800 slow4 10.0.0.9']);
    expect(clock.pending).toBe(0);
  });

  test('leaves nothing at the signal once it is answered', async () => {
    const { clock, heard, findFor } = makeWorld(new Map());
    const { signal } = new AbortController();
    findFor('ana', ['slow1', 'slow1'], signal);
    await clock.run(SLOW_MS);
    expect([heard.length, getEventListeners(signal, 'abort')]).toEqual([2, []]);
  });
});

describe('names that nobody answers for', () => {
  test('are asked for one at a time, after all others, once they have shown it', async () => {
    const { clock, asked, heard, find } = makeWorld(new Map([['bank', '10.0.0.1']]));
    find('dead1', 'dead2');
    await clock.run(SILENT_MS);
    find('dead1', 'dead2', 'bank');
    expect(heard.at(-1)).toBe('10000 bank 10.0.0.1');
    expect(asked).toEqual(['dead1', 'dead2', 'dead1', 'bank']);
    await clock.run(2 * SILENT_MS);
    expect(asked.at(-1)).toBe('dead2');
    expect(heard.slice(-2)).toEqual(['11000 dead2 EAI_AGAIN', '20000 dead1 EAI_AGAIN']);
  });

  test('are waited for by no more than came within a second, and one more, however often they are asked for', async () => {
    const { clock, asked, heard, find } = makeWorld(new Map());
    find('dead1', 'dead2', 'new');
    await clock.run(1_000);
    // The system takes two at a time: a third would be timed while it waits for them.
    expect(asked).toEqual(['dead1', 'dead2']);
    find('new', 'dead1');
    expect(heard).toEqual(['1000 new EAI_AGAIN', '1000 dead1 EAI_AGAIN']);
    await clock.run(1_000);
    for (let n = 0; n < 50; n++) find('new');
    expect(heard.slice(2)).toEqual(Array(50).fill('2000 new EAI_AGAIN'));
    await clock.run(8_000);
    expect(asked).toEqual(['dead1', 'dead2', 'new']);
  });

  test('are waited for no longer by who stood in line when three of them had shown it', async () => {
    const { clock, heard, find } = makeWorld(new Map());
    find('dead1', 'dead2', 'dead3', 'dead4', 'dead5');
    await clock.run(2 * SILENT_MS - 1);
    expect(heard.join()).not.toContain('dead5');
    await clock.run(1);
    expect(heard).toContain('20000 dead5 EAI_AGAIN');
  });

  test('hold up no name of the same party that was quick the last time, once they have shown it', async () => {
    const { clock, asked, find } = makeWorld(new Map([['bank', '10.0.0.1']]));
    find('bank');
    find(...manyOf('dead', 6), 'bank');
    await clock.run(2 * SILENT_MS + 1);
    expect(asked).toEqual(['bank', ...manyOf('dead', 4), 'bank', 'dead4']);
  });

  test('are as others again once somebody does', async () => {
    const answers = new Map<string, string>();
    const { clock, asked, heard, find } = makeWorld(answers);
    find('dead1', 'dead2');
    await clock.run(SILENT_MS);
    find('dead1', 'dead2');
    answers.set('dead2', '10.0.0.2');
    await clock.run(SILENT_MS);
    expect([asked.at(-1), heard.at(-1)]).toEqual(['dead2', '20000 dead1 EAI_AGAIN']);
    find('dead1', 'dead2');
    expect([asked.slice(-2), heard.at(-1)]).toEqual([['dead1', 'dead2'], '20000 dead2 10.0.0.2']);
  });
});

describe('a name that was found before', () => {
  test('and is late now is called where it was', async () => {
    const answers = new Map([['bank', '10.0.0.1']]);
    const { clock, asked, heard, find } = makeWorld(answers);
    find('bank');
    answers.clear();
    find('bank', 'bank');
    await clock.run(999);
    expect(heard).toHaveLength(1);
    await clock.run(1);
    find('bank');
    expect(heard.slice(1)).toEqual(Array(3).fill('1000 bank 10.0.0.1'));
    await clock.run(SILENT_MS);
    expect([asked, heard.length]).toEqual([['bank', 'bank'], 4]);
  });

  test('and that nobody answers for, at once', () => {
    const answers = new Map<string, string | Error>([['bank', '10.0.0.1']]);
    const { heard, find } = makeWorld(answers);
    find('bank');
    answers.set('bank', failed('EAI_AGAIN'));
    find('bank');
    expect(heard).toEqual(['0 bank 10.0.0.1', '0 bank 10.0.0.1']);
  });

  test('and is gone is not', () => {
    const answers = new Map<string, string | Error>([['bank', '10.0.0.1']]);
    const { heard, find } = makeWorld(answers);
    find('bank');
    answers.set('bank', failed('ENOTFOUND'));
    find('bank');
    answers.set('bank', failed('EAI_AGAIN'));
    find('bank');
    expect(heard.slice(1)).toEqual(['0 bank ENOTFOUND', '0 bank EAI_AGAIN']);
  });

  test('and leads elsewhere now is called there', () => {
    const answers = new Map([['bank', '10.0.0.1']]);
    const { heard, find } = makeWorld(answers);
    find('bank');
    answers.set('bank', '10.0.0.2');
    find('bank');
    expect(heard.at(-1)).toBe('0 bank 10.0.0.2');
  });

  test('is remembered by how many addresses it has: one may have thousands', () => {
    const many = Array.from({ length: 3000 }, (_, n) => ({ address: `10.0.${n >> 8}.${n & 255}`, family: 4 }));
    let isSilent = false;
    const resolve: Resolve = (_, done) => (isSilent ? done(failed('EAI_AGAIN'), []) : done(null, many));
    const names = new Names(resolve, new Clock());
    const found = (name: string): number => {
      let count = -1;
      names.find(name, { party: 'ana', signal: new AbortController().signal }, (_, addresses) => {
        count = addresses.length;
      });
      return count;
    };
    const all = Array.from({ length: 10 }, (_, n) => `many${n}`);
    expect(all.map(found)).toEqual(all.map(() => 3000));
    isSilent = true;
    expect([found('many0'), found('many9')]).toEqual([0, 3000]);
  });
});
