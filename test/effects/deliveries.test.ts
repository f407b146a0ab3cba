/** The list of an effect's deliveries: each event by its name, page after page, and what becomes of it. */
import { describe, expect, test } from 'vitest';
import type { Note } from '../../src/core/command.ts';
import { Kind } from '../../src/core/kinds.ts';
import type { DeliveryView } from '../../src/effects/index.ts';
import { issue, limit } from '../core/books.ts';
import { turn } from '../support/turns.ts';
import { Theatre } from './theatre.ts';
import { effect, wallets } from './told.ts';

/** The list of an effect's deliveries, at once. */
function deliveriesOf(
  theatre: Theatre,
  row: number,
  skip: number,
  max: number,
  order: 'newest' | 'oldest' = 'newest',
): DeliveryView[] {
  const steps = theatre.effects.deliveries(row, { skip, max, order });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** How often an entry was looked at from now on. */
function countLooks({ house }: Theatre): () => number {
  const { heap } = house.state;
  const [prev, offset] = [heap.prev.bind(heap), heap.offset.bind(heap)];
  let looks = 0;
  const counted = (look: (at: number) => number) => (at: number) => {
    looks++;
    return look(at);
  };
  Object.assign(heap, { prev: counted(prev), offset: counted(offset) });
  return () => looks;
}

describe('the list of deliveries', () => {
  /** An effect, in its row, that was told of so many credits of each intent. */
  async function toldOfCredits(credits: number, intents = 1): Promise<{ theatre: Theatre; row: number }> {
    const theatre = await Theatre.open();
    const { house } = theatre;
    await theatre.done(
      house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
      ...wallets(theatre, 'x', 'a'),
      effect(theatre, { signal: 'balance-received' }),
    );
    const claims = Array.from({ length: credits }, (_, n) => issue('a', n + 1));
    await theatre.done(...Array.from({ length: intents }, (_, n) => house.intent(`i${n}`, ...claims)));
    await theatre.run(5000);
    return { theatre, row: house.state.feeds.keys().next().value! };
  }

  test('names each event, also those of one large entry, page after page', async () => {
    const { theatre, row } = await toldOfCredits(30);
    const pages = [0, 10, 20].flatMap((skip) => deliveriesOf(theatre, row, skip, 10));
    const told = theatre.at('/hook').map(({ body }) => body.data.handle);
    expect(pages.map(({ event }) => event.handle)).toEqual(told.reverse());
    expect(new Set(pages.map(({ event }) => event.signal))).toEqual(new Set(['balance-received']));
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set(['delivered']));
    expect(deliveriesOf(theatre, row, 30, 10)).toEqual([]);
  });

  test('names what an intent limits by its own signal, the first too', async () => {
    const theatre = await Theatre.open();
    const { house } = theatre;
    await theatre.done(
      house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
      ...wallets(theatre, 'x', 'a'),
      effect(theatre, { signal: 'wallet-limited' }),
    );
    await theatre.done(house.intent('i', limit('a', 'minBalance', -5), limit('a', 'maxBalance', 5)));
    await theatre.run(1000);
    const [row] = house.state.feeds.keys();
    const signals = deliveriesOf(theatre, row!, 0, 10).map(({ event }) => event.signal);
    expect(signals).toEqual(['wallet-limited', 'wallet-limited']);
  });

  test('shows each once, also what the books have noted and the disk has not', async () => {
    const theatre = await Theatre.open();
    const { house, clock } = theatre;
    await theatre.done(effect(theatre, { signal: 'wallet-created' }));
    theatre.answer = () => {
      house.disk.holdSyncs();
      return 202;
    };
    await theatre.done(...wallets(theatre, 'x', 'a'));
    await clock.run(10);
    await turn();
    const [row] = house.state.feeds.keys();
    expect(theatre.at('/hook')).toHaveLength(1);
    expect(deliveriesOf(theatre, row!, 0, 10).map(({ status }) => status)).toEqual(['delivered']);
    house.disk.releaseSyncs();
  });

  test('goes the other way round, those on their way at its end, where the oldest are asked for', async () => {
    const { theatre, row } = await toldOfCredits(7);
    theatre.answer = () => 503;
    await theatre.done(theatre.house.intent('late', ...[8, 9, 10].map((amount) => issue('a', amount))));
    await theatre.run();
    const newest = deliveriesOf(theatre, row, 0, 100);
    expect(newest.map(({ status }) => status)).toEqual([...Array(3).fill('pending'), ...Array(7).fill('delivered')]);
    for (const limit of [1, 3, 4, 10, 100]) {
      const pages = Array.from({ length: 12 }, (_, n) => deliveriesOf(theatre, row, n * limit, limit, 'oldest'));
      expect(pages.flat()).toEqual(newest.toReversed());
    }
  });

  test('of very many passes by those before its page, and names those on it, in steps', async () => {
    const { theatre, row } = await toldOfCredits(50, 30);
    const looks = countLooks(theatre);
    const steps = theatre.effects.deliveries(row, { skip: 1400, max: 100, order: 'newest' });
    let most = 0;
    for (let before = 0; steps.next().done !== true; before = looks()) most = Math.max(most, looks() - before);
    expect(most).toBeLessThan(1200);
    expect(looks()).toBeGreaterThan(1400);
  });

  test('whoever asks again and again for what was given up has it looked for once: each took twenty milliseconds', async () => {
    const { theatre, row } = await toldOfCredits(1);
    theatre.answer = () => 501;
    await theatre.done(theatre.house.intent('late', ...Array.from({ length: 30 }, (_, n) => issue('a', n + 1))));
    await theatre.run(5000);
    theatre.answer = () => 'silence';
    const looks = countLooks(theatre);
    theatre.effects.retry(row);
    expect(looks()).toBeGreaterThan(30);
    const first = looks();
    for (let n = 0; n < 10; n++) theatre.effects.retry(row);
    expect(looks()).toBe(first);
    // What is given up meanwhile is looked for.
    theatre.answer = () => 501;
    await theatre.run(15_000);
    theatre.answer = () => 202;
    theatre.effects.retry(row);
    await theatre.run(5000);
    const rows = deliveriesOf(theatre, row, 0, 100);
    expect(rows.map(({ status }) => status)).toEqual([
      ...Array(30).fill('delivered'),
      ...Array(60).fill('failed'),
      'delivered',
    ]);
    // Each round has a name of its own, and what was taken in a later one is not given up any more.
    expect(new Set(rows.map(({ luid }) => luid)).size).toBe(rows.length);
    const calls = theatre.calls.length;
    theatre.effects.retry(row);
    await theatre.run(5000);
    expect(theatre.calls).toHaveLength(calls);
  });
});

