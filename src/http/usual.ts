/**
 * The body that comes most, a new intent in its usual form, read where it lies (tape.ts): what clearing asks of it, its
 * canonical data and its proofs, in half the time that a value, its check and its canonical text take.
 *
 * Here the rules of the schemas stand as plain loops, but only for what intents usually carry. Anything else (a wrong
 * body, a rare member, a hash that is another's) is `null`, which means nothing but: read it by way of JSON.parse.
 *
 * What always holds: whatever is taken here, the door takes too, and makes the same of it; a test holds the two together.
 */
import { ADDRESS_MAX } from '../core/address.ts';
import type { Claim } from '../core/claims/index.ts';
import { isRefusal } from '../core/refusal.ts';
import type { Brief } from '../core/sheet.ts';
import { sha256Hex } from '../proof/digest.ts';
import { type Content, openProofs, type ProofTexts } from './door.ts';
import { isAccess, type SchemaLimits } from './schemas.ts';
import { areText, Tape } from './tape.ts';

/** Content whose value nobody has made; the sheet of its intent is drawn up of `brief`. */
export interface UsualContent extends Omit<Content, 'value'> {
  value: null;
  brief: Brief;
}

export interface UsualOptions extends SchemaLimits {
  /** As deep as a body may be. */
  depthMax: number;
  /** The server's own key, in base64: what it signed is no client's proof. */
  publicText: string;
}

/** By byte: 1 where it may stand in a part of an address. */
const IN_NAMES = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.'))
  IN_NAMES[byte] = 1;

const COLON = 0x3a;
const AT = 0x40;
/** No node, since node 0 is the body: it is in nothing. */
const NONE = 0;

/** Addresses, and lists of rules, that were right lately: those of a few wallets, symbols and owners come again and again. */
const ADDRESSES = 4096;
const RULES = 4096;
/** A list of rules that is longer is looked at each time. */
const RULES_BYTES_MAX = 1024;

export class UsualIntents {
  readonly #options: UsualOptions;
  readonly #tape = new Tape();
  readonly #addresses = new TextMemo<string>(ADDRESSES, '');
  readonly #rules = new TextMemo<readonly unknown[]>(RULES, []);

  constructor(options: UsualOptions) {
    this.#options = options;
  }

  /** The content of a usual body, or null. */
  open(body: Uint8Array): UsualContent | null {
    const tape = this.#tape;
    if (!tape.read(body, this.#options.depthMax) || !tape.isObject(0)) return null;
    let [hash, data, meta] = [NONE, NONE, NONE];
    for (let name = tape.first(0); name < tape.next(0); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'hash')) {
        if (hash !== NONE) return null;
        hash = member;
      } else if (tape.isText(name, 'data')) {
        if (data !== NONE) return null;
        data = member;
      } else if (tape.isText(name, 'meta')) {
        if (meta !== NONE) return null;
        meta = member;
      } else if (tape.isText(name, 'luid')) return null;
    }
    if (hash === NONE || data === NONE || meta === NONE || !tape.isString(hash)) return null;
    const brief = this.#brief(data);
    const proofs = brief === null ? null : this.#proofs(meta);
    return brief === null || proofs === null ? null : this.#content(hash, data, brief, proofs);
  }

