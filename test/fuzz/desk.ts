/**
 * The whole server but for its sockets and threads, in this process: requests go in as src/http/server.ts hands them
 * over, answers come out as it would send them. Every answer is judged by the checking client before a fuzzer sees it,
 * and none may be one that is not listed: a 5xx, a defect of ours, a reason nobody knows.
 */
import assert from 'node:assert/strict';
import { findLedger } from '../../src/core/state.ts';
import { createApp } from '../../src/http/app.ts';
import { REASONS } from '../../src/http/errors.ts';
import { QUERY_LIMITS } from '../../src/http/query.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import type { Handler } from '../../src/http/server.ts';
import { createTokenChecker, TOKEN_LIMITS } from '../../src/http/tokens.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { Waiters } from '../../src/http/waiters.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import { House, inlinePool, SERVER, type World } from '../engine/house.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { check, type Json, type Reply } from '../support/client.ts';

const ANSWER_MS = 10_000;
const SERVER_KEY = encodeBase64(SERVER.public);
/** Compiled once: it takes milliseconds. */
const validate = compileSchemas();

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
  readonly #app: Handler;
  readonly #defects: Error[] = [];

  static async open(): Promise<Desk> {
    const world = { now: Date.UTC(2030, 0, 2, 12), made: 0 };
    const waiters = new Waiters();
    const house = await House.open(new FakeDisk(), { world, publish: (entries) => waiters.publish(entries) });
    house.state.compileSchema = compileUserSchema;
    return new Desk(house, world, waiters);
  }

  private constructor(house: House, world: World, waiters: Waiters) {
    this.house = house;
    this.world = world;
    this.#app = createApp({
      house: {
        engine: house.engine,
        state: house.state,
        server: SERVER,
        sealer: new Sealer(SERVER),
        pool: inlinePool(),
        waiters,
        validate,
        queryLimits: QUERY_LIMITS,
        listMsMax: ANSWER_MS,
        preferWaitSecondsMax: 0,
        defect: (error) => this.#defects.push(error),
      },
      tokens: createTokenChecker({ ...TOKEN_LIMITS, verify }),
      defaultLedger: findLedger(house.state, 'main'),
      publicUrl: '',
      bodyDepthMax: 64,
    });
  }

  /** Asks, waits for the answer, and judges it; `proofs` false leaves the signatures in it to others. */
  async ask(ask: Ask, proofs = true): Promise<Reply> {
    const reply = await this.#answer(ask);
    const told = `${ask.method} ${ask.path}: ${reply.status} ${reply.text.slice(0, 300)}`;
    assert.deepEqual(
      this.#defects.map((error) => error.stack),
      [],
      told,
    );
    assert.deepEqual(this.house.fatals, [], told);
    assert.ok(reply.status < 500, told);
    if (proofs) check(reply, SERVER_KEY);
    if (reply.status >= 400) {
      const { reason } = reply.body.data;
      assert.ok(Object.hasOwn(REASONS, reason), told);
      const usual = REASONS[reason as keyof typeof REASONS];
      assert.ok(reply.status === usual || reply.status === 405, told);
    }
    return reply;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.ask({ method: 'GET', path, headers });
  }

  send(method: string, path: string, body: Json, headers: Record<string, string> = {}): Promise<Reply> {
    return this.ask({ method, path, headers, body: Buffer.from(JSON.stringify(body)) });
  }

  async close(): Promise<void> {
    await this.house.stop();
  }

  #answer({ method, path, headers = {}, body = new Uint8Array(0) }: Ask): Promise<Reply> {
    const [, where = '', query = ''] = /^([^?]*)\??([\s\S]*)$/.exec(path)!;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${method} ${path}`)), ANSWER_MS);
      this.#app.handle(
        { method, methodSent: method, path: where, query, body, header: (name) => headers[name] ?? '' },
        {
          aborted: false,
          ended: false,
          send(status, sent, more = []) {
            clearTimeout(late);
            const text = typeof sent === 'string' ? sent : Buffer.from(sent).toString();
            const given = new Headers(more.map(([name, value]) => [name, value] as [string, string]));
            resolve({ status, headers: given, text, body: text === '' ? undefined : JSON.parse(text) });
          },
        },
      );
    });
  }
}
