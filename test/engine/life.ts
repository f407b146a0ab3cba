/**
 * Lives of a house: a script that meets every kind of entry, traffic by chance from a seed, and what must hold after
 * any end: what was acknowledged is there, what was refused is not, the rest is one or the other and stays so.
 */
import { expect } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { State } from '../../src/core/state.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { destroy, issue, limit, transfer } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { Dice } from '../support/dice.ts';
import { turns } from '../support/turns.ts';
import { House, type HouseOptions, isAcknowledged, NOON, recoverFrom, type Sent } from './house.ts';
import { PowerCut } from './power.ts';
import { checkSupply, entriesOf, keyOf, viewOf } from './view.ts';

/** Something that no other command carries, so that each can be told from the same one in a later life. */
const fresh = (house: House) => ({ n: house.world.made++ });

/** Each step sends commands that need not wait for one another; one that no longer fits is left out. */
export const SCRIPT: ((house: House) => void)[] = [
  (house) => house.create(Kind.symbol, { handle: 'usd', factor: 100 }),
  (house) => ['a', 'b', 'c'].map((handle) => house.create(Kind.wallet, { handle })),
  (house) => house.intent('issue', issue('a', 1000)),
  (house) => [house.intent('move', transfer('a', 'b', 10)), house.intent('too-much', transfer('c', 'a', 1))],
  (house) => house.submitSigned(house.command(Kind.wallet, { handle: 'signed' })),
  (house) => house.submitSigned(house.command(Kind.wallet, { handle: 'forged' }), true),
  (house) => house.intent('limits', limit('a', 'dailyAmount', 500), limit('b', 'maxBalance', 100)),
  (house) => [house.intent('counted', transfer('a', 'b', 5)), house.intent('over', transfer('a', 'b', 400))],
  (house) => [house.create(Kind.wallet, { handle: 'a' }), house.intent('move', destroy('a', 1))],
  (house) => house.read(Kind.wallet, 'c') && house.update(Kind.wallet, 'c', { handle: 'c2', custom: fresh(house) }),
  (house) =>
    house.read(Kind.wallet, 'b') &&
    house.addProof(Kind.wallet, 'b', JSON.stringify({ ...fresh(house), status: 'verified' })),
  (house) =>
    house.create(Kind.intent, { handle: 'manual', claims: [transfer('a', 'b', 7)], config: { commit: 'manual' } }),
  (house) => house.intent('destroy', destroy('a', 3)),
  (house) =>
    house.read(Kind.intent, 'manual') &&
    house.addProof(Kind.intent, 'manual', JSON.stringify({ action: 'commit', ...fresh(house) })),
  (house) => house.read(Kind.wallet, 'c2') && house.drop(Kind.wallet, 'c2'),
  (house) => [house.create(Kind.wallet, { handle: 'c' }), house.intent('again', transfer('a', 'c', 2))],
];

/** What a life's senders were told, over all its processes. */
export class Ledger {
  readonly #known: Sent[] = [];
  /** Commands without an answer, and whether they turned out to be there. */
  readonly #unanswered = new Map<string, boolean>();

  remember(house: House): void {
    this.#known.push(...house.sent);
    house.sent.length = 0;
  }

  /** Throws unless the state keeps every promise made so far. */
  check(state: State): void {
    const present = new Set(entriesOf(state).map(keyOf));
    for (const sent of this.#known) {
      const key = keyOf(sent.command);
      const isPresent = present.has(key);
      expect(sent.answers, key).toBeLessThanOrEqual(1);
      if (isAcknowledged(sent)) expect(isPresent, `${key} was acknowledged`).toBe(true);
      else if (sent.outcome !== null && isRefusal(sent.outcome) && sent.outcome.reason !== 'api.unexpected-error') {
        expect(isPresent, `${key} was refused: ${sent.outcome.reason}`).toBe(false);
      } else {
        const before = this.#unanswered.get(key) ?? isPresent;
        expect(isPresent, `${key} was ${before ? '' : 'not '}there before`).toBe(before);
        this.#unanswered.set(key, before);
      }
    }
    checkSupply(state);
  }
}

/** Runs steps until the power goes; true where it did. With `waits` each step is answered before the next. */
export async function live(
  house: House,
  steps: readonly ((house: House) => unknown)[],
  waits = true,
): Promise<boolean> {
  for (const step of steps) {
    if (house.power.isOff) return true;
    step(house);
    if (waits) await house.quiet();
    else await turns(1);
  }
  await house.quiet();
  return house.power.isOff;
}

/** Of one segment; of many; or of many whose first are gone, with two snapshots. */
export type Shape = 'one' | 'whole' | 'pruned';

