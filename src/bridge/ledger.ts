/**
 * The ledger as the bank sees it: an address requests are sent to, and a public key. Each request has a time limit, and
 * each answer that is read a size limit; no redirect is followed.
 */
import type * as http from 'node:http';
import type * as https from 'node:https';
import { agentFor, failureText, protocolOf } from '../client/agent.ts';
import { parseObject } from '../client/json.ts';
import { findForgery } from './records.ts';

export interface LedgerAnswer {
  status: number;
  text: string;
}

/** The ledger cannot be reached, or not now: later it may. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

const ANSWER_MS_MAX = 10_000;
/**
 * The longest answer that is read: a record, to which others may have added proofs of 4 Mi characters, of three bytes
 * each.
 */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

export class Ledger {
  /** Ends in /v2, or wherever the paths below begin. */
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #client: typeof http | typeof https;
  readonly #agent: http.Agent;

  /** `handle` selects one of the server's ledgers; '' its default one. */
  constructor(url: string, handle: string, socketsMax: number) {
    this.url = url.replace(/\/+$/, '');
    this.#headers = handle === '' ? {} : { 'x-ledger': handle };
    this.#client = protocolOf(url);
    this.#agent = agentFor(url, { maxSockets: socketsMax });
  }

  /**
   * The ledger's answer. Rejects with UnreachableError where the ledger is busy, starting or stopping, and where no
   * whole answer came in time: then the request may have been done, or not.
   */
  async ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<LedgerAnswer> {
    const answer = await this.#exchange(method, path, body, more, readAnswer);
    const isForNow = answer.status >= 500 || answer.status === 429;
    if (isForNow) throw new UnreachableError(`${this.url}${path} answers ${answer.status}`);
    return answer;
  }

  /**
   * The answer's status alone. The answer to a report shows the whole intent, to which others may have added megabytes:
   * its body is thrown away, however long it is. Rejects with UnreachableError where no answer began in time.
   */
  tell(path: string, body: unknown): Promise<number> {
    return this.#exchange('POST', path, body, {}, passAnswer);
  }

  #exchange<T>(
    method: string,
    path: string,
    body: unknown,
    more: Record<string, string>,
    take: (response: http.IncomingMessage, resolve: (taken: T) => void, reject: (error: Error) => void) => void,
  ): Promise<T> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      ...this.#headers,
      ...more,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(text)}` }),
    };
    return new Promise((resolve, fail) => {
      const reject = (error: Error): void => fail(new UnreachableError(`${this.url}: ${failureText(error)}`));
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const options = { method, agent: this.#agent, headers, signal };
      const sending = this.#client.request(`${this.url}${path}`, options, (response) =>
        take(response, resolve, reject),
      );
      sending.once('error', reject);
      // Not every end is an error: an answer that changes the protocol (101) just ends. After a whole answer this does
      // nothing.
      sending.once('close', () => reject(new Error('no answer')));
      sending.end(text);
    });
  }

  /**
   * The key of the ledger's signer `system`. Rejects where no answer comes, or one that is not signed by that very key.
   */
  async fetchKey(): Promise<string> {
    const { status, text } = await this.ask('GET', '/signers/system');
    const record = status === 200 ? parseObject(Buffer.from(text)) : null;
    const key = (record?.data as { public?: unknown } | undefined)?.public;
    if (typeof key !== 'string')
      throw new Error(`${this.url}/signers/system answers ${status}, and no key; name it by --key`);
    const forgery = findForgery(record, key, 'the signer');
    if (forgery !== null) throw new Error(`${this.url}/signers/system: ${forgery.detail}`);
    return key;
  }

  /**
   * The handle of the ledger that it speaks to, as the server with this key has signed it. Rejects where it has not.
   */
  async fetchHandle(key: string): Promise<string> {
    const { status, text } = await this.ask('GET', '');
    const record = status === 200 ? parseObject(Buffer.from(text)) : null;
    const handle = (record?.data as { ledger?: unknown } | undefined)?.ledger;
    if (typeof handle !== 'string') throw new Error(`${this.url} answers ${status}, and no ledger`);
    const forgery = findForgery(record, key, 'the status');
    if (forgery !== null) throw new Error(`${this.url}: ${forgery.detail}`);
    return handle;
  }

  close(): void {
    this.#agent.destroy();
  }
}

function readAnswer(
  response: http.IncomingMessage,
  resolve: (answer: LedgerAnswer) => void,
  reject: (error: Error) => void,
): void {
  const parts: Buffer[] = [];
  let length = 0;
  response.on('data', (part: Buffer) => {
    length += part.length;
    if (length > ANSWER_BYTES_MAX) response.destroy(new Error('the answer is too large'));
    else parts.push(part);
  });
  response.once('error', reject);
  response.once('end', () => resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString() }));
}

/** Reads the body and throws it away, so that the connection can be used again. */
function passAnswer(response: http.IncomingMessage, resolve: (status: number) => void): void {
  // It may break off, or take longer than is waited for: the status is here.
  response.once('error', () => {});
  response.resume();
  resolve(response.statusCode!);
}
