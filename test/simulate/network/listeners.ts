/**
 * Whoever hears of events: hooks, effects at bridges, and bridges that want to know how intents go on. Each hears only of
 * what is on the ledger's disk, of all it asked for, in order, and of the same thing in the same words.
 */
import { canon } from '../../../src/proof/canon.ts';
import type { Json } from '../../support/client.ts';
import { eventHandle, type Happening } from '../model/happenings.ts';
import type { Rec } from '../model/record.ts';
import { must } from '../must.ts';
import type { NetworkWorld } from './world.ts';

export class Listeners {
  readonly #world: NetworkWorld;
  /** By luid of the effect or bridge: its events that were taken, and those that were given up. */
  readonly #heard = new Map<string, Set<string>>();
  readonly #givenUp = new Map<string, Set<string>>();
  readonly #bodies = new Map<string, string>();
  /** Events by the handle they are told under. */
  readonly #happenings = new Map<string, Happening>();
  #indexed = 0;

  constructor(world: NetworkWorld) {
    this.#world = world;
  }

  /** Whoever listens there now; an effect that was dropped may have been made again in the same words. */
  effectAt(endpoint: string): Rec | null {
    let found: Rec | null = null;
    for (const record of this.#world.books.records.values()) {
      if (record.kind !== 'effect' || endpointOf(record.content.value) !== endpoint) continue;
      if (!record.isDropped) return record;
      found = record;
    }
    return found;
  }

