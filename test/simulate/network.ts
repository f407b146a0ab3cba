/**
 * The other systems: hooks that hear of events, and banks that take part in intents through bridges. They are slow and
 * down for a while; what each must be told is checked as it comes, network/listeners.ts and network/banks.ts. What leaves
 * the server must be on its disk by then.
 */
import { type Answer, type Call, NOWHERE, type OutgoingCall } from '../../src/effects/outgoing.ts';
import { type Json, verifyRecord } from '../support/client.ts';
import { must } from './must.ts';
import { Banks } from './network/banks.ts';
import { Listeners } from './network/listeners.ts';
import type { NetworkWorld, Temper } from './network/world.ts';
import { SERVER } from './wish.ts';

const UNDONE = ['aborting', 'dismissing'];

const HOOK_HOST = 'hook.test';
const BANK_HOST = 'bank.test';

export const hookUrl = (name: string): string => `http://${HOOK_HOST}/${name}`;
/** A bank is known to one ledger, under the handle of its bridge. */
export const bankUrl = (ledger: number, bridge: string): string => `http://${BANK_HOST}/${ledger}-${bridge}`;

export class Network {
  readonly #world: NetworkWorld;
  readonly listeners: Listeners;
  readonly banks: Banks;
  readonly temper: Temper = { mood: 'well', isHonest: false };

  constructor(world: NetworkWorld) {
    this.#world = world;
    this.listeners = new Listeners(world);
    this.banks = new Banks(world, this.temper);
  }

  /** What the server calls, in place of sockets. */
  readonly call: Call = (sent) => {
    const call = { ...sent, body: String(sent.body) };
    this.#mustBeDurable(call);
    const { loop } = this.#world;
    const { owner } = loop;
    return new Promise((resolve) => {
      const back = (answer: Answer) => loop.after(this.#latency(), () => resolve(answer), owner);
      call.signal?.addEventListener('abort', () => back({ error: 'called off' }));
      const arrive = () => {
        if (call.signal?.aborted !== true) back(this.#answer(call));
      };
      loop.after(this.#latency(), arrive, loop.world);
    });
  };

  /** What leaves the server tells only of what its disk has, by then and not just when it arrives. */
  #mustBeDurable({ url, body: words }: OutgoingCall): void {
    const { host, pathname } = new URL(url);
    const [, , what, ofLeg, action] = pathname.split('/');
    if (host === BANK_HOST && (what === 'debits' || what === 'credits')) {
      const handle = ofLeg ?? (JSON.parse(words) as Json).data.handle;
      const states = action === undefined ? ['preparing'] : action === 'commit' ? ['committing'] : UNDONE;
      const seq = states
        .map((state) => this.#world.books.asked.get(`${handle} ${state}`))
        .find((at) => at !== undefined);
      must(seq !== undefined, `a bank is told to ${action ?? 'prepare'} ${handle}, which nobody asked for`);
      must(
        seq <= this.#world.durable(),
        `a bank is told to ${action ?? 'prepare'} ${handle}, and the disk does not know`,
      );
    }
  }

  #answer(call: OutgoingCall): Answer {
    const { dice } = this.#world;
    // What goes to a bridge that is no more has no address.
    if (this.temper.mood === 'down' || call.url === NOWHERE) return { error: 'ECONNREFUSED' };
    const isOdd = this.temper.mood === 'odd';
    if (isOdd && dice.chance(0.3))
      return dice.pick<Answer>([{ status: 503 }, { status: 500 }, { error: 'ECONNRESET' }]);
    const status = this.#take(call);
    // It was done, and nobody hears of it.
    return isOdd && dice.chance(0.3) ? { error: 'ECONNRESET' } : { status };
  }

  #latency(): number {
    const { dice } = this.#world;
    return this.temper.mood === 'odd' && dice.chance(0.1) ? dice.between(100, 20_000) : dice.roll() * 4;
  }

  #take({ method, url: text, body: words }: OutgoingCall): number {
    const { dice, books } = this.#world;
    const { listeners, banks } = this;
    const { host, pathname } = new URL(text);
    this.#world.tell(`call ${method} ${host}${pathname}`);
    const body = JSON.parse(words) as Json;
    if (dice.chance(0.02)) verifyRecord(body, SERVER.public);
    const [, bank = '', what = '', handle = '', action = ''] = pathname.split('/').map(decodeURIComponent);
    const ledger = Number(bank.split('-')[0]);
    const isEvent = host === HOOK_HOST || what === 'effects';
    if (!isEvent && what !== 'intents') {
      return action === '' ? banks.prepare(ledger, body, words) : banks.end(ledger, handle, action, body);
    }
    if (host === HOOK_HOST) listeners.hear(listeners.effectAt(text), body, words);
    else if (isEvent) listeners.hear(books.find(ledger, 'effect', handle), body, words);
    else listeners.hearStatus(books.find(ledger, 'bridge', bank.slice(bank.indexOf('-') + 1)), body);
    return 200;
  }

  /** Everybody is there, honest and quick, and says again whatever may have been missed. */
  becomeWell(): void {
    Object.assign(this.temper, { mood: 'well', isHonest: true });
    this.banks.repeatAll();
  }

  /** What the ledger still owes to others, in words; '' for nothing. */
  owed(): string {
    for (const record of this.#world.books.records.values()) {
      const owed = record.isDropped ? '' : this.listeners.owed(record);
      if (owed !== '') return owed;
      const { handle, progress } = record;
      const asked = progress?.stage === 'final' ? undefined : progress?.states.find((state) => state.endsWith('ing'));
      if (asked !== undefined) return `intent ${handle} has a leg that is ${asked}`;
    }
    return '';
  }
}
