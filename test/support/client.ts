/**
 * A client of the interface that shares no line with the server: its own canonical JSON, hashes, signatures
 * (node:crypto) and tokens. Every reply that passes through `connect(...).call` is checked before a test sees
 * it: hash over data, digest and signature of every proof, the server's own proof, the error envelope.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';

/** What a server sent or shall be sent: a test looks into it member by member. */
// biome-ignore lint/suspicious/noExplicitAny: the tests judge the shape, so nothing may be assumed about it
export type Json = any;

export interface Keys {
  public: string;
  secret: string;
  key: KeyObject;
}

interface Proof {
  method: string;
  public: string;
  digest: string;
  result: string;
  custom?: Json;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: Json;
}

const SECRET_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');

/** Canonical JSON: keys sorted by UTF-16 code units, no white space, ECMAScript forms of numbers and strings. */
export function canon(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item) => canon(item === undefined ? null : item)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canon(value[key])}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

export function hashOf(data: Json): string {
  return sha256(canon(data));
}

export function makeKeys(seed: Buffer = randomBytes(32)): Keys {
  const key = createPrivateKey({ key: Buffer.concat([SECRET_DER, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return { key, secret: seed.toString('base64'), public: spki.subarray(PUBLIC_DER.length).toString('base64') };
}

/** A signature over a record's hash, as a client sends it. */
export function proof(hash: string, keys: Keys, custom?: Json): Proof {
  const digest = sha256(custom === undefined ? hash : hash + canon(custom));
  const result = sign(null, Buffer.from(digest, 'hex'), keys.key).toString('base64');
  const bare = { method: 'ed25519-v2', public: keys.public, digest, result };
  return custom === undefined ? bare : { ...bare, custom };
}

/** A signed body `{hash, data, meta}`; the n-th key signs with the n-th custom. */
export function record(data: Json, keys: Keys | Keys[], customs: Json[] = []): Json {
  const hash = hashOf(data);
  const signers = Array.isArray(keys) ? keys : [keys];
  return { hash, data, meta: { proofs: signers.map((signer, n) => proof(hash, signer, customs[n])) } };
}

/** Whether `given` is a true signature over `hash`: the digest recomputed, the signature by node:crypto. */
export function proofHolds(hash: string, given: Proof): boolean {
  if (given.method !== 'ed25519-v2') return false;
  const digest = sha256(given.custom === undefined ? hash : hash + canon(given.custom));
  if (given.digest !== digest) return false;
  const raw = Buffer.from(given.public, 'base64');
  const result = Buffer.from(given.result, 'base64');
  if (raw.length !== 32 || result.length !== 64) return false;
  return verify(null, Buffer.from(digest, 'hex'), publicKeyOf(raw), result);
}

/** Keys are few, and making one takes as long as a verification. */
const publicKeys = new Map<string, KeyObject>();

function publicKeyOf(raw: Buffer): KeyObject {
  const name = raw.toString('base64');
  const known = publicKeys.get(name);
  if (known !== undefined) return known;
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_DER, raw]), format: 'der', type: 'spki' });
  publicKeys.set(name, key);
  return key;
}

/** Throws unless the hash is that of the data, every proof holds and one of them is the server's. */
export function verifyRecord(given: Json, server: string): void {
  const lie = (what: string): never => {
    throw new Error(`${what}: ${JSON.stringify(given).slice(0, 1500)}`);
  };
  if (given === null || typeof given !== 'object') lie('not a record');
  if (given.hash !== hashOf(given.data)) lie(`hash is not that of data (${hashOf(given.data)})`);
  const proofs: Json = given.meta?.proofs;
  if (!Array.isArray(proofs)) lie('meta.proofs is missing');
  for (const [n, one] of proofs.entries()) if (!proofHolds(given.hash, one)) lie(`proof ${n} does not hold`);
  if (!proofs.some((one: Proof) => one.public === server)) lie("the server's own proof is missing");
}