  #content(hash: number, data: number, brief: Brief, proofs: readonly ProofTexts[]): UsualContent | null {
    const tape = this.#tape;
    const bytes = tape.canonical(data);
    if (bytes === null) return null;
    const hashHex = sha256Hex(bytes);
    if (!tape.isText(hash, hashHex) && tape.text(hash).toLowerCase() !== hashHex) return null;
    const text = tape.textOf(bytes);
    const checked = openProofs(proofs, hashHex);
    if (isRefusal(checked)) return null;
    return { value: null, brief, data: text, hash: Buffer.from(hashHex, 'hex'), hashHex, luid: undefined, ...checked };
  }

  /** What the sheet asks of the data, where that is right but for names that come twice. */
  #brief(data: number): Brief | null {
    const tape = this.#tape;
    if (!tape.isObject(data)) return null;
    let handle: string | null = null;
    let schema: string | undefined;
    let claims: Claim[] | null = null;
    let access: unknown;
    let commit: string | undefined;
    for (let name = tape.first(data); name < tape.next(data); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'handle')) {
        if (!tape.isString(member) || !isAddress(tape.bytes, tape.from(member), tape.to(member))) return null;
        handle = tape.text(member);
      } else if (tape.isText(name, 'claims')) {
        claims = this.#claims(member);
        if (claims === null) return null;
      } else if (tape.isText(name, 'schema')) {
        const found = this.#address(member);
        if (found === null) return null;
        schema = found;
      } else if (tape.isText(name, 'custom')) {
        if (!tape.isObject(member)) return null;
      } else if (tape.isText(name, 'access')) {
        access = this.#access(member);
        if (access === null) return null;
      } else if (tape.isText(name, 'config')) {
        const found = this.#commit(member);
        if (found === null) return null;
        commit = found;
      } else return null;
    }
    return handle === null || claims === null ? null : { handle, schema, claims, access, config: { commit } };
  }

  /** The rules, where they are right: a wallet's owner, say, always sends the same. */
  #access(node: number): readonly unknown[] | null {
    const tape = this.#tape;
    const bytes = tape.isArray(node) ? tape.canonical(node) : null;
    if (bytes === null) return null;
    const place = this.#rules.placeOf(bytes, 0, bytes.length);
    const known = this.#rules.get(place, bytes, 0, bytes.length);
    if (known !== null) return known;
    const text = tape.textOf(bytes);
    const access = JSON.parse(text);
    if (!isAccess(access)) return null;
    // A text of longer characters has fewer of them than bytes, and is never found.
    if (bytes.length <= RULES_BYTES_MAX) this.#rules.set(place, text, access);
    return access;
  }

  /** What a config says of it, '' where it says nothing; null where it is wrong. */
  #commit(config: number): string | null {
    const tape = this.#tape;
    if (!tape.isObject(config)) return null;
    let commit = '';
    for (let name = tape.first(config); name < tape.next(config); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (!tape.isText(name, 'commit') || !tape.isString(member)) return null;
      if (tape.isText(member, 'auto')) commit = 'auto';
      else if (tape.isText(member, 'manual')) commit = 'manual';
      else return null;
    }
    return commit;
  }

  #claims(node: number): Claim[] | null {
    const tape = this.#tape;
    if (!tape.isArray(node)) return null;
    const claims: Claim[] = [];
    for (let item = tape.first(node); item < tape.next(node); item = tape.next(item)) {
      const claim = claims.length < this.#options.claimsMax ? this.#claim(item) : null;
      if (claim === null) return null;
      claims.push(claim);
    }
    return claims.length === 0 ? null : claims;
  }

  /** A transfer, an issue or a destroy: which references it has must be just what its action needs. */
  #claim(node: number): Claim | null {
    const tape = this.#tape;
    if (!tape.isObject(node)) return null;
    let [action, amount, source, target, symbol] = [NONE, NONE, NONE, NONE, NONE];
    for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'source')) source = member;
      else if (tape.isText(name, 'target')) target = member;
      else if (tape.isText(name, 'symbol')) symbol = member;
      else if (tape.isText(name, 'amount')) amount = member;
      else if (tape.isText(name, 'action')) action = member;
      else return null;
    }
    if (action === NONE || amount === NONE || symbol === NONE || !tape.isString(action)) return null;
    const value = tape.number(amount);
    const symbolText = this.#reference(symbol);
    if (!(value >= 1) || symbolText === null) return null;
    const sourceText = source === NONE ? undefined : this.#reference(source);
    const targetText = target === NONE ? undefined : this.#reference(target);
    if (sourceText === null || targetText === null) return null;
    const text = this.#actionOf(action, source !== NONE, target !== NONE);
    if (text === null) return null;
    // All of one shape: what reads them is the quicker for it.
    return { action: text, amount: value, symbol: symbolText, source: sourceText!, target: targetText! };
  }

  #actionOf(action: number, hasSource: boolean, hasTarget: boolean): string | null {
    const tape = this.#tape;
    if (hasSource && hasTarget) return tape.isText(action, 'transfer') ? 'transfer' : null;
    if (hasTarget) return tape.isText(action, 'issue') ? 'issue' : null;
    return hasSource && tape.isText(action, 'destroy') ? 'destroy' : null;
  }

  /** The handle that a reference names, whether it is that or an object with it. */
  #reference(node: number): string | null {
    const tape = this.#tape;
    let handle = node;
    if (tape.isObject(node)) {
      handle = NONE;
      for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
        const member = tape.value(name);
        if (tape.isText(name, 'handle')) handle = member;
        else if (!tape.isText(name, 'custom') || !tape.isObject(member)) return null;
      }
      if (handle === NONE) return null;
    }
    return this.#address(handle);
  }

  /** An address as a text, mostly the same one as the last time; null where it is none. */
  #address(node: number): string | null {
    const tape = this.#tape;
    if (!tape.isString(node)) return null;
    const { bytes } = tape;
    const [from, to] = [tape.from(node), tape.to(node)];
    const place = this.#addresses.placeOf(bytes, from, to);
    const known = this.#addresses.get(place, bytes, from, to);
    if (known !== null) return known;
    if (!isAddress(bytes, from, to)) return null;
    const text = tape.text(node);
    this.#addresses.set(place, text, text);
    return text;
  }

  /** The proofs' texts, where all are right but for names that come twice; one at least, and none of the server. */
  #proofs(meta: number): ProofTexts[] | null {
    const tape = this.#tape;
    let list = NONE;
    if (!tape.isObject(meta)) return null;
    for (let name = tape.first(meta); name < tape.next(meta); name = tape.next(tape.value(name))) {
      if (!tape.isText(name, 'proofs')) continue;
      if (list !== NONE) return null;
      list = tape.value(name);
    }
    if (list === NONE || !tape.isArray(list)) return null;
    const proofs: ProofTexts[] = [];
    for (let item = tape.first(list); item < tape.next(list); item = tape.next(item)) {
      const proof = proofs.length < this.#options.proofsMax ? this.#proof(item) : null;
      if (proof === null) return null;
      proofs.push(proof);
    }
    return proofs.length === 0 ? null : proofs;
  }

  #proof(node: number): ProofTexts | null {
    const tape = this.#tape;
    if (!tape.isObject(node)) return null;
    let [custom, digest, method, key, result] = [NONE, NONE, NONE, NONE, NONE];
    let members = 0;
    for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      members++;
      if (tape.isText(name, 'custom')) custom = member;
      else if (tape.isText(name, 'digest')) digest = member;
      else if (tape.isText(name, 'method')) method = member;
      else if (tape.isText(name, 'public')) key = member;
      else if (tape.isText(name, 'result')) result = member;
      else return null;
    }
    const hasCustom = custom !== NONE;
    // None is there twice where as many came as were found.
    if (digest === NONE || method === NONE || key === NONE || result === NONE || members !== (hasCustom ? 5 : 4))
      return null;
    if (!tape.isString(method) || !tape.isText(method, 'ed25519-v2')) return null;
    // What they say is looked at with the proofs of all bodies.
    if (!tape.isString(digest) || !tape.isString(key) || !tape.isString(result)) return null;
    if (tape.isText(key, this.#options.publicText)) return null;
    let customText: string | null = null;
    if (hasCustom) {
      customText = tape.isObject(custom) ? tape.canonicalText(custom) : null;
      if (customText === null) return null;
    }
    return { public: tape.text(key), digest: tape.text(digest), result: tape.text(result), custom: customText };
  }
}

