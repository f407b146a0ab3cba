/**
 * Whoever sends requests, and to which server: to the one that has the lock, and where another has lost it and goes on, to
 * that as well.
 */
import type { Dice } from '../support/dice.ts';
import type { Host } from './host.ts';
import type { Loop } from './loop.ts';
import type { Rivals } from './rivals.ts';
import type { Ask } from './wish.ts';

/** Share of what others ask that goes to a server that has lost the lock. */
const ASTRAY = 0.4;

export class Senders {
  readonly #loop: Loop;
  readonly #dice: Dice;
  /** Of a life on two machines. */
  readonly #rivals: Rivals | null;
  readonly #tell: (line: string) => void;

  constructor(loop: Loop, dice: Dice, rivals: Rivals | null, tell: (line: string) => void) {
    this.#loop = loop;
    this.#dice = dice;
    this.#rivals = rivals;
    this.#tell = tell;
  }

  /** Clients ask for these, soon one after the other. */
  burst(host: Host, asks: readonly Ask[]): void {
    const [loop, dice] = [this.#loop, this.#dice];
    const spread = dice.pick([0, 0, 1, 10]);
    for (const ask of asks) loop.after(spread * dice.roll(), () => this.#deliver(host, ask), host.owner);
    for (const other of this.#rivals?.ousted() ?? []) {
      const strays = asks.filter(() => other.isOpen && dice.chance(ASTRAY));
      for (const ask of strays) loop.after(spread * dice.roll(), () => this.#deliver(other, ask), other.owner);
    }
  }

  /** What others than clients send goes to whichever server runs; `host` is the one that has the lock, if any. */
  send(host: Host | null, ask: Ask, done: (status: number) => void): void {
    const [loop, dice] = [this.#loop, this.#dice];
    // A no of one that has nothing to say any more is none.
    const heardOf = (asked: Host) => (status: number) => done(asked.isOusted && status >= 300 ? 503 : status);
    for (const other of this.#rivals?.ousted() ?? []) {
      if (other.isOpen && dice.chance(ASTRAY))
        loop.after(dice.roll(), () => this.#deliver(other, ask, heardOf(other)), other.owner);
    }
    if (host === null || !host.isOpen || !host.isUp) return;
    loop.after(dice.roll() * 3, () => this.#deliver(host, ask, heardOf(host)), host.owner);
  }

  /** What a server that has lost the lock does not answer its clients ask of the one that has it. */
  askAgain(host: Host): void {
    for (const { ask } of this.#rivals?.left() ?? []) {
      if (this.#dice.chance(0.5)) this.#loop.after(this.#dice.roll() * 20, () => this.#deliver(host, ask), host.owner);
    }
  }

  /** A request comes to a server, in an event of its process. */
  #deliver(host: Host, ask: Ask, done?: (status: number) => void): void {
    const [loop, dice] = [this.#loop, this.#dice];
    const visit = host.receive(ask, done);
    if (visit === null) return;
    this.#tell(`${visit.number} ${ask.method} ${ask.path} ${ask.flaw ?? ''}`);
    if (dice.chance(0.02)) loop.after(dice.roll() * 3, () => host.border.abort(visit), loop.world);
  }
}
