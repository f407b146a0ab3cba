/**
 * One request that has found its route and ledger, and the house it is served from.
 */
import type { Bearer, Caller } from '../core/access/index.ts';
import { findRecord } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { namesOf } from '../core/records.ts';
import { type Refusal as CoreRefusal, DEFECT } from '../core/refusal.ts';
import { SERVER_LEDGER, type State } from '../core/state.ts';
import type { Effects } from '../effects/index.ts';
import { CUT_OFF, type Engine } from '../engine.ts';
import type { KeyPair } from '../proof/keys.ts';
import type { ProofPool } from '../proof/pool.ts';
import type { Sealer } from '../proof/sealer.ts';
import { errorBody, headersOf, type Refusal, refuseUnavailable, statusOf } from './errors.ts';
import type { LongAnswers } from './long-answers.ts';
import type { Route } from './paths.ts';
import type { Reply, RequestHead } from './request.ts';
import type { SchemaLimits, ValidateBody } from './schemas.ts';
import type { RecordTexts } from './texts.ts';
import type { TokenChecker } from './tokens.ts';
import type { UsualContent, UsualIntents } from './usual.ts';
import type { Waiters } from './waiters.ts';
import type { Standing, Walks } from './walks.ts';

/** What every request is served with. */
export interface House {
  engine: Engine;
  state: State;
  server: KeyPair;
  sealer: Sealer;
  texts: RecordTexts;
  pool: ProofPool;
  tokens: TokenChecker;
  /** Index of the ledger that requests without x-ledger work in. */
  defaultLedger: number;
  /** Under which clients see the server; empty: the Host header tells. */
  publicUrl: string;
  validate: ValidateBody;
  /** Those by which that was made. */
  limits: SchemaLimits;
  usual: UsualIntents;
  bodyBytesMax: number;
  bodyDepthMax: number;
  pageLimitMax: number;
  waiters: Waiters;
  walks: Walks;
  effects: Effects;
  /** Milliseconds since 1970, wherever the books are: it may jump, both ways. */
  clock: () => number;
  longAnswers: LongAnswers;
  listMsMax: number;
  listProofMsMax: number;
  preferWaitSecondsMax: number;
  /** Whether the books are only shown; absent: no. */
  isReadOnly?: boolean;
  /** The description of the interface. */
  describe: () => Promise<string>;
  /** Told of errors that only a defect of ours can cause. */
  defect: (error: Error) => void;
  /** The end of the journal that is on the disk. */
  head: () => Head;
}

/** Whom an answer goes to, and what it takes to say no. */
interface Asked {
  readonly house: Pick<House, 'engine' | 'sealer' | 'defect'>;
  readonly reply: Reply;
}

/** A point of the books where a frame ends. */
export interface Head {
  seq: number;
  /** Hash of that frame, 32 bytes. */
  chain: Uint8Array;
  moment: number;
}

export interface Call {
  house: House;
  request: RequestHead;
  reply: Reply;
  route: Route;
  /** Index of the ledger that x-ledger selects. */
  ledger: number;
  /** The body as a value; undefined where there is none, or none was made. */
  body: unknown;
  /** What is in it, where it was usual; for whoever takes it, once. */
  usual: UsualContent | null;
  bodyBytes: number;
  bearer: Bearer | null;
}

/** The ledger a kind's records live in: ledgers themselves belong to the server. */
export function ledgerOf({ route, ledger }: Call): number {
  return route.kind === Kind.ledger ? SERVER_LEDGER : ledger;
}

/** The row that the request speaks of, or -1. */
export function rowOf(call: Call): number {
  const { house, route, ledger } = call;
  if (route.id === null) return house.state.ledgers[ledger]!.row;
  return findRecord(house.state, ledgerOf(call), route.kind, route.id);
}

/** The luid of that record, empty for none: what is not there is told once signatures are verified. */
export function luidOf(call: Call): string {
  const row = rowOf(call);
  return row < 0 ? '' : namesOf(call.house.state, row).luid;
}

/** No signatures to verify, or none to make. */
export const NO_BYTES = new Uint8Array(0);

/** Who asks; `keys` signed the body, of which reads have none. */
export function callerOf(call: Call, keys: readonly Uint8Array[]): Caller {
  return { keys, bearer: call.bearer };
}

/** One for all: what is told to many is made once. */
const CUT_OFF_TOLD = refuseUnavailable(CUT_OFF.detail);

/** Answers at once: for what the request alone shows. */
export function sendRefusal({ house, reply }: Asked, refusal: Refusal | CoreRefusal): void {
  const given = refusal === CUT_OFF ? CUT_OFF_TOLD : refusal;
  const told = house.engine.isFailed ? refuseUnavailable(refusal.detail) : given;
  reply.send(statusOf(told), errorBody(told, house.engine.now(), house.sealer), headersOf(told));
}

/** Answers with what the state shows, once the disk has all of it. */
export function sendDurable(call: Call, answer: () => void): void {
  call.house.engine.whenDurable((failure) => {
    if (failure !== null) sendRefusal(call, failure);
    else guarded(call, answer);
  });
}

/** A defect of ours in one request must not take the others along; the books are guarded by the engine. */
export function guarded(asked: Asked, work: () => void): void {
  try {
    work();
  } catch (error) {
    asked.house.defect(error as Error);
    sendRefusal(asked, DEFECT);
  }
}

export function refuseDurable(call: Call, refusal: Refusal | CoreRefusal): void {
  sendDurable(call, () => sendRefusal(call, refusal));
}

/**
 * Looks for something, in slices, until `step` says that it is over; a defect of ours ends it too. After `end` a step
 * does no more than to tell that its time is over.
 */
export function walk(call: Call, step: (pause: number) => boolean, end?: number, standing?: Standing): void {
  const go = (pause: number) => {
    let isOver = true;
    guarded(call, () => {
      // Nobody hears it: what is held for the answer is given back.
      if (call.reply.aborted) call.reply.send(503, '');
      else isOver = step(pause);
    });
    return isOver;
  };
  call.house.walks.begin(call.ledger, go, end, standing);
}

/** The same, but for no longer than a list may take: past that it ends with this refusal. */
export function walkInTime(call: Call, late: Refusal, step: (pause: number) => boolean): void {
  const end = performance.now() + call.house.listMsMax;
  const goOn = (pause: number): boolean => {
    if (performance.now() <= end) return step(pause);
    refuseDurable(call, late);
    return true;
  };
  walk(call, goOn, end);
}
