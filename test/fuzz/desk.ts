/**
 * The whole server but for its sockets and threads, in this process: requests go in as src/http/server.ts hands them
 * over, answers come out as it would send them. Every answer is judged by the checking client before a fuzzer sees it,
 * and none may be one that is not listed: a 5xx, a defect of ours, a reason nobody knows.
 */
import assert from 'node:assert/strict';
import { findLedger } from '../../src/core/finding.ts';
import type { MemorySizes } from '../../src/core/state.ts';
import { Effects, settledTimers } from '../../src/effects/index.ts';
import type { Answer } from '../../src/effects/outgoing.ts';
import type { EngineOptions } from '../../src/engine.ts';
import { createApp } from '../../src/http/app.ts';
import { REASONS } from '../../src/http/errors.ts';
import { LongAnswers } from '../../src/http/long-answers.ts';
import type { Handler, Reply as HttpReply } from '../../src/http/request.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import { RecordTexts } from '../../src/http/texts.ts';
import { createTokenChecker } from '../../src/http/tokens.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { Waiters } from '../../src/http/waiters.ts';
import { Walks } from '../../src/http/walks.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import { Clock } from '../effects/clock.ts';
import { House, inlinePool, SERVER, type World } from '../engine/house.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { textIn } from '../support/body.ts';
import { check, type Json, type Keys, type Reply, record } from '../support/client.ts';
import { whenLate } from '../support/late.ts';

/** Answers take milliseconds. */
const ANSWER_MS = 30_000;
/** Between two requests the clock of deliveries goes on by so much. */
const STEP_MS = 700;
/** Of texts that are kept: those of records, and of events. */
const TEXTS_BYTES_MAX = 256 * 1024;
const SERVER_KEY = encodeBase64(SERVER.public);
/** Compiled once: it takes milliseconds. */
const limits = { claimsMax: 10_000, proofsMax: 256 };
const validate = compileSchemas(limits);

export interface Ask {
  method: string;
  /** As sent, with what follows `?`. */
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array;
}

export class Desk {
  readonly house: House;
  readonly world: World;
  readonly effects: Effects;
  readonly longAnswers = new LongAnswers();
  readonly walks = new Walks();
  readonly app: Handler;
  readonly #defects: Error[] = [];
  readonly #clock = new Clock();
  #calls = 0;

  static async open(
    sizes: MemorySizes = {},
    options: Partial<EngineOptions> = {},
    listMsMax = Number.POSITIVE_INFINITY,
    preferWaitSecondsMax = 0,
  ): Promise<Desk> {
    const world = { now: Date.UTC(2030, 0, 2, 12), made: 0 };
    const waiters = new Waiters();
    let desk: Desk | undefined;
    const publish: EngineOptions['publish'] = (entries, seq) => {
      waiters.publish(entries, seq);
      desk?.effects.publish(entries, seq);
    };
    const house = await House.open(new FakeDisk(), { world, publish, sizes, ...options });
    house.state.compileSchema = compileUserSchema;
    desk = new Desk(house, world, waiters, listMsMax, preferWaitSecondsMax);
    return desk;
  }

