/**
 * What a request writes, on its way to the sequence: what is to be decided is prepared apart from how it gets there,
 * and from how it is answered.
 *
 * It is prepared anew, of the same body, whenever it is its turn: the state has gone on meanwhile.
 *
 *     sent back before the books heard of it      once more, at its ledger's next turn
 *     with a token that is good only once         beside what uses that up, and once more when it is used
 */
import type { TokenCommand } from '../core/command.ts';
import type { Entry } from '../core/entry.ts';
import { Kind } from '../core/kinds.ts';
import { makeLuid } from '../core/luid.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import type { Submission } from '../engine.ts';
import { sha256Hex } from '../proof/digest.ts';
import { type Call, callerOf, guarded, NO_BYTES, sendRefusal } from './call.ts';
import type { Token } from './tokens.ts';

export type Unanswered = Omit<Submission, 'answer' | 'leave'>;

export interface Write {
  readonly submission: Unanswered;
  /** Answers with what is on the disk by then. */
  readonly done: (entries: Entry[]) => void;
  /** Makes the body again, where it need not be kept as a value meanwhile. */
  readonly bodyText?: (() => string) | undefined;
}

/** What a request writes, checked up to its signatures; why it may not; or null once it is answered. */
export type Prepare = (call: Call) => Write | Refusal | null;

/**
 * Prepares what a request writes, and submits it. `token`: one that is good only once and opens no gate by itself. What
 * is signed may open it, so it is used up beside that, and what is asked for comes after it.
 */
export function serveWrite(call: Call, prepare: Prepare, token: Token | null = null): void {
  const write = prepare(call);
  if (write === null) return;
  if (isRefusal(write)) return sendRefusal(call, write);
  const again = () => serveWrite(call, prepare, token);
  if (token === null) submit(call, write, again);
  else submitToken(call, token, { done: () => serveWrite(call, prepare), again }, write.submission);
}

/** Writes down that a token is used, which opens the gate by itself, and then goes on. */
export function useToken(call: Call, token: Token, goOn: () => void): void {
  submitToken(call, token, { done: goOn, again: () => useToken(call, token, goOn) });
}

/**
 * That a token is used: what follows goes on once the disk has that, for it is used up even after a restart. Where it
 * counts only together with what is signed `beside` it, the signatures of that are verified.
 */
function submitToken(
  call: Call,
  token: Token,
  { done, again }: { done: () => void; again: () => void },
  beside?: Unanswered,
): void {
  const { ledger } = call;
  const { engine } = call.house;
  const full = engine.overload(ledger);
  if (full !== null) return sendRefusal(call, full);
  const moment = engine.now();
  const id = tokenId(call, token);
  const luid = makeLuid('tkn', moment, Buffer.from(id, 'hex'));
  const exp = Math.floor(token.exp);
  const caller = callerOf(call, []);
  const command: TokenCommand = { op: 'token', ledger, kind: Kind.ledger, moment, caller, luid, id, exp };
  if (beside !== undefined) command.beside = beside.command;
  const { checks, places } = beside ?? { checks: NO_BYTES };
  // Parsed it takes ten times its bytes: as many are let in at a time as of requests without such a token.
  const besideBytes = call.bodyBytes;
  submit(call, { submission: { command, checks, places, seals: NO_BYTES, besideBytes }, done }, again);
}

/** Of a token that is good only once: the same for the same jti of the same key, and for no other. */
export function tokenId({ ledger }: Call, { public: key, jti }: Token): string {
  return sha256Hex(`${ledger} ${key} ${jti}`);
}

/** Whoever is sent back does `again` at the next turn. */
function submit(call: Call, { submission, done, bodyText }: Write, again: () => void): void {
  const { command, checks, places, seals, besideBytes, ahead } = submission;
  // What was asked for by a token that is used up goes on after that.
  if (call.request.method === 'GET') call.reply.stay();
  else call.request.forgetHead();
  if (bodyText !== undefined) call.body = undefined;
  call.house.engine.submit({
    command,
    checks,
    places,
    seals,
    besideBytes,
    ahead,
    answer(outcome) {
      if (isRefusal(outcome)) sendRefusal(call, outcome);
      else guarded(call, () => done(outcome));
    },
    leave: () => beginAnew(call, again, bodyText === undefined ? textOf(call.body) : bodyText()),
  });
}

/**
 * How a request is sent back, and what it does at its next turn. Until then its body is kept as text, as those of all
 * who wait: parsed it takes ten times as much.
 */
function beginAnew(call: Call, again: () => void, bodyText: string | null): () => void {
  const text = bodyText === null ? null : Buffer.from(bodyText);
  call.body = undefined;
  return () => {
    if (call.reply.aborted) return;
    if (text !== null) call.body = JSON.parse(text.toString());
    guarded(call, again);
  };
}

function textOf(body: unknown): string | null {
  return body === undefined ? null : JSON.stringify(body);
}
