/**
 * Bearer tokens: JWTs (RFC 7519) signed with Ed25519, as the ledger's clients make them.
 *
 * A token is checked in steps, because its `hsh` covers the body and the body is only parsed for a
 * caller whose token holds: `check` looks at form, times and audience, who called it has the signature verified where
 * that is to be done elsewhere, and `checkRequestHash` looks at what the token says about the request. Every token that
 * is sent is checked, needed or not.
 *
 * What always holds: the algorithm is EdDSA whatever the token says; a token from the cache has had its
 * signature verified under the very key that its `kid` names now, and is still checked for its times,
 * its audience and its request. Refusals tell which rule failed and nothing of the token.
 */
import type { Bearer } from '../core/access/index.ts';
import { isAddress } from '../core/address.ts';
import { equalBytes } from '../core/bytes.ts';
import { isObject } from '../core/objects.ts';
import { ownText } from '../core/own-text.ts';
import { isRefusal } from '../core/refusal.ts';
import { TOKEN_LIFE_SECONDS_MAX, TOKEN_SKEW_SECONDS } from '../core/used-tokens.ts';
import { Recent } from '../memory/index.ts';
import { canon } from '../proof/canon.ts';
import { sha256Hex } from '../proof/digest.ts';
import { decodePublic, encodeBase64 } from '../proof/keys.ts';
import { CHECK_BYTES, layCheck, SIGNATURE_BYTES, TEXT_BYTES_MAX } from '../proof/slab.ts';
import { withoutSlashes } from '../url-text.ts';
import { type Refusal, refuse } from './errors.ts';
import { parseJson } from './json.ts';

export interface Token extends Omit<Bearer, 'hsh'> {
  /** Seconds since 1970. */
  readonly iat: number;
  readonly exp: number;
  /** Good once until `exp`; whoever keeps state sees to that. */
  readonly jti: string | null;
  /** What the token says about the request, to be given to checkRequestHash. */
  readonly hsh: string | null;
  /** Its key in base64. */
  readonly public: string;
}

/** A token of which all that is left is to verify its signature. */
export interface Unverified {
  /** As a job of the proof pool has it: public key, nothing, signature; and what that is over. */
  readonly checks: Uint8Array;
  readonly text: Uint8Array;
  /** What it is now that this is known: its times, its key and whom it speaks to are looked at as they are by then. */
  settle(holds: boolean, context: TokenContext): Token | Refusal;
}

/** The acceptance rule for Ed25519. */
type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

const TOKEN_CHARS_MAX = 8192;
/** Of the header, with what stands before the token. */
const AUTHORIZATION_CHARS_MAX = TOKEN_CHARS_MAX + 64;
/**
 * Of tokens whose verified signature is remembered, and what they say: some four thousand usual ones. Whoever has no
 * right at all may send good ones as well, as long as they may be.
 */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024;
/** What one takes beside its text; and for each of its characters, since what it says may have wide ones. */
const REMEMBERED_BYTES = 512;
const CHAR_BYTES = 3;
/** As much more is remembered of what stands before them. */
const HEADS_PART = 1 / 4;

/** What a token is checked against. */
export interface TokenContext {
  /**
   * Seconds since 1970 by the clock as it is now. The moments of entries never go back, so after a clock that was
   * ahead they would refuse for hours what holds.
   */
  readonly now: number;
  /** Handle of the selected ledger. */
  readonly audience: string;
  /** Public key of a signer of that ledger, 32 raw bytes, or null for an unknown one. */
  keyOf(handle: string): Uint8Array | null;
}

/** What an `hsh` covers. */
export interface HashedRequest {
  readonly method: string;
  /** Absolute, as the client sent it; see absoluteUrl. */
  readonly url: string;
  header(name: string): string;
  /** The body in canonical form; see hashedBody. */
  body(): string;
}

export interface TokenChecker {
  /** Takes the authorization header as sent. A token that is too long for the proof pool is verified here. */
  check(authorization: string, context: TokenContext): Token | Unverified | Refusal;
}

const JSON_DEPTH_MAX = 8;
const HASHED_HEADERS_MAX = 32;

/** A token's claims, with what led to the key. */
interface Known extends Token {
  readonly head: Head;
  readonly nbf: number | null;
}

/**
 * Checks tokens, and remembers which were verified. `cacheShare`: what V8 has room for of what is remembered, 0 to 1.
 */
