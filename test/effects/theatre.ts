/**
 * A server with its effects, in a world of its own: the engine's house on a disk that can be torn, and around it a network
 * that answers as a test wants, both under clocks turned by hand.
 */
import { expect } from 'vitest';
import { Effects, type EffectsOptions } from '../../src/effects/index.ts';
import type { Answer, OutgoingCall } from '../../src/effects/outgoing.ts';
import { settledTimers } from '../../src/effects/timers.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { House, SERVER, type World } from '../engine/house.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turn } from '../support/turns.ts';
import { Clock } from './clock.ts';

/** Steps of the clock: short beside any wait between two attempts. */
const STEP_MS = 250;

export interface Made {
  method: string;
  path: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies member by member
  body: any;
}

/** A status, or silence until the call's time limit is over. */
type Answering = (call: Made) => number | 'silence';

const CALL_MS = 10_000;

export class Theatre {
  readonly house: House;
  readonly effects: Effects;
  readonly clock: Clock;
  /** All that was ever called, by this process and those before it. */
  readonly calls: Made[];
  answer: Answering = () => 202;
  readonly #world: World;

  static async open(disk = new FakeDisk(), options: Partial<EffectsOptions> = {}, before?: Theatre): Promise<Theatre> {
    const world = before === undefined ? { now: Date.UTC(2030, 0, 2, 12), made: 0 } : before.#world;
    let effects: Effects | null = null;
    const house = await House.open(disk, { world, publish: (entries, seq) => effects?.publish(entries, seq) });
    const theatre = new Theatre(house, world, options, before);
    effects = theatre.effects;
    effects.start();
    return theatre;
  }

  private constructor(house: House, world: World, options: Partial<EffectsOptions>, before?: Theatre) {
    this.house = house;
    this.#world = world;
    this.clock = new Clock();
    this.calls = before?.calls ?? [];
    const { engine, state } = house;
    this.effects = new Effects({
      state,
      sealer: new Sealer(SERVER),
      timers: settledTimers(this.clock, (work) => engine.whenCallable(work)),
      call: (call) => this.#call({ ...call, body: String(call.body) }),
      callsInFlightMax: 64,
      bridgeCallsMax: 16,
      bridgeAttemptsMax: 100,
      eventBytesMax: 256 * 1024,
      seq: house.journal.position.seq,
      note: (what, done) => engine.note(what, done),
      inform: () => {},
      defect: (error) => {
        throw error;
      },
      ...options,
    });
  }

  #call({ method, url, body, signal }: OutgoingCall): Promise<Answer> {
    const call = { method, path: new URL(url).pathname, text: body, body: JSON.parse(body) };
    this.calls.push(call);
    const said = this.answer(call);
    return new Promise((resolve) => {
      this.clock.after(said === 'silence' ? CALL_MS : 0, () =>
        resolve(said === 'silence' ? { error: 'no answer within 10000 ms' } : { status: said }),
      );
      signal?.addEventListener('abort', () => resolve({ error: 'called off' }));
    });
  }

  /** Lets time go by, and everything happen that is to happen in it. */
  async run(ms = 0): Promise<void> {
    for (let left = ms; ; left -= STEP_MS) {
      for (let quiet = 0; quiet < 3; quiet++) {
        const seen = this.house.journal.position.seq + this.calls.length;
        await this.house.quiet();
        await turn();
        await this.clock.run(0);
        if (seen !== this.house.journal.position.seq + this.calls.length) quiet = -1;
      }
      if (left <= 0) return;
      const step = Math.min(left, STEP_MS);
      this.#world.now += step;
      await this.clock.run(step);
    }
  }

  /** Time goes by for the ledger, and it looks at the intents that wait. */
  async expire(minutes: number): Promise<void> {
    this.#world.now += minutes * 60_000;
    this.house.engine.tick();
    await this.run();
  }

  /** The process is killed, and another one begins with what lies on the disk. */
  async restart(options: Partial<EffectsOptions> = {}): Promise<Theatre> {
    this.house.power.cut('kill');
    this.effects.close();
    const next = await Theatre.open(this.house.disk, options, this);
    next.answer = this.answer;
    return next;
  }

  /** Makes or does something, which must be taken. */
  async done(...sent: { outcome: unknown }[]): Promise<void> {
    await this.house.quiet();
    for (const { outcome } of sent) expect(outcome).toBeInstanceOf(Array);
  }

  /** Whatever was called at a path so far. */
  at(path: string): Made[] {
    return this.calls.filter((call) => call.path === path);
  }
}
