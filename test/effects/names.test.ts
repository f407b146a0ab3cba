/**
 * Names and a name server that is silent: under a clock turned by hand, questions are asked and answered as told.
 */
import { describe, expect, test } from 'vitest';
import { type Found, Names, type Resolve } from '../../src/effects/names.ts';
import { Clock } from './clock.ts';

const SILENT_MS = 10_000;
const address = (text: string) => [{ address: text, family: 4 }];
const failed = (code: string) => Object.assign(new Error('secret'), { code });

/** A name server with `answers` by name, at once; other names take ten seconds to be unknown. */
function makeWorld(answers: Map<string, string | Error>) {
  const clock = new Clock();
  const asked: string[] = [];
  const heard: string[] = [];
  const names = new Names((name, done) => {
    asked.push(name);
    const answer = answers.get(name);
    if (answer === undefined) clock.after(SILENT_MS, () => done(failed('EAI_AGAIN'), []));
    else if (answer instanceof Error) done(answer, []);
    else done(null, address(answer));
  }, clock);
  const found =
    (name: string): Found =>
    (error, addresses) =>
      heard.push(`${clock.now()} ${name} ${error?.code ?? addresses.map((one) => one.address)}`);
  const find = (...all: string[]) => {
    for (const name of all) names.find(name, found(name));
  };
  return { clock, asked, heard, find };
}

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
      names.find(name, (_, addresses) => {
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
