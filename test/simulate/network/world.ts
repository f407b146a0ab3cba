/**
 * What hooks and banks have in common: the world they are in, and how well they are.
 */
import type { Dice } from '../../support/dice.ts';
import type { Loop } from '../loop.ts';
import type { Books } from '../model/books.ts';
import type { Ask } from '../wish.ts';

export interface NetworkWorld {
  readonly loop: Loop;
  readonly dice: Dice;
  readonly books: Books;
  /** Entries that the ledger's disk has. */
  durable(): number;
  /** Sends a request to the server that runs, if any; `done` is told the status, 0 where there was no answer. */
  send(ask: Ask, done: (status: number) => void): void;
  tell(line: string): void;
}

export interface Temper {
  mood: 'well' | 'odd' | 'down';
  /** Nobody says what nobody asked for any more, or keeps quiet. */
  isHonest: boolean;
}
