/**
 * Lines → answers: each line is signed, where it is not yet, sent, and sent again as it was until it is answered. What
 * an intent came to is told with it.
 *
 * What always holds: a line gets one answer, or the run ends; and since a record is known by its handle and hash, what
 * was in already is told as that and not done twice, whoever sent it and however often.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, type JsonObject, parseObject } from '../../client/json.ts';
import { makeRecord } from '../../client/records.ts';
import { isFinal } from '../../core/entry.ts';
import { KINDS, Kind } from '../../core/kinds.ts';
import { canon } from '../../proof/canon.ts';
import { sha256Hex } from '../../proof/digest.ts';
import type { KeyPair } from '../../proof/keys.ts';
import { type Answer, type Client, connect, type Refusal, type StoredRecord, StrangeAnswerError } from '../client.ts';
import { makeToken } from '../token.ts';
import { findUnclear } from '../unclear.ts';
import type { Destination, SentAnswer } from './answers.ts';
import { LINE_MIB_MAX } from './lines.ts';

/** How long the server may wait for an intent's end before it answers; a bridge may take longer. */
const WAIT_SECONDS = 1;
const TOKEN_SECONDS = 3600;
const TOKEN_MS_USED = 1_800_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5_000;

/** No answer came for as long as was waited. What was sent is in, or it is not. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  /** Which line had none, as the end of a sentence. */
  to = '';
}

/** What is sent, and what it is known by. */
export interface Outgoing {
  line: number;
  handle: string | null;
  hash: string;
  body: JsonObject;
}

interface SenderOptions extends Destination {
  /** Signs what is not signed, and the tokens; null: all is signed, and asked without a token. */
  keys: KeyPair | null;
  /** Milliseconds for which a line may go without an answer. */
  patienceMs: number;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #kind: Kind;
  /** The address of the server, and the path of the kind behind it. */
  readonly #server: string;
  readonly #path: string;
  #client: Client | null = null;
  #clientMadeAt = 0;
  #failures = 0;
  #connections = 0;

  constructor(options: SenderOptions, kind: Kind) {
    this.#options = options;
    this.#kind = kind;
    this.#path = `/${KINDS[kind].path}`;
    this.#server = options.url.slice(0, -this.#path.length);
  }

  /**
   * What the line asks to be sent: data, which is signed now, or a record that somebody has signed. Or why it cannot
   * be.
   */
  prepare(line: number, bytes: Buffer | null): Outgoing | SentAnswer {
    if (bytes === null) return refusal({ line }, 'input.too-long', `the line has more than ${LINE_MIB_MAX} MiB`);
    const value = parseObject(bytes);
    if (value === null) return refusal({ line }, 'input.no-object', 'the line is no JSON object');
    const isSigned = isObject(value.data) && isObject(value.meta) && typeof value.hash === 'string';
    const { keys } = this.#options;
    if (!isSigned && keys === null)
      return refusal({ line }, 'input.not-signed', 'the line is not signed, and no --key is given');
    const unclear = isSigned ? null : findUnclear(bytes.toString(), value);
    if (unclear !== null) return refusal({ line }, 'input.unclear', unclear);
    const body = isSigned ? value : { ...makeRecord(value, { moment: new Date().toISOString() }, keys!) };
    const { handle } = body.data as JsonObject;
    // Of what is signed already, not what it says: the server will look, but what is known from before is not sent.
    const hash = isSigned ? sha256Hex(canon(body.data)) : (body.hash as string);
    return { line, handle: typeof handle === 'string' ? handle : null, hash, body };
  }

  /** Rejects with NoAnswerError, which names the line. */
  async send(sent: Outgoing): Promise<SentAnswer> {
    try {
      return await this.#send(sent);
    } catch (error) {
      const { line, handle } = sent;
      if (error instanceof NoAnswerError)
        error.to = `, to line ${line}${handle === null ? '' : ` (${handle})`} for one`;
      throw error;
    }
  }