/** Throws unless a list envelope and every row of it are true. Balance, limit and event rows carry no proofs. */
export function verifyList(given: Json, server: string): void {
  verifyRecord(given, server);
  for (const row of given.data) {
    if (row?.hash === undefined) continue;
    if (row.meta?.proofs === undefined && /^\$(wbl|evd)\./.test(row.luid ?? '')) {
      if (row.hash !== hashOf(row.data)) throw new Error(`row with a wrong hash: ${JSON.stringify(row)}`);
    } else verifyRecord(row, server);
  }
}

/** A path of this machine or a line of a stack: nothing of the kind belongs in an answer. */
const INSIDES = /node_modules|file:\/\/|\.[jt]s:\d+|\/(src|work|tmp|home|root|dist)\/|\n\s+at /;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function verifyError(given: Json, text: string, server: string): void {
  verifyRecord(given, server);
  const { reason, detail } = given.data;
  const families = /^(api|record|crypto|auth)\.[a-z-]+$/;
  if (!families.test(reason)) throw new Error(`not a reason of an answer: ${reason}`);
  if (typeof detail !== 'string' || detail === '') throw new Error(`error without a detail: ${text}`);
  if (INSIDES.test(text)) throw new Error(`an answer shows its insides: ${text}`);
  const own = given.meta.proofs.find((one: Proof) => one.public === server);
  if (!MOMENT.test(own.custom?.moment ?? '')) throw new Error(`error proof without a moment: ${text}`);
}

export interface Client {
  url: string;
  server: string;
  call(method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<Reply>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body: Json, headers?: Record<string, string>): Promise<Reply>;
  put(path: string, body: Json, headers?: Record<string, string>): Promise<Reply>;
  del(path: string, body?: Json, headers?: Record<string, string>): Promise<Reply>;
}

/**
 * A client of one server. `fixed` headers go with every request. A body that is a string or bytes is sent as it
 * stands, anything else as JSON. `path` is relative to the url, which ends in /v2.
 */
export function connect(at: { url: string; publicKey: string }, fixed: Record<string, string> = {}): Client {
  async function call(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Reply> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const init: RequestInit = { method, headers: { 'content-type': 'application/json', ...fixed, ...headers } };
    if (body !== undefined) init.body = raw ? body : JSON.stringify(body);
    const response = await fetch(at.url + path, init);
    const text = await response.text();
    const reply: Reply = { status: response.status, headers: response.headers, text, body: undefined };
    if (text !== '') reply.body = readJson(text, response);
    check(reply, at.publicKey);
    return reply;
  }
  return {
    url: at.url,
    server: at.publicKey,
    call,
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    del: (path, body, headers) => call('DELETE', path, body, headers),
  };
}

function readJson(text: string, response: Response): Json {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) throw new Error(`content-type ${type}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** What holds of every answer, whatever was asked. */
export function check(reply: Reply, server: string): void {
  if (reply.status >= 400) {
    if (reply.body === undefined) throw new Error(`${reply.status} without a body`);
    verifyError(reply.body, reply.text, server);
    // Of what a server that only shows its books never does, or a full one does no more, there is nothing to wait for.
    const isForGood = /only shows its books|books are full:/.test(reply.body.data.detail);
    const again = reply.status === 429 || (reply.status === 503 && !isForGood);
    if (again && !reply.headers.get('retry-after')) throw new Error(`${reply.status} without Retry-After`);
  } else if (typeof reply.body === 'string' || reply.body === undefined) return;
  else if (Array.isArray(reply.body.data)) verifyList(reply.body, server);
  else verifyRecord(reply.body, server);
}

/** A JWT signed by `keys`; `header` and `claims` are taken as they are. */
export function makeToken(claims: Json, keys: Keys, header: Json = {}): string {
  const encode = (part: Json): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encode({ alg: 'EdDSA', kid: keys.public, ...header })}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), keys.key).toString('base64url')}`;
}

/** The header of a token by these keys for a ledger, good for five minutes; `more` says what else it claims. */
export function bearer(keys: Keys, ledger = 'main', more: Json = {}): Record<string, string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'judge', sub: 'judge', aud: ledger, iat: now, exp: now + 300, ...more };
  return { authorization: `Bearer ${makeToken(claims, keys)}` };
}