/**
 * What texts of ASCII were found to be. A text has one place here, which whatever else has that place takes over: nothing
 * grows, and who sends what nobody sent before makes others' be looked at again, and no more.
 */
class TextMemo<Value> {
  readonly #texts: string[];
  readonly #values: Value[];

  /** `places`: a power of two. */
  constructor(places: number, nothing: Value) {
    this.#texts = new Array<string>(places).fill('');
    this.#values = new Array<Value>(places).fill(nothing);
  }

  placeOf(bytes: Buffer, from: number, to: number): number {
    let mark = to - from;
    for (let at = from; at < to; at++) mark = Math.imul(mark, 31) + bytes[at]!;
    return (mark ^ (mark >>> 12)) & (this.#texts.length - 1);
  }

  /** What this text was found to be, where it is still known; null for none. */
  get(place: number, bytes: Buffer, from: number, to: number): Value | null {
    const text = this.#texts[place]!;
    return text !== '' && areText(bytes, from, to, text) ? this.#values[place]! : null;
  }

  set(place: number, text: string, value: Value): void {
    this.#texts[place] = text;
    this.#values[place] = value;
  }
}

/** `[schema:]handle[@parent]`, no part empty. */
function isAddress(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > ADDRESS_MAX) return false;
  let part = 0;
  let hasSchema = false;
  let hasParent = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (IN_NAMES[byte] === 1) {
      part++;
      continue;
    }
    if (part === 0 || hasParent) return false;
    if (byte === COLON && !hasSchema) hasSchema = true;
    else if (byte === AT) hasParent = true;
    else return false;
    part = 0;
  }
  return part > 0;
}
