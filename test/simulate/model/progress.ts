/**
 * How far an intent is, beyond its content, and how far it came at once.
 *
 *     pending ──▶ prepared ──▶ committed ──▶ completed      pending waits for a permission, or for bridges
 *        └──────────┴──▶ (failed) aborted ──▶ rejected      committed and aborted wait for bridges to say so
 */
import type { Counted, LimitSet, Net } from '../../core/model.ts';
import type { Leg, LegState, Mark } from './legs.ts';

export type Stage = 'pending' | 'prepared' | 'committed' | 'aborted' | 'final';

/** Money that its target passes on, by another intent of the thread. */
export interface Forward {
  readonly claim: number;
  readonly wallet: string;
  readonly symbol: string;
  readonly amount: number;
  readonly target: string;
}

/** Whom a claim brings money, and which. */
export interface Credit {
  readonly wallet: string;
  readonly symbol: string;
}

/** What an intent came to when it was cleared. */
interface Cleared {
  readonly nets: readonly Net[];
  readonly limits: readonly LimitSet[];
  readonly legs: readonly Leg[];
  readonly forwards: readonly Forward[];
  /** Claim, side and wallet of what a route gave to another wallet. */
  readonly routed: readonly string[];
}

/** What an intent is about beyond its content. */
export interface Progress extends Cleared {
  readonly stage: Stage;
  /** Its money is set aside. */
  readonly isHolding: boolean;
  /** When it was received; those that came first expire first. */
  readonly received: number;
  readonly order: number;
  /** Luid of the intent that began its thread. */
  readonly thread: string;
  /** Luid of the intent that it follows from, or ''. */
  readonly origin: string;
  /** By claim. */
  readonly credits: ReadonlyMap<number, Credit>;
  readonly counted: readonly Counted[];
  readonly states: readonly LegState[];
}

/** How far an intent came at once, as the journal must tell it. */
export interface Ending extends Cleared {
  readonly steps: readonly string[];
  readonly reason: string;
  readonly marks: readonly Mark[];
  /** Which leg an error speaks of, or -1. */
  readonly leg: number;
}

/** It goes nowhere. */
export const NOTHING: Ending = {
  steps: [],
  reason: '',
  nets: [],
  limits: [],
  legs: [],
  forwards: [],
  routed: [],
  marks: [],
  leg: -1,
};