/** Books in memory. */
export async function lived(shape: Shape): Promise<House> {
  const options: HouseOptions = shape === 'one' ? {} : { segmentBytesMax: 900 };
  const house = await House.open(new FakeDisk(1), { world: freshWorld(), ...options });
  await live(house, SCRIPT.slice(0, 6));
  if (shape !== 'pruned') return house;
  for (let n = 0; n < 3; n++) {
    await live(house, [(each) => each.intent(`early-${n}`, transfer('a', 'b', 1))]);
    if (n < 2) await house.takeSnapshot();
  }
  return house;
}

/** Starts again and again until a start is not cut off itself; what is there then must be all that was promised. */
export async function restart(disk: FakeDisk, ledger: Ledger, options: HouseOptions = {}): Promise<House> {
  const house = await openOrNull(disk, options);
  if (house === null || house.power.isOff) {
    const { cutAt: _, ...rest } = options;
    return restart(disk, ledger, rest);
  }
  expect(house.fatals).toEqual([]);
  ledger.check(house.state);
  return house;
}

/** Null where the power goes while it starts. */
export async function openOrNull(disk: FakeDisk, options: HouseOptions): Promise<House | null> {
  try {
    return await House.open(disk, options);
  } catch (error) {
    if (error instanceof PowerCut) return null;
    throw error;
  }
}

/** The books as they lie on the disk are those of the live state, in everything that shows. */
export function checkReplay(house: House): void {
  const replayed = recoverFrom(house.disk, 99).state;
  expect(differencesOf(house.state, replayed)).toEqual([]);
  expect(viewOf(replayed)).toEqual(viewOf(house.state));
}

/** Traffic by chance: a step that sends up to eight commands. */
export function chance(seed: number): (house: House) => void {
  const dice = new Dice(seed);
  const wallets = ['a', 'b', 'c', 'd'];
  const claim = () =>
    dice.pick([
      () => transfer(dice.pick(wallets), dice.pick(wallets), 1 + dice.below(60)),
      () => transfer(dice.pick(wallets), dice.pick(wallets), 1 + dice.below(60)),
      () => issue(dice.pick(wallets), 1 + dice.below(100)),
      () => destroy(dice.pick(wallets), 1 + dice.below(30)),
      () =>
        limit(
          dice.pick(wallets),
          dice.pick(['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount']),
          dice.below(300),
        ),
    ])();
  const acts: ((house: House) => unknown)[] = [
    (house) => house.intent(`i${dice.below(1e6)}`, ...Array.from({ length: 1 + dice.below(3) }, claim)),
    (house) => house.intent(`i${dice.below(10)}`, claim()),
    (house) =>
      house.create(Kind.intent, { handle: `m${dice.below(1e6)}`, claims: [claim()], config: { commit: 'manual' } }),
    (house) => house.create(Kind.wallet, { handle: dice.pick(wallets), custom: { n: dice.below(1e6) } }),
    (house) => house.create(Kind.symbol, { handle: 'usd', factor: 100, custom: { n: dice.below(1e6) } }),
    (house) =>
      house.create(Kind.anchor, {
        handle: `n${dice.below(20)}`,
        wallet: dice.pick(wallets),
        custom: { n: dice.below(1e6) },
      }),
    (house) => house.submitSigned(house.command(Kind.circle, { handle: `c${dice.below(1e6)}` }), dice.chance(0.5)),
    (house) => {
      const handle = dice.pick(wallets);
      if (house.read(Kind.wallet, handle))
        house.update(Kind.wallet, handle, { handle, custom: { n: dice.below(1e6) } });
    },
    (house) => {
      const handle = `n${dice.below(20)}`;
      if (house.read(Kind.anchor, handle) && dice.chance(0.5)) house.drop(Kind.anchor, handle);
    },
    (house) => {
      const handle = dice.pick(wallets);
      const custom = `{"n":${dice.below(1e6)},"status":"${dice.pick(['one', 'two', 'three'])}"}`;
      if (house.read(Kind.wallet, handle)) house.addProof(Kind.wallet, handle, custom);
    },
    (house) => {
      for (const [row] of house.state.open) {
        const { handle } = house.entryOf(row);
        house.addProof(Kind.intent, handle, `{"action":"${dice.pick(['commit', 'abort'])}","n":${dice.below(1e6)}}`);
        return;
      }
    },
    (house) => {
      house.world.now += dice.pick([0, 1, 1000, 40_000_000, -5000]);
    },
  ];
  return (house) => {
    for (let n = dice.below(8); n >= 0 && !house.power.isOff; n--) dice.pick(acts)(house);
  };
}

export const freshWorld = () => ({ now: NOON, made: 0 });
