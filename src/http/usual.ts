/**
 * The body that comes most, a new intent in its usual form, read where it lies (tape.ts): what clearing asks of it, its
 * canonical data and its proofs, in half the time that a value, its check and its canonical text take.
 *
 * Here the rules of the schemas stand as plain loops, but only for what intents usually carry. Anything else (a wrong
 * body, a rare member, a hash that is another's) is `null`, which means nothing but: read it by way of JSON.parse.
 *
 * What always holds: whatever is taken here, the door takes too, and makes the same of it; a test holds the two
 * together.
 */
import { isAddress, isHandle } from '../core/address.ts';
import { METRICS } from '../core/balances.ts';
import { isTextAt } from '../core/bytes.ts';
import type { Claim } from '../core/claims/index.ts';
import { isRefusal } from '../core/refusal.ts';
import type { Brief } from '../core/sheet.ts';
import { sha256Hex } from '../proof/digest.ts';
import { type Content, openProofs, type ProofTexts } from './door.ts';
import { MEMBERS_MAX } from './schema-width.ts';
import { isAccess, type SchemaLimits } from './schemas.ts';
import { Tape } from './tape.ts';

/** Content whose value nobody has made; the sheet of its intent is drawn up of `brief`. */
export interface UsualContent extends Omit<Content, 'value'> {
  value: null;
  brief: Brief;
  /** All of the body in canonical form, where that was asked for. */
  bodyText: string | null;
}

interface UsualOptions extends SchemaLimits {
  /** As deep as a body may be. */
  depthMax: number;
  /** The server's own key, in base64: what it signed is no client's proof. */
  publicText: string;
}

/** No node, since node 0 is the body: it is in nothing. */
const ABSENT = 0;

/**
 * Addresses, and lists of rules, that were right lately: those of a few wallets, symbols and owners come again and
 * again.
 */
const ADDRESSES = 4096;
const RULES = 4096;
/** A list of rules that is longer is looked at each time. */
const RULES_LENGTH_MAX = 1024;

export class UsualIntents {
  readonly #options: UsualOptions;
  readonly #tape = new Tape();
  readonly #addresses = new RightTexts(ADDRESSES);
  readonly #rules = new RightTexts(RULES);

  constructor(options: UsualOptions) {
    this.#options = options;
  }