  async #send(sent: Outgoing): Promise<SentAnswer> {
    const { line, handle, hash } = sent;
    const { status, body } = await this.#ask(
      (client) => client.post(this.#path, sent.body),
      (record) => record.hash === hash && this.#isOfKind(record.luid),
    );
    if (status < 300) return { line, handle, hash, luid: body.luid, outcome: 'taken', ...(await this.#endOf(body)) };
    const { reason, detail, custom } = (body as unknown as Refusal).data ?? {};
    const luid = custom?.luid;
    if (status !== 409 || custom?.hash !== hash || !this.#isOfKind(luid)) {
      return refusal(sent, reason ?? `${status}`, detail ?? 'the answer says no more');
    }
    if (this.#kind !== Kind.intent) return { line, handle, hash, luid, outcome: 'there', ...NO_END };
    return { line, handle, hash, luid, outcome: 'there', ...((await this.#readEnd(luid)) ?? UNKNOWN_END) };
  }

  /**
   * Whether the ledger has no such intent, or not at the end it had come to; other kinds may have been dropped. Rejects
   * with NoAnswerError.
   */
  async lacks({ luid, status: noted }: SentAnswer): Promise<boolean> {
    if (this.#kind !== Kind.intent || luid === null) return false;
    const { status, body } = await this.#read(luid);
    if (status !== 200 || noted === null || !isFinal(noted)) return status === 404;
    return endIn(body).status !== noted;
  }

  /** Milliseconds for which anything is asked for again. */
  get patienceMs(): number {
    return this.#options.patienceMs;
  }

  /** Attempts without an answer of the ledger: somebody else may answer behind one. */
  get failures(): number {
    return this.#failures;
  }

  /** Changes whenever somebody else may answer from now on: behind a failure, and with each new connection. */
  get turns(): number {
    return this.#failures + this.#connections;
  }

  #isOfKind(luid: unknown): luid is string {
    return typeof luid === 'string' && luid.startsWith(`$${KINDS[this.#kind].prefix}.`);
  }

  /**
   * What has become of what was taken. One that was not at its end within the time may only have waited for its turn.
   */
  async #endOf(taken: StoredRecord): Promise<End> {
    if (this.#kind !== Kind.intent) return NO_END;
    const end = endIn(taken);
    return end.status !== null && isFinal(end.status) ? end : ((await this.#readEnd(taken.luid)) ?? end);
  }

  /** What has become of an intent that is in; null for who may not read it. */
  async #readEnd(luid: string): Promise<End | null> {
    const { status, body } = await this.#read(luid);
    return status === 200 ? endIn(body) : null;
  }

  #read(luid: string): Promise<Answer> {
    return this.#ask(
      (client) => client.get(`${this.#path}/${encodeURIComponent(luid)}`),
      (record) => record.luid === luid,
    );
  }

  /** `isIt`: whether a record that is answered is the one that was asked for. */
  async #ask(request: Ask, isIt: (record: StoredRecord) => boolean): Promise<Answer> {
    const end = performance.now() + this.#options.patienceMs;
    for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
      const { answer, why, waitMs } = await this.#askOnce(request, isIt);
      if (answer !== null) return answer;
      const leftMs = end - performance.now();
      if (leftMs <= 0) throw new NoAnswerError(why);
      // They all wait for the same server: not all of them come back at once.
      await sleep(Math.min(Math.max(waitMs, pause) * (1 + Math.random() / 2), leftMs));
    }
  }

  async #askOnce(request: Ask, isIt: (record: StoredRecord) => boolean): Promise<Attempt> {
    try {
      const answer = await request(this.#connected());
      const { status, body, retryAfter } = answer;
      if (status === TOO_LARGE && !isEnvelope(body)) return TOO_LARGE_FOR_PROXY;
      // What stands before a server may say anything in its place.
      if (!isEnvelope(body) || (status < 300 && !isIt(body)))
        throw new Error(`the answer, of status ${status}, is not the ledger's`);
      if (status < 500 && status !== 408 && status !== 429) return { answer, why: '', waitMs: 0 };
      const { reason, detail } = (body as unknown as Partial<Refusal>).data ?? {};
      return { answer: null, why: `${status} ${reason ?? ''}: ${detail ?? ''}`, waitMs: 1000 * (retryAfter ?? 0) };
    } catch (error) {
      if (error instanceof StrangeAnswerError && error.status === TOO_LARGE) return TOO_LARGE_FOR_PROXY;
      this.#failures++;
      return { answer: null, why: (error as Error).message, waitMs: 0 };
    }
  }

  /** With a token that is good for a while yet. */
  #connected(): Client {
    const now = performance.now();
    if (this.#client !== null && now - this.#clientMadeAt < TOKEN_MS_USED) return this.#client;
    const { keys, ledger } = this.#options;
    const token = keys === null ? {} : { authorization: `Bearer ${makeToken(keys, ledger, TOKEN_SECONDS)}` };
    const headers = { 'x-ledger': ledger, prefer: `wait=${WAIT_SECONDS}`, ...token };
    this.#client = connect(this.#server, headers, { connected: () => this.#connections++ });
    this.#clientMadeAt = now;
    return this.#client;
  }
}

type Ask = (client: Client) => Promise<Answer>;

/** Every answer of a ledger is one, a refusal too. */
function isEnvelope(body: unknown): boolean {
  return isObject(body) && isObject(body.data) && isObject(body.meta) && Array.isArray(body.meta.proofs);
}

interface Attempt {
  /** Null where it is to be asked again. */
  answer: Answer | null;
  why: string;
  waitMs: number;
}

const TOO_LARGE = 413;
const TOO_LARGE_FOR_PROXY: Attempt = {
  answer: {
    status: TOO_LARGE,
    body: {
      data: { reason: String(TOO_LARGE), detail: 'what stands before the server takes none that is so large' },
    } as unknown as StoredRecord,
    retryAfter: null,
  },
  why: '',
  waitMs: 0,
};

type End = Pick<SentAnswer, 'status' | 'reason' | 'detail'>;

const NO_END: End = { status: null, reason: null, detail: null };
/** Of an intent that was in already, and that its sender may not read: it may have been rejected. */
const UNKNOWN_END: End = { ...NO_END, status: 'unknown' };

/** Why, by the server's word: banks say `failed` of their entries too, and whoever may add proofs may say anything. */
function endIn({ luid, meta }: StoredRecord): End {
  // The first that names it is the server's: nobody else knew its luid by then.
  const server = meta.proofs.find(({ custom }) => custom?.luid === luid)?.public;
  const failed = meta.proofs.find((proof) => proof.public === server && proof.custom?.status === 'failed')?.custom;
  const { reason, failId, detail } = (meta.status === 'rejected' && failed) || {};
  // What the bank gives as its reason.
  const said = typeof failId === 'string' ? `${failId}: ${detail}` : detail;
  return { status: meta.status ?? null, reason: textOrNull(reason), detail: textOrNull(said) };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function refusal(of: { line: number } & Partial<Outgoing>, reason: string, detail: string): SentAnswer {
  const { line, handle = null, hash = null } = of;
  return { line, handle, hash, luid: null, outcome: 'refused', status: null, reason, detail };
}
