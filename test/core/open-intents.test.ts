/** Open intents against a Map, and dumps of them that are read piece by piece while they change. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, dumpState } from '../../src/core/dump.ts';
import type { IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { OPEN_PART, type OpenIntent, OpenIntents } from '../../src/core/open-intents.ts';
import { type Reading, readOn } from '../memory/parts.ts';
import { Books, issue, limit, transfer } from './books.ts';

function intent(moment: number, ledger = 1): OpenIntent {
  const wallets = [[7, 9], [], [9]][moment % 3]!;
  const lists = { counted: [moment, 0.5], legs: [1, 2], bridges: [[7], [7, 8], []][moment % 3]!, wallets };
  const status = moment < 2000 ? 'pending' : 'prepared';
  return { ledger, moment, status, isHolding: moment % 3 === 0, ...lists, thread: `ñ\n${moment}` };
}

/** What is told of each bridge and wallet, and of all, is what the intents say one by one. */
function expectBridges(open: OpenIntents): void {
  const rowsWith = (wanted: (bridge: number) => boolean) =>
    [...open].filter(([, { bridges }]) => bridges.some(wanted)).map(([row]) => row);
  const found = (wanted: (bridge: number) => boolean) => [...open.withLegsAt(wanted)].sort((one, other) => one - other);
  for (const bridge of [7, 8, 9]) {
    const isIt = (other: number) => other === bridge;
    expect(found(isIt)).toEqual(rowsWith(isIt));
    expect(open.isTakingPart(bridge)).toBe(rowsWith(isIt).length > 0);
    expect(open.isAbout(bridge)).toBe([...open].some(([, { wallets }]) => wallets.some(isIt)));
  }
  expect(found(() => true)).toEqual(rowsWith(() => true));
}

/** What is told of each ledger's pending ones is what the intents say one by one, in order. */
function expectPending(open: OpenIntents): void {
  const pending = [...open].filter(([, { status }]) => status === 'pending');
  const ledgers = new Set([...open].map(([, { ledger }]) => ledger));
  for (const ledger of [...ledgers, 99]) {
    const rows = [...(open.pendingIn(ledger) as IterableIterator<number>)];
    expect(rows).toEqual(pending.filter(([, intent]) => intent.ledger === ledger).map(([row]) => row));
  }
}

function loaded(bytes: Uint8Array): [number, OpenIntent][] {
  const open = new OpenIntents();
  open.load(new Map([[OPEN_PART, bytes]]), () => []);
  expectPending(open);
  expectBridges(open);
  return [...open];
}

/** And what must be in it. */
interface OpenReading extends Reading {
  there: [number, OpenIntent][];
}

test('a dump has what there was, in the order it came, whatever goes on while it is read; so are the pending ones told', () => {
  const kind = fc.constantFrom('come', 'come', 'change', 'change', 'go', 'dump', 'read', 'read');
  fc.assert(
    fc.property(
      fc.nat(150),
      fc.array(fc.record({ kind, at: fc.nat() }), { maxLength: 150, size: 'max' }),
      (before, steps) => {
        const open = new OpenIntents();
        const model = new Map<number, OpenIntent>();
        const readings: OpenReading[] = [];
        const set = (row: number, moment: number) => {
          open.set(row, intent(moment, 1 + (row % 3)));
          model.set(row, intent(moment, 1 + (row % 3)));
        };
        for (let n = 0; n < before; n++) set(n * 1000, n);
        for (const [n, { kind, at }] of steps.entries()) {
          const row = [...model.keys()][at % Math.max(1, model.size)];
          const reading = readings[at % Math.max(1, readings.length)];
          if (kind === 'come') set(1_000_000 + n * 5000, n);
          else if (kind === 'change' && row !== undefined) set(row, 2000 + n);
          else if (kind === 'go' && row !== undefined) {
            open.delete(row);
            model.delete(row);
          } else if (kind === 'dump') {
            const pieces = open.dump().pieces[Symbol.iterator]();
            readings.push({ pieces, read: [], there: [...model] });
          } else if (kind === 'read' && reading !== undefined) readOn(reading);
        }
        expect([open.size, [...open]]).toEqual([model.size, [...model]]);
        expectPending(open);
        expectBridges(open);
        for (const reading of readings) {
          while (!readOn(reading));
          expect(loaded(Buffer.concat(reading.read))).toEqual(reading.there);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test('books without the part, or with half a line of it, are refused', () => {
  expect(() => new OpenIntents().load(new Map(), () => [])).toThrow(/part open-intents is missing/);
  const open = new OpenIntents();
  open.set(1, intent(1));
  const bytes = bytesOf(open.dump());
  expect(loaded(bytes)).toEqual([[1, intent(1)]]);
  expect(() => loaded(bytes.slice(0, -1))).toThrow(/whole line/);
});

test('what an intent counts once it is held is in no dump of before', () => {
  const books = Books.open();
  const rules = [{ action: { $in: ['access', 'create', 'read', 'issue', 'limit'] }, record: 'any' }];
  books.create(Kind.ledger, { handle: 'closed', access: rules }, 0);
  const key = new Uint8Array(32).fill(3);
  const own = [{ action: { $in: ['spend', 'limit'] }, signer: { public: Buffer.from(key).toString('base64') } }];
  books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
  books.create(Kind.wallet, { handle: 'from', access: own }, 2);
  books.create(Kind.wallet, { handle: 'to' }, 2);
  const owner = { keys: [key], bearer: null };
  books.create(Kind.intent, { handle: 'funds', claims: [issue('from', 9), limit('from', 'dailyCount', 5)] }, 2, owner);
  const waits = { handle: 'waits', claims: [transfer('from', 'to', 5)], config: { commit: 'manual' } };
  const [intent] = books.create(Kind.intent, waits, 2) as [IntentEntry];
  const before = [...books.state.open];
  expect(before.map(([, { status, counted }]) => [status, counted])).toEqual([['pending', []]]);
  const dump = dumpState(books.state).parts.find(({ name }) => name === OPEN_PART)!;
  expect(books.addProof(intent, { status: 'created' }, { key })).toHaveLength(2);
  expect([...books.state.open].map(([, { counted }]) => counted.length)).toEqual([4]);
  expect(loaded(bytesOf(dump)).map(([, { status, counted }]) => [status, counted])).toEqual([['pending', []]]);
});

test('those with legs at some bridges are told of one by one, each bridge in turn, whatever comes and goes meanwhile', () => {
  const open = new OpenIntents();
  const set = (row: number, ...bridges: number[]) => open.set(row, { ...intent(row), bridges });
  for (let row = 0; row < 50; row++) set(row, 7);
  for (let row = 50; row < 60; row++) set(row, 8);
  for (let row = 60; row < 70; row++) set(row, 9);
  set(70, 8, 9);
  // It waits for a signature, and for a bridge later.
  set(71);
  set(72, 7);
  const walk = open.withLegsAt((bridge) => bridge !== 9);
  const told = Array.from({ length: 4 }, () => walk.next().value);
  expect(told).toEqual([0, 50, 1, 51]);
  for (const row of [0, 2, 3, 50, 52]) open.delete(row);
  set(71, 7);
  // However fast others come, it has an end.
  for (const row of walk) {
    told.push(row);
    set(1000 + told.length, 7);
    set(2000 + told.length, 8);
  }
  const isThere = (row: number) => row <= 1 || row > 3;
  const those = Array.from({ length: 60 }, (_, row) => row).filter((row) => isThere(row) && row !== 52);
  expect(told.sort((one, other) => one! - other!)).toEqual([...those, 70, 71, 72]);
});