  private constructor(house: House, world: World, waiters: Waiters, listMsMax: number, preferWaitSecondsMax: number) {
    this.house = house;
    this.world = world;
    const sealer = new Sealer(SERVER);
    const { state, engine } = house;
    const defect = (error: Error) => this.#defects.push(error);
    this.effects = new Effects({
      state,
      sealer,
      timers: settledTimers(this.#clock, (work) => engine.whenCallable(work)),
      call: this.#call,
      callsInFlightMax: 16,
      bridgeCallsMax: 4,
      bridgeAttemptsMax: 3,
      eventBytesMax: TEXTS_BYTES_MAX,
      seq: house.journal.position.seq,
      defect,
      inform: () => {},
      note: (what, done) => engine.note(what, done),
    });
    this.app = createApp({
      engine,
      state,
      server: SERVER,
      bodyBytesMax: 1024 * 1024,
      sealer,
      texts: new RecordTexts(TEXTS_BYTES_MAX, state.cacheShare),
      pool: inlinePool(),
      waiters,
      walks: this.walks,
      longAnswers: this.longAnswers,
      effects: this.effects,
      head: () => house.journal.position,
      validate,
      clock: () => world.now,
      pageLimitMax: 100,
      listMsMax,
      listProofMsMax: ANSWER_MS,
      preferWaitSecondsMax,
      defect,
      tokens: createTokenChecker(verify, state.cacheShare),
      defaultLedger: findLedger(house.state, 'main'),
      publicUrl: '',
      bodyDepthMax: 64,
      limits,
    });
  }

  /** Asks, waits for the answer, and judges it; `proofs` false leaves the signatures in it to others. */
  async ask(ask: Ask, proofs = true): Promise<Reply> {
    const reply = await this.#answer(ask);
    await this.#clock.run(STEP_MS);
    const told = `${ask.method} ${ask.path}: ${reply.status} ${reply.text.slice(0, 300)}`;
    assert.deepEqual(
      this.#defects.map((error) => error.stack),
      [],
      told,
    );
    assert.deepEqual(this.house.fatals, [], told);
    const { engine } = this.house;
    const mayRefuse = engine.room.whatIsFull(true) !== null || engine.isCutOff;
    assert.ok(reply.status < 500 || (mayRefuse && reply.status === 503), told);
    if (proofs) check(reply, SERVER_KEY);
    if (reply.status >= 400) {
      const { reason } = reply.body.data;
      assert.ok(Object.hasOwn(REASONS, reason), told);
      const usual = REASONS[reason as keyof typeof REASONS];
      assert.ok(reply.status === usual || reply.status === 405 || (mayRefuse && reply.status === 503), told);
    }
    return reply;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.ask({ method: 'GET', path, headers });
  }

  send(method: string, path: string, body: Json, headers: Record<string, string> = {}): Promise<Reply> {
    return this.ask({ method, path, headers, body: Buffer.from(JSON.stringify(body)) });
  }

  /** A new record with this data, which these have signed. */
  post(path: string, data: Json, signers: Keys | Keys[], headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', `/v2/${path}`, record(data, signers), headers);
  }

  async close(): Promise<void> {
    this.effects.close();
    await this.house.stop();
  }

  /** The other side of bridges and webhooks: it takes most of what it is told. */
  readonly #call = async (): Promise<Answer> => {
    const turn = this.#calls++ % 8;
    if (turn === 3) return { error: 'nobody answers' };
    return { status: turn === 5 ? 500 : turn === 6 ? 501 : 202 };
  };

  /** Asks for a client who hangs up when what this returns is called, before there is an answer. */
  askAndHangUp(ask: Ask): () => void {
    const send = () => {
      if (!reply.aborted) this.#defects.push(new Error(`${ask.method} ${ask.path} was answered before`));
    };
    const reply = { aborted: false, whenGone() {}, stay() {}, send };
    this.#hand(ask, reply);
    return () => {
      reply.aborted = true;
    };
  }

  #hand({ method, path, headers = {}, body = new Uint8Array(0) }: Ask, reply: HttpReply): void {
    const [, where = '', query = null] = /^([^?]*)(?:\?([\s\S]*))?$/.exec(path)!;
    const header = (name: string) => headers[name] ?? '';
    const request = { method, methodSent: method, path: where, query, body, header, forgetHead() {} };
    const refusal = this.app.admit(request);
    if (refusal === null) this.app.handle(request, reply);
    else this.app.refuse(refusal, reply);
  }

  #answer(ask: Ask): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const answered = whenLate(ANSWER_MS, () => reject(new Error(`no answer to ${ask.method} ${ask.path}`)));
      this.#hand(ask, {
        aborted: false,
        whenGone() {},
        stay() {},
        send(status, body, more = []) {
          answered();
          const text = textIn(body);
          const given = new Headers(more.map(([name, value]) => [name, value] as [string, string]));
          resolve({ status, headers: given, text, body: text === '' ? undefined : JSON.parse(text) });
        },
      });
    });
  }
}