  /** The content of a usual body, or null; `isWhole`: with all of its text. */
  open(body: Uint8Array, isWhole = false): UsualContent | null {
    const tape = this.#tape;
    if (!tape.read(body, this.#options.depthMax) || !tape.isObject(0)) return null;
    let [hash, data, meta] = [ABSENT, ABSENT, ABSENT];
    let left = MEMBERS_MAX;
    for (let name = tape.first(0); name < tape.next(0); name = tape.next(tape.value(name))) {
      if (left-- === 0) return null;
      const member = tape.value(name);
      if (tape.isText(name, 'hash')) hash = member;
      else if (tape.isText(name, 'data')) data = member;
      else if (tape.isText(name, 'meta')) meta = member;
      else if (tape.isText(name, 'luid')) return null;
    }
    if (hash === ABSENT || data === ABSENT || meta === ABSENT || !tape.isString(hash)) return null;
    const brief = this.#brief(data);
    const proofs = brief === null ? null : this.#proofs(meta);
    const content = brief === null || proofs === null ? null : this.#content(hash, data, brief, proofs);
    if (content === null || !isWhole) return content;
    content.bodyText = tape.canonicalText(0);
    return content.bodyText === null ? null : content;
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
    const hashBytes = Buffer.from(hashHex, 'hex');
    return { value: null, brief, bodyText: null, data: text, hash: hashBytes, hashHex, luid: undefined, ...checked };
  }

  /** What the sheet asks of the data, where that is right; that no name comes twice its canonical text tells. */
  #brief(data: number): Brief | null {
    const tape = this.#tape;
    if (!tape.isObject(data)) return null;
    let handle: string | null = null;
    let schema: string | undefined;
    let claims: Claim[] | null = null;
    let hasAccess: boolean | null = false;
    let isManual: boolean | null = false;
    for (let name = tape.first(data); name < tape.next(data); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'handle')) {
        // It hardly comes up again.
        handle = tape.isString(member) ? tape.text(member) : '';
        if (!isHandle(handle)) return null;
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
        hasAccess = this.#hasAccess(member);
        if (hasAccess === null) return null;
      } else if (tape.isText(name, 'config')) {
        isManual = this.#isManual(member);
        if (isManual === null) return null;
      } else return null;
    }
    return handle === null || claims === null ? null : { handle, schema, claims, hasAccess, isManual };
  }

  /** Whether there are rules; null where they are wrong. A wallet's owner, say, always sends the same. */
  #hasAccess(node: number): boolean | null {
    const tape = this.#tape;
    const bytes = tape.isArray(node) ? tape.canonical(node) : null;
    if (bytes === null) return null;
    const hasAccess = tape.next(node) > tape.first(node);
    const place = this.#rules.placeOf(bytes, 0, bytes.length);
    if (this.#rules.at(place, bytes, 0, bytes.length) !== null) return hasAccess;
    const text = tape.textOf(bytes);
    if (!isAccess(JSON.parse(text))) return null;
    if (text.length === bytes.length && text.length <= RULES_LENGTH_MAX) this.#rules.keep(place, text);
    return hasAccess;
  }

  /** Whether it is committed when somebody says so; null where the config is wrong. */
  #isManual(config: number): boolean | null {
    const tape = this.#tape;
    if (!tape.isObject(config)) return null;
    let isManual = false;
    for (let name = tape.first(config); name < tape.next(config); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (!tape.isText(name, 'commit') || !tape.isString(member)) return null;
      isManual = tape.isText(member, 'manual');
      if (!isManual && !tape.isText(member, 'auto')) return null;
    }
    return isManual;
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

  /** Which references it has must be just what its action needs. */
  #claim(node: number): Claim | null {
    const tape = this.#tape;
    if (!tape.isObject(node)) return null;
    let [action, amount, source, target, symbol] = [ABSENT, ABSENT, ABSENT, ABSENT, ABSENT];
    let [wallet, metric] = [ABSENT, ABSENT];
    for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'source')) source = member;
      else if (tape.isText(name, 'target')) target = member;
      else if (tape.isText(name, 'symbol')) symbol = member;
      else if (tape.isText(name, 'amount')) amount = member;
      else if (tape.isText(name, 'action')) action = member;
      else if (tape.isText(name, 'wallet')) wallet = member;
      else if (tape.isText(name, 'metric')) metric = member;
      else return null;
    }
    if (action === ABSENT || amount === ABSENT || symbol === ABSENT || !tape.isString(action)) return null;
    const value = tape.number(amount);
    const symbolText = this.#reference(symbol);
    if (symbolText === null) return null;
    if (wallet !== ABSENT) {
      const isLimit = source === ABSENT && target === ABSENT && tape.isText(action, 'limit');
      return isLimit ? this.#limit(wallet, symbolText, metric, value) : null;
    }
    if (metric !== ABSENT || !(value >= 1)) return null;
    const sourceText = source === ABSENT ? undefined : this.#reference(source);
    const targetText = target === ABSENT ? undefined : this.#reference(target);
    if (sourceText === null || targetText === null) return null;
    const text = this.#actionOf(action, source !== ABSENT, target !== ABSENT);
    if (text === null) return null;
    // All of one shape: what reads them is the quicker for it.
    return { action: text, amount: value, symbol: symbolText, source: sourceText!, target: targetText! };
  }

  #limit(wallet: number, symbol: string, metric: number, amount: number): Claim | null {
    const tape = this.#tape;
    const walletText = this.#reference(wallet);
    if (walletText === null || metric === ABSENT || Number.isNaN(amount)) return null;
    const metricText = METRICS.find((each) => tape.isText(metric, each));
    return metricText === undefined
      ? null
      : { action: 'limit', amount, symbol, wallet: walletText, metric: metricText };
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
      handle = ABSENT;
      for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
        const member = tape.value(name);
        if (tape.isText(name, 'handle')) handle = member;
        else if (!tape.isText(name, 'custom') || !tape.isObject(member)) return null;
      }
      if (handle === ABSENT) return null;
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
    const known = this.#addresses.at(place, bytes, from, to);
    if (known !== null) return known;
    const text = tape.text(node);
    if (!isAddress(text)) return null;
    this.#addresses.keep(place, text);
    return text;
  }

  /** The proofs' texts, where all have the right shape; one at least, and none of the server. */
  #proofs(meta: number): ProofTexts[] | null {
    const tape = this.#tape;
    let list = ABSENT;
    if (!tape.isObject(meta)) return null;
    let left = MEMBERS_MAX;
    for (let name = tape.first(meta); name < tape.next(meta); name = tape.next(tape.value(name))) {
      if (left-- === 0) return null;
      if (tape.isText(name, 'proofs')) list = tape.value(name);
    }
    if (list === ABSENT || !tape.isArray(list)) return null;
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
    let [custom, digest, method, key, result] = [ABSENT, ABSENT, ABSENT, ABSENT, ABSENT];
    for (let name = tape.first(node); name < tape.next(node); name = tape.next(tape.value(name))) {
      const member = tape.value(name);
      if (tape.isText(name, 'custom')) custom = member;
      else if (tape.isText(name, 'digest')) digest = member;
      else if (tape.isText(name, 'method')) method = member;
      else if (tape.isText(name, 'public')) key = member;
      else if (tape.isText(name, 'result')) result = member;
      else return null;
    }
    if (digest === ABSENT || method === ABSENT || key === ABSENT || result === ABSENT) return null;
    if (!tape.isString(method) || !tape.isText(method, 'ed25519-v2')) return null;
    // What they say is looked at with the proofs of all bodies.
    if (!tape.isString(digest) || !tape.isString(key) || !tape.isString(result)) return null;
    if (tape.isText(key, this.#options.publicText)) return null;
    let customText: string | null = null;
    if (custom !== ABSENT) {
      customText = tape.isObject(custom) ? tape.canonicalText(custom) : null;
      if (customText === null) return null;
    }
    return { public: tape.text(key), digest: tape.text(digest), result: tape.text(result), custom: customText };
  }
}

/**
 * Texts of ASCII that were found to be right. A text has one place here, which whatever else has that place takes over:
 * nothing grows, and who sends what nobody sent before makes others' be looked at again, and no more.
 */
class RightTexts {
  readonly #texts: string[];

  /** `places`: a power of two. */
  constructor(places: number) {
    this.#texts = new Array<string>(places).fill('');
  }

  placeOf(bytes: Buffer, from: number, to: number): number {
    let mark = to - from;
    for (let at = from; at < to; at++) mark = Math.imul(mark, 31) + bytes[at]!;
    return (mark ^ (mark >>> 12)) & (this.#texts.length - 1);
  }

  /** This text, where it is known to be right; null where it is not. */
  at(place: number, bytes: Buffer, from: number, to: number): string | null {
    const text = this.#texts[place]!;
    return text !== '' && isTextAt(bytes, from, to, text) ? text : null;
  }

  /** It must be ASCII: other bytes than its own may be written as a text with longer characters is. */
  keep(place: number, text: string): void {
    this.#texts[place] = text;
  }
}