  /** An effect is told of an event; null where there is none any more. */
  hear(effect: Rec | null, body: Json, words: string): void {
    this.#index();
    const { handle, signal } = body.data;
    const happening = this.#happenings.get(handle);
    must(happening !== undefined, `an event is told that is not on the disk: ${signal} ${handle}`);
    must(happening.signal === signal, `${handle} is told as ${signal}, and is ${happening.signal}`);
    const before = this.#bodies.get(handle) ?? words;
    must(before === words, `event ${handle} is told again in other words`);
    this.#bodies.set(handle, words);
    const { kind } = this.#world.books.records.get(happening.luid)!;
    must(body.data[kind] !== undefined, `${signal} shows no ${kind}`);
    mustTellOf(happening, body.data);
    if (effect === null || effect.isDropped) return;
    // A call may be on its way for long: longer than the effect that it was made for, and until there is another.
    if (happening.seq <= effect.wishes[0]!.seq && this.#hadBefore(effect)) return;
    const key = keyOf(happening);
    if (!this.#isOver(effect.luid, key)) {
      const next = this.#awaited(effect);
      const name = next === undefined ? 'nothing' : `${next.signal} ${keyOf(next)}`;
      must(next === happening, `${effect.handle} hears of ${signal} ${key}, and waits for ${name}`);
    }
    setIn(this.#heard, effect.luid).add(key);
  }

  /** Whether an effect that was dropped had the name or the address of this one. */
  #hadBefore({ ledger, handle, content }: Rec): boolean {
    const endpoint = endpointOf(content.value);
    return [...this.#world.books.records.values()].some(
      (each) =>
        each.kind === 'effect' &&
        each.isDropped &&
        ((each.ledger === ledger && each.handle === handle) ||
          (endpoint !== undefined && endpointOf(each.content.value) === endpoint)),
    );
  }

  /** A bridge hears how an intent goes on that it takes part in: of every step, in order. */
  hearStatus(bridge: Rec | null, body: Json): void {
    const { luid } = body;
    must(this.#world.books.records.get(luid)?.kind === 'intent', `a bank hears of ${luid}, which is no intent`);
    this.#index();
    const { length } = body.meta.proofs;
    const isIt = ({ signal, luid: of, proofs }: Happening) =>
      signal === 'intent-updated' && of === luid && proofs === length;
    const happening = [...this.#happenings.values()].find(isIt);
    must(happening !== undefined, `a bank hears of ${luid} with ${length} proofs, which the disk never had`);
    if (bridge === null) return;
    const wish = bridge.wishes.at(-1);
    const key = keyOf(happening);
    // It may ask for nothing any more, or anew: a call may be on its way for long.
    const isAwaited = wish !== undefined && wish.signal !== '' && happening.seq > wish.seq;
    if (isAwaited && !this.#isOver(bridge.luid, key)) {
      must(happening.bridges.includes(bridge.luid), `${bridge.handle} hears of ${luid}, and takes no part`);
      const next = this.#awaitedStatus(bridge);
      must(next === happening, `${bridge.handle} hears of ${key}, and waits for ${next && keyOf(next)}`);
    }
    setIn(this.#heard, bridge.luid).add(key);
  }

  /** What a live effect or bridge is still to be told of, in words; '' for nothing. */
  owed(record: Rec): string {
    const { kind, handle } = record;
    if (kind === 'effect' && !this.#hasAddress(record)) return '';
    const next =
      kind === 'effect' ? this.#awaited(record) : kind === 'bridge' ? this.#awaitedStatus(record) : undefined;
    return next === undefined ? '' : `${kind} ${handle} waits for ${next.signal} ${keyOf(next)}`;
  }

  #hasAddress({ ledger, content }: Rec): boolean {
    const { bridge } = content.value.action as { bridge?: string };
    return bridge === undefined || this.#world.books.find(ledger, 'bridge', bridge) !== null;
  }

  /** Whether the receiver of an event, as the server notes it, has taken it. */
  wasTaken(receiver: string, seq: number, index: number): boolean {
    return setIn(this.#heard, receiver).has(`${seq} ${index}`);
  }

  wasGivenUp(receiver: string, seq: number, index: number): void {
    setIn(this.#givenUp, receiver).add(`${seq} ${index}`);
  }

  /** What was given up is not waited for. */
  #isOver(receiver: string, key: string): boolean {
    return setIn(this.#heard, receiver).has(key) || setIn(this.#givenUp, receiver).has(key);
  }

  /** The first of what an effect asked for and has not been told. */
  #awaited({ luid, ledger, wishes }: Rec): Happening | undefined {
    return this.#firstFor(luid, wishes[0]!.seq, (happening) => {
      const wish = wishes.findLast((each) => each.seq <= happening.seq);
      return happening.ledger === ledger && wish?.signal === happening.signal && happening.amount >= wish.least;
    });
  }

  /** The first status that a bridge wants to hear of and was not told. */
  #awaitedStatus({ luid, wishes }: Rec): Happening | undefined {
    const wish = wishes.at(-1);
    if (wish === undefined || wish.signal === '') return undefined;
    return this.#firstFor(luid, wish.seq, ({ signal, bridges }) => signal === wish.signal && bridges.includes(luid));
  }

  #firstFor(receiver: string, after: number, isWanted: (happening: Happening) => boolean): Happening | undefined {
    const durable = this.#world.durable();
    for (const happening of this.#world.books.happenings.values()) {
      if (happening.seq <= after || happening.seq > durable || !isWanted(happening)) continue;
      if (!this.#isOver(receiver, keyOf(happening))) return happening;
    }
    return undefined;
  }

  /** Gives what has become durable since the handles under which it may be told. */
  #index(): void {
    const durable = this.#world.durable();
    for (const happening of this.#world.books.happenings.values()) {
      if (happening.seq <= this.#indexed || happening.seq > durable) continue;
      this.#happenings.set(eventHandle(happening), happening);
    }
    this.#indexed = durable;
  }
}

/** An event about money names whose, of what, and how much. */
function mustTellOf({ signal, luid, wallet, symbol, amount }: Happening, data: Json): void {
  if (wallet === '') return;
  const told = [data.intent.luid, data.wallet.luid, data.symbol.luid, data.amount];
  const wanted = [luid, wallet, symbol, amount];
  must(canon(told) === canon(wanted), `${signal} tells of ${told}, and it was ${wanted}`);
}

function endpointOf({ action }: Record<string, unknown>): string | undefined {
  return (action as { endpoint?: string }).endpoint;
}

function keyOf({ seq, index }: Happening): string {
  return `${seq} ${index}`;
}

function setIn(sets: Map<string, Set<string>>, key: string): Set<string> {
  const known = sets.get(key) ?? new Set();
  sets.set(key, known);
  return known;
}
