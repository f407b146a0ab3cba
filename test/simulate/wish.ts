/**
 * What a client asks for, in two forms: as the bytes of a request, and as a wish that the model understands.
 *
 * Keys are few and made once; every signature is a true one unless a flaw says otherwise.
 */
import type { KindName } from '../../src/core/kinds.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigestHex, sha256Hex } from '../../src/proof/digest.ts';
import { encodeBase64, type KeyPair, keyPairFromSecret } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { OLDER_SECRET } from './older.ts';

/** A client's signature, as model and answers know it. `custom` is canonical text. */
export interface Signed {
  readonly public: string;
  readonly result: string;
  readonly custom: string | null;
}

/** A record's content as its client sent it. */
export interface Content {
  readonly value: Record<string, unknown>;
  readonly data: string;
  readonly hash: string;
  readonly proofs: readonly Signed[];
}

interface Place {
  /** Index of the ledger it is about; 0 for ledgers themselves. */
  readonly ledger: number;
  readonly kind: KindName;
}

/** A change that somebody wishes for. `id` is a handle or a luid, as it stands in the path. */
export type Wish =
  | (Place & { readonly op: 'create'; readonly content: Content })
  | (Place & { readonly op: 'update'; readonly id: string; readonly content: Content; readonly luidSent?: string })
  | (Place & { readonly op: 'drop'; readonly id: string; readonly content: Content; readonly luidSent?: string })
  | (Place & { readonly op: 'proof'; readonly id: string; readonly hash: string; readonly proof: Signed })
  | (Place & { readonly op: 'assign'; readonly circle: string; readonly signer: string; readonly content: Content })
  | (Place & { readonly op: 'remove'; readonly circle: string; readonly signer: string; readonly content: Content })
  /** No change: which rules would grant an action on a record, or on another kind beside it, to those who sign? */
  | (Place & { readonly op: 'check'; readonly id: string; readonly content: Content });

/** A look at the books. */
export type Look =
  | (Place & { readonly op: 'read'; readonly id: string })
  | (Place & { readonly op: 'changes'; readonly id: string })
  /** The end of the books. */
  | (Place & { readonly op: 'head' })
  | (Place & { readonly op: 'balances' | 'limits'; readonly id: string })
  /** What waits for a bridge, or for an effect, is to be tried now. */
  | (Place & { readonly op: 'activate' | 'retry-event'; readonly id: string })
  | (Place & {
      readonly op: 'list';
      readonly filters: readonly Filter[];
      readonly isOldestFirst: boolean;
      readonly index: number;
      readonly limit: number;
    })
  /** What happened after entry `after` and the first `skip` events of the next one. */
  | (Place & {
      readonly op: 'events';
      readonly after: number;
      readonly skip: number;
      readonly signal: string;
      readonly limit: number;
    });

export type Operator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'nin' | 'regex';

/** A condition on the members at a dotted path; `in` and `nin` have several values. */
export interface Filter {
  readonly path: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** What is wrong with a request, so that it never comes to a decision. */
export type Flaw =
  | 'path'
  | 'method'
  | 'ledger'
  | 'id'
  | 'token'
  | 'json'
  | 'schema'
  | 'hash'
  | 'digest'
  | 'unsigned'
  | 'signature';

/** A token that is good once. */
export interface OneTime {
  /** Index of the ledger it speaks to. */
  readonly ledger: number;
  /** The same for the same token id of the same key. */
  readonly of: string;
  /** Seconds since 1970: made, and good until. */
  readonly iat: number;
  readonly exp: number;
}

export interface Ask {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly wish: Wish | Look;
  readonly flaw: Flaw | null;
  readonly token: OneTime | null;
  /** Seconds it waits for an intent's end, or null. */
  readonly wait: number | null;
}

/** The same for the same token. */
export function tokenKey({ ledger, of }: OneTime): string {
  return `${ledger} ${of}`;
}

/** Among the keys of a caller: the token that came with the request, by the key that made it. */
export function bearerMark(publicKey: string): string {
  return `token ${publicKey}`;
}

/** What the token of a request adds to the keys of its caller. */
export function bearerOf(token: OneTime | null): readonly string[] {
  return token === null ? [] : [bearerMark(token.of.split(' ')[0]!)];
}

/** The same request with the index that its ledger has now: it may have been lost, and made again beside others. */
export function aimedAt(ledger: number, ask: Ask): Ask {
  const { wish, token } = ask;
  if (ledger < 0) return ask;
  return {
    ...ask,
    wish: wish.ledger === 0 ? wish : { ...wish, ledger },
    token: token === null ? null : { ...token, ledger },
  };
}

export interface Key {
  readonly pair: KeyPair;
  readonly public: string;
}

const keyOf = (secret: Buffer): Key => {
  const pair = keyPairFromSecret(secret);
  return { pair, public: encodeBase64(pair.public) };
};

export const SERVER = keyOf(Buffer.from(OLDER_SECRET, 'base64'));
export const KEYS: readonly Key[] = [11, 12, 13, 14].map((byte) => keyOf(Buffer.alloc(32, byte)));

/** A signature over a record's hash. */
export function signHash(hash: string, { pair, public: name }: Key, custom: unknown = null): Signed {
  const text = custom === null ? null : canon(custom);
  const result = sign(Buffer.from(proofDigestHex(hash, text), 'hex'), pair);
  return { public: name, result: encodeBase64(result), custom: text };
}

export function contentOf(value: Record<string, unknown>, keys: readonly Key[], custom: unknown = null): Content {
  const data = canon(value);
  const hash = sha256Hex(data);
  return { value, data, hash, proofs: keys.map((key) => signHash(hash, key, custom)) };
}

/** A proof as a request carries it. */
export function proofBody(hash: string, { public: name, result, custom }: Signed): Record<string, unknown> {
  const bare = { method: 'ed25519-v2', public: name, digest: proofDigestHex(hash, custom), result };
  return custom === null ? bare : { ...bare, custom: JSON.parse(custom) };
}

/** The body of a record; `luid` where the client sends one. */
export function recordBody(content: Content, luid?: string): Record<string, unknown> {
  const { hash, value, proofs } = content;
  const meta = { proofs: proofs.map((proof) => proofBody(hash, proof)) };
  return luid === undefined ? { hash, data: value, meta } : { hash, luid, data: value, meta };
}

/** A bearer token for a ledger, good once where it has a `jti`. */
export function tokenOf(key: Key, claims: Record<string, unknown>, isForged = false): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'EdDSA', kid: key.public })}.${part(claims)}`;
  const signature = Buffer.from(sign(Buffer.from(text), key.pair));
  if (isForged) signature[7]! ^= 1;
  return `Bearer ${text}.${signature.toString('base64url')}`;
}