export function createTokenChecker(verify: Verify, cacheShare: number): TokenChecker {
  const rememberedBytesMax = REMEMBERED_BYTES_MAX * cacheShare;
  const verified = new Recent<string, Known>(rememberedBytesMax, rememberedBytes);
  /** What those who send tokens write before them is always the same. */
  const heads = new Recent<string, Head>(rememberedBytesMax * HEADS_PART, rememberedBytes);

  return {
    check(authorization, context) {
      if (authorization.length > AUTHORIZATION_CHARS_MAX) return unauthorized('token is too large');
      const text = bearerOf(authorization);
      if (text === null) return unauthorized('authorization must be a bearer token');
      if (text.length > TOKEN_CHARS_MAX) return unauthorized('token is too large');

      const known = verified.get(text);
      if (known !== undefined) {
        const key = keyOf(known.head, context);
        if (isRefusal(key)) return key;
        if (equalBytes(key, known.key)) return checkClaims(known, context);
      }

      const read = readToken(text, context, heads);
      if (isRefusal(read)) return read;
      const { token, headerText, message, signature } = read;
      const settle = (holds: boolean, then: TokenContext) => {
        const key = keyOf(token.head, then);
        if (isRefusal(key)) return key;
        if (!holds || !equalBytes(key, token.key)) return unauthorized('token signature is invalid');
        const result = checkClaims(token, then);
        if (isRefusal(result)) return result;
        verified.set(ownText(text), token);
        heads.set(ownText(headerText), token.head);
        return result;
      };
      if (message.length > TEXT_BYTES_MAX) return settle(verify(token.key, message, signature), context);
      const checks = Buffer.alloc(CHECK_BYTES);
      layCheck(checks, 0, token.key, '', signature);
      return { checks, text: message, settle };
    },
  };
}

/** What is remembered with a text, of what it says. */
function rememberedBytes(_: unknown, text: string): number {
  return REMEMBERED_BYTES + CHAR_BYTES * text.length;
}

export function isUnverified(token: Token | Unverified): token is Unverified {
  return 'settle' in token;
}

function unauthorized(detail: string): Refusal {
  return refuse('auth.unauthorized', detail);
}

function bearerOf(authorization: string): string | null {
  return /^bearer +([^\s]+)$/i.exec(authorization.trim())?.[1] ?? null;
}

/**
 * What a token says, and what says that. Everything is looked at that does not depend on the time, but its signature.
 */
function readToken(
  text: string,
  context: TokenContext,
  heads: Recent<string, Head>,
): { token: Known; headerText: string; message: Uint8Array; signature: Uint8Array } | Refusal {
  const [headerText, payloadText, signatureText, ...rest] = text.split('.');
  if (headerText === undefined || payloadText === undefined || signatureText === undefined || rest.length > 0) {
    return unauthorized('token must have three parts');
  }
  const head = heads.get(headerText) ?? readHead(headerText);
  const payload = decodeObject(payloadText);
  const signature = decodeBase64Url(signatureText);
  if (head === null || payload === null || signature === null || signature.length !== SIGNATURE_BYTES) {
    return unauthorized('token is malformed');
  }
  if (isRefusal(head)) return head;
  const claims = readClaims(payload);
  if (isRefusal(claims)) return claims;

  const key = keyOf(head, context);
  if (isRefusal(key)) return key;
  const { iss, sub, aud, iat, exp, nbf, jti, hsh } = claims;
  const publicText = head.own === null ? encodeBase64(key) : head.kid;
  // Member by member: V8 takes several times as long to spread what is there into a literal.
  const token = { iss, sub, aud, iat, exp, nbf, jti, hsh, head, key, public: publicText };
  const message = Buffer.from(text.slice(0, -signatureText.length - 1), 'latin1');
  return { token, headerText, message, signature };
}

/** What a header says. */
interface Head {
  /** The handle of a signer, or a key in base64. */
  readonly kid: string;
  /** That key, null where it is a handle. */
  readonly own: Uint8Array | null;
}

function readHead(text: string): Head | Refusal | null {
  const header = decodeObject(text);
  if (header === null) return null;
  const { alg, kid } = header;
  if (alg !== 'EdDSA') return unauthorized('token must be signed with EdDSA');
  if (Object.hasOwn(header, 'crit')) return unauthorized('token has critical header parameters');
  if (typeof kid !== 'string' || kid === '') return unauthorized('token must name its key in kid');
  const own = decodePublic(kid);
  if (own === null && !isAddress(kid)) return unauthorized('token must name a key, or the handle of a signer, in kid');
  return { kid, own };
}

function keyOf({ kid, own }: Head, context: TokenContext): Uint8Array | Refusal {
  const key = own ?? context.keyOf(kid);
  return key ?? refuse('record.not-found', 'signer of the token not found');
}