test('what waits to be tried again tells how often, and why: of a refused address nobody heard for two days', async () => {
  const theatre = await Theatre.open();
  theatre.answer = () => 503;
  await theatre.done(effect(theatre, { signal: 'wallet-created' }), ...wallets(theatre, 'x', 'x1', 'x2'));
  await theatre.run(3000);
  const row = theatre.house.state.feeds.keys().next().value!;
  const rows = () =>
    deliveriesOf(theatre, row, 0, 10).map(({ status, attempts, detail }) => [status, attempts, detail]);
  expect(rows()).toEqual([
    ['pending', 0, ''],
    ['pending', theatre.at('/hook').length, 'status 503'],
  ]);
  expect(theatre.at('/hook').length).toBeGreaterThan(1);
  theatre.answer = () => 200;
  await theatre.run(10_000);
  expect(rows().map(([status, , detail]) => [status, detail])).toEqual([
    ['delivered', ''],
    ['delivered', ''],
  ]);
});

test('what was given up is tried again where somebody asked for it before the disk had that: it never was', async () => {
  let [theatre, row] = [null as Theatre | null, -1];
  const options = {
    note: (note: Note, done?: () => void) =>
      theatre!.house.engine.note(note, () => {
        theatre!.effects.retry(row);
        done?.();
      }),
  };
  theatre = await Theatre.open(undefined, options);
  await theatre.done(effect(theatre, { signal: 'wallet-created' }));
  row = theatre.house.state.feeds.keys().next().value!;
  theatre.answer = () => 501;
  await theatre.done(...wallets(theatre, 'x', 'a'));
  await theatre.run(5000);
  theatre.answer = () => 202;
  theatre.effects.retry(row);
  await theatre.run(5000);
  expect(deliveriesOf(theatre, row, 0, 100).map(({ status }) => status)).toEqual(['delivered', 'failed']);
});
