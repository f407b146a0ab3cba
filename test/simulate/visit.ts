/**
 * A request on its way through a server, as those know it who watch.
 */
import type { Command } from '../../src/core/command.ts';
import type { Expected } from './answers.ts';
import type { Verdict } from './model/facts.ts';
import type { Ask, Wish } from './wish.ts';

/** A request that has come to the server, and what it will be told. */
export interface Visit {
  readonly number: number;
  ask: Ask;
  /** Index of the ledger it names, or -1. */
  ledger: number;
  /** Null until it is known: its turn has not come, or its command is in the sequence. */
  expected: Expected | null;
  /** Nothing may be told before the disk has this frame. */
  frame: number;
  isBegun: boolean;
  /** Its token is being verified. */
  isShowing: boolean;
  isTold: boolean;
  /** The client is gone. */
  isAborted: boolean;
}

export function newVisit(number: number, ask: Ask, ledger: number): Visit {
  return {
    number,
    ask,
    ledger,
    expected: null,
    frame: 0,
    isBegun: false,
    isShowing: false,
    isTold: false,
    isAborted: false,
  };
}

/** A command on its way through the sequence. */
export interface Passage {
  readonly visit: Visit | null;
  readonly wish: Wish | null;
  readonly command: Command;
  verdict: Verdict | null;
}

/** What it asks for is signed, and not by whom it says. */
export function isForged({ visit, command }: Passage): boolean {
  const flaw = visit?.ask.flaw;
  return command.op !== 'token' && (flaw === 'signature' || (flaw === 'digest' && command.op === 'proof'));
}
