/**
 * A small client of the service: signs records as any client does, sends them, reads them back, and
 * checks every signature of what it reads. `ayni send`, the demos and the benches use it, and the audit for a head.
 *
 * It holds no state of the ledger: what it says about a record, it has computed from the record alone.
 */
import type * as http from 'node:http';
import { agentFor, failureText, protocolOf } from '../client/agent.ts';
import { makeRecord, type SignedRecord } from '../client/records.ts';
import { canon } from '../proof/canon.ts';
import { proofDigestHex, sha256Hex } from '../proof/digest.ts';
import { decodePublic, decodeSignature, type KeyPair } from '../proof/keys.ts';
import { verify } from '../proof/verify.ts';

const ANSWER_MS_MAX = 30_000;
/** A record, to which anybody may have added four mebi of characters in proofs, or a long page of those. */
const ANSWER_CHARS_MAX = 64 * 1024 * 1024;

export type { SignedRecord } from '../client/records.ts';

/** A record as the service answers it. */
export interface StoredRecord extends SignedRecord {
  luid: string;
  meta: SignedRecord['meta'] & { status?: string; moment?: string };
}

/** Status of the answer and its body, which is an error envelope where the status is 400 or above. */
export interface Answer<Body = StoredRecord> {
  status: number;
  body: Body;
  /** In how many seconds to send the very same again, where the answer says so. */
  retryAfter: number | null;
}

/** The members a refusal has beside `hash` and `meta`. */
export interface Refusal {
  data: { reason: string; detail: string; custom?: Record<string, unknown> };
}

export interface Client {
  /** Sends `body` with POST. Rejects where no whole answer came: then the record is in, or it is not. */
  post(path: string, body: unknown): Promise<Answer>;
  get<Body = StoredRecord>(path: string): Promise<Answer<Body>>;
}

/** An answer that is no JSON: of what stands before a server, most likely. */
export class StrangeAnswerError extends Error {
  override name = 'StrangeAnswerError';
  readonly status: number;

  constructor(status: number) {
    super(`the answer, of status ${status}, is no JSON`);
    this.status = status;
  }
}

interface ClientOptions {
  /** How long each answer is waited for, all of it. */
  answerMsMax?: number;
  /** Whose connections it takes: clients that have one share them. */
  agent?: http.Agent;
  /** Told of each new connection, before anything is answered on it. */
  connected?(): void;
}

/** A client of the service at `url`, which ends in `/v2`; paths begin with a slash. `headers` go with every request. */
export function connect(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  { agent = agentFor(url), ...options }: ClientOptions = {},
): Client {
  return {
    post: (path, body) => exchange(agent, 'POST', `${url}${path}`, headers, JSON.stringify(body), options),
    get: (path) => exchange(agent, 'GET', `${url}${path}`, headers, null, options),
  };
}

function exchange<Body>(
  agent: http.Agent,
  method: string,
  url: string,
  own: Readonly<Record<string, string>>,
  body: string | null,
  { answerMsMax = ANSWER_MS_MAX, connected }: Omit<ClientOptions, 'agent'>,
): Promise<Answer<Body>> {
  const content =
    body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const headers = { ...own, ...content };
  const { request } = protocolOf(url);
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length <= ANSWER_CHARS_MAX) return;
        reject(new Error('the answer is too large'));
        sending.destroy();
      });
      response.once('error', reject);
      response.once('end', () => {
        try {
          const { 'retry-after': after } = response.headers;
          const retryAfter = after === undefined || !/^\d+$/.test(after) ? null : Number(after);
          resolve({ status: response.statusCode!, body: JSON.parse(text) as Body, retryAfter });
        } catch {
          reject(new StrangeAnswerError(response.statusCode!));
        }
      });
    });
    sending.once('socket', () => {
      if (!sending.reusedSocket) connected?.();
    });
    const late = setTimeout(() => {
      reject(new Error(`no answer within ${answerMsMax / 1000} s`));
      sending.destroy();
    }, answerMsMax);
    sending.once('error', (error) => reject(new Error(failureText(error), { cause: error })));
    sending.once('close', () => {
      clearTimeout(late);
      // Not every end is an error: an answer that changes the protocol (101) just ends. After a whole one it says
      // nothing.
      reject(new Error('no answer'));
    });
    sending.end(body ?? undefined);
  });
}

/** The record of `data` with one proof by `keys`, whose custom says when it was signed and `status: created`. */
export function signRecord(data: Record<string, unknown>, keys: KeyPair): SignedRecord {
  return makeRecord(data, { moment: new Date().toISOString(), status: 'created' }, keys);
}

/**
 * Why the record cannot be believed, or null: its hash does not follow from its data, a digest not from
 * the hash, a signature does not verify, or it has no proof at all.
 */
export function findLie(record: SignedRecord): string | null {
  if (sha256Hex(canon(record.data)) !== record.hash.toLowerCase()) return 'its hash is not that of its data';
  if (record.meta.proofs.length === 0) return 'it has no proof';
  for (const [position, proof] of record.meta.proofs.entries()) {
    const digest = proofDigestHex(record.hash, proof.custom === undefined ? null : canon(proof.custom));
    if (digest !== proof.digest.toLowerCase()) return `the digest of proof ${position} is not that of its record`;
    const [key, signature] = [decodePublic(proof.public), decodeSignature(proof.result)];
    if (!key || !signature || !verify(key, Buffer.from(digest, 'hex'), signature)) {
      return `the signature of proof ${position} does not verify`;
    }
  }
  return null;
}
