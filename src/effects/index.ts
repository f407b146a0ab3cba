/**
 * What happens outside because of what happened in the books: calls to bridges, events to effects. One door to the
 * room.
 *
 * Nothing here can hold up or harm the books: it is told of entries that are on disk, and what it has to say goes in by
 * the door like everything else. A defect in here is told, and costs the one call it was met in.
 */
import type { Entry } from '../core/entry.ts';
import type { Stretch } from '../core/history.ts';
import { type EventTexts, eventTextsOf } from '../event-texts.ts';
import { Absences } from './absences.ts';
import { Calls } from './calls.ts';
import type { DeliveryView } from './deliveries.ts';
import { Feeds, type FeedsOptions } from './feeds.ts';
import { guarded } from './guarded.ts';
import { Lanes } from './lanes.ts';
import type { Call } from './outgoing.ts';

export { isLoopback } from './addresses.ts';
export type { DeliveryView } from './deliveries.ts';
export { Outgoing } from './outgoing.ts';
export { realTimers, settledTimers } from './timers.ts';

/** How long the events of a batch are looked through at once: half of what clearing it may have taken. */
const PUBLISH_MS = 5;

export interface EffectsOptions extends Omit<FeedsOptions, 'eventTexts' | 'lanes'> {
  /** Does a call over the network. */
  call: Call;
  callsInFlightMax: number;
  /** Calls of one bridge at a time. */
  bridgeCallsMax: number;
  bridgeAttemptsMax: number;
  /** Bytes of the texts of events that are kept. */
  eventBytesMax: number;
  /** Tells the operator. */
  inform: (text: string) => void;
}

export class Effects {
  /** Events as they are told, to readers as well. */
  readonly eventTexts: EventTexts;
  readonly #options: EffectsOptions;
  readonly #lanes: Lanes;
  readonly #calls: Calls;
  readonly #feeds: Feeds;

  constructor(options: EffectsOptions) {
    const { callsInFlightMax, bridgeAttemptsMax, bridgeCallsMax, eventBytesMax, ...rest } = options;
    this.#options = options;
    this.eventTexts = eventTextsOf(options.sealer, eventBytesMax);
    const call = guardedCall(options.call, options.defect);
    this.#lanes = new Lanes({
      timers: options.timers,
      call,
      inFlightMax: callsInFlightMax,
      attemptsMax: bridgeAttemptsMax,
      defect: options.defect,
      watcher: new Absences(options),
    });
    this.#calls = new Calls({ ...rest, lanes: this.#lanes, parallelMax: bridgeCallsMax });
    this.#feeds = new Feeds({ ...rest, eventTexts: this.eventTexts, lanes: this.#lanes });
  }

  /** Takes up what was due when the server stopped. */
  start(): void {
    this.#calls.start();
    this.#feeds.start();
  }

  /** Takes entries that are on disk, in order; the last has sequence number `seq`. */
  publish(entries: readonly Entry[], seq: number): void {
    const { state, timers, defect } = this.#options;
    const before = seq - entries.length;
    const end = timers.now() + PUBLISH_MS;
    for (const [index, entry] of entries.entries()) {
      guarded(() => this.#calls.publish(entry, state.log.get(before + index)), undefined, defect);
      guarded(() => this.#feeds.publish(entry, before + index + 1, end), undefined, defect);
    }
  }

  /** A bridge is there again: all that waits for it, or was given up, is tried. */
  activate(bridge: number): void {
    this.#calls.wake(bridge);
    this.#feeds.retryBridge(bridge);
  }

  /** An effect's events are tried again, also those that were given up. */
  retry(effect: number): void {
    this.#feeds.retry(effect);
  }

  /** What became of the events of an effect; in steps. */
  deliveries(effect: number, stretch: Stretch): Generator<undefined, DeliveryView[]> {
    return this.#feeds.deliveries(effect, stretch);
  }

  counts(): { lanes: number; jobs: number; inFlight: number } {
    return this.#lanes.counts();
  }

  /** See Feeds.behind. */
  behind(): number {
    return this.#feeds.behind();
  }

  /** Calls off what is on its way; it is due again after the next start. */
  close(): void {
    this.#lanes.close();
  }
}

/**
 * A call that rejects, which none should, counts as one that failed: a promise that nobody catches ends the process.
 */
function guardedCall(call: Call, defect: (error: Error) => void): Call {
  return async (given) => {
    try {
      return await call(given);
    } catch (error) {
      defect(error as Error);
      return { error: 'the server met a defect of its own' };
    }
  };
}