type Claims = Omit<Known, 'head' | 'key' | 'public'>;

function readClaims(payload: Record<string, unknown>): Claims | Refusal {
  const { iss, sub, aud, iat, exp, nbf = null, jti = null, hsh = null } = payload;
  if (!isText(iss) || !isText(sub) || !isText(aud)) return unauthorized('token must have iss, sub and aud');
  if (!isTime(iat) || !isTime(exp)) return unauthorized('token must have iat and exp in seconds');
  if (exp < iat) return unauthorized('token ends before it is issued');
  if (nbf !== null && !isTime(nbf)) return unauthorized('token has a malformed nbf');
  if (jti !== null && !isText(jti)) return unauthorized('token has a malformed jti');
  if (hsh !== null && !isText(hsh)) return unauthorized('token has a malformed hsh');
  if (jti !== null && exp - iat > TOKEN_LIFE_SECONDS_MAX) {
    return unauthorized(`token with jti must not live longer than ${TOKEN_LIFE_SECONDS_MAX} seconds`);
  }
  return { iss, sub, aud, iat, exp, nbf, jti, hsh };
}

/** Milliseconds since 1970, of any moment after March 1973, would be a year after 5000 in seconds. */
const MS_MIN = 1e11;
const inMs = (time: number) => (time < MS_MIN ? '' : ': its times are to be in seconds');

/** What changes from request to request: times and the ledger spoken to. */
function checkClaims(token: Known, context: TokenContext): Token | Refusal {
  if (token.exp < context.now) return unauthorized('token is expired');
  if (token.iat > context.now + TOKEN_SKEW_SECONDS)
    return unauthorized(`token is issued in the future${inMs(token.iat)}`);
  if (token.nbf !== null && token.nbf > context.now + TOKEN_SKEW_SECONDS) return unauthorized('token is not valid yet');
  if (token.aud !== context.audience) return unauthorized('token is for another ledger');
  return token;
}

/**
 * Whether the token's `hsh` is that of the request; null where it is, or where the token has none.
 * Form: hex SHA-256 of canon({method, url, headers, body}), and `:name,name` where headers are covered.
 */
export function checkRequestHash(token: Token, request: HashedRequest): Refusal | null {
  if (token.hsh === null) return null;
  const parts = /^([0-9a-fA-F]{64})(?::([\x21-\x7e]{1,1024}))?$/.exec(token.hsh);
  if (parts === null) return unauthorized('token has a malformed hsh');
  const names = parts[2]?.toLowerCase().split(',') ?? [];
  if (names.length > HASHED_HEADERS_MAX) return unauthorized('token covers too many headers');
  const headers: Record<string, string> = Object.create(null);
  for (const name of names) {
    const value = request.header(name);
    if (value === '') return unauthorized(`token covers the header ${name}, which the request does not have`);
    headers[name] = value;
  }
  const { method, url } = request;
  const covered = `{"body":${request.body()},"headers":${names.length > 0 ? canon(headers) : 'null'},"method":${canon(method)},"url":${canon(url)}}`;
  if (sha256Hex(covered) !== parts[1]!.toLowerCase())
    return unauthorized(
      'token hsh does not match the request: its method, body, the headers it names, and its URL as the client sent it',
    );
  return null;
}

/**
 * The URL a client sent a request to. With a public URL (`https://host/api` or `https://host/api/v2`)
 * the request's path is put behind it; where that is empty the Host header names the server and `scheme` how.
 */
export function absoluteUrl(
  publicUrl: string,
  scheme: string,
  host: string,
  path: string,
  query: string | null,
): string {
  const base = publicUrl === '' ? `${scheme}://${host}` : publicUrl.replace(/\/+(?:v2\/*)?$/, '');
  return `${withoutSlashes(base)}${path}${query === null ? '' : `?${query}`}`;
}

function decodeObject(text: string): Record<string, unknown> | null {
  const bytes = decodeBase64Url(text);
  if (bytes === null) return null;
  const { value } = parseJson(bytes, JSON_DEPTH_MAX) as { value?: unknown };
  return isObject(value) ? value : null;
}

/** Strict base64url: no padding, no foreign characters, unused bits zero; null otherwise. */
function decodeBase64Url(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** A body, undefined for none, as an `hsh` has it: an empty one of any kind counts as null, as clients have it. */
export function hashedBody(body: unknown): string {
  return typeof body !== 'object' || body === null || Object.keys(body).length === 0 ? 'null' : canon(body);
}
