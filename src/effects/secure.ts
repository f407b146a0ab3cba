/**
 * What a bridge record says about proving ourselves to the bridge (`data.secure`): headers, and tokens of OAuth 2.0 got
 * with client credentials (RFC 6749, section 4.4). Rules of other schemas are passed over: a record may carry rules
 * that speak to other programs.
 *
 * What always holds: one fetch at a time per rule; a token is not used longer than it lives; no secret and nothing of
 * what the other side said is part of an error.
 */
import { sha256Hex } from '../proof/digest.ts';
import { HEADER_NAME_PATTERN, HEADER_VALUE_PATTERN } from './header-text.ts';

/** One rule as it stands in the record. */
export interface SecureRule {
  readonly schema: string;
  readonly [member: string]: unknown;
}

interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | null;
  readonly audience: string | null;
}

/** What rules ask for, or why they cannot be followed. */
type Security = { headers: ReadonlyMap<string, string>; credentials: ClientCredentials | null } | { error: string };

const [NAME, VALUE] = [new RegExp(HEADER_NAME_PATTERN), new RegExp(HEADER_VALUE_PATTERN)];

/** The headers and credentials that rules ask for, or what is wrong with one of them. */
export function readRules(rules: readonly SecureRule[]): Security {
  const headers = new Map<string, string>();
  let credentials: ClientCredentials | null = null;
  for (const [i, rule] of rules.entries()) {
    if (rule.schema === 'header') {
      const { key, value } = rule;
      if (!isHeader(key, value)) return { error: `secure rule ${i} is no header that may be set` };
      headers.set(key as string, value as string);
    } else if (rule.schema === 'oauth2') {
      credentials = readCredentials(rule);
      if (credentials === null) return { error: `secure rule ${i} lacks tokenUrl, clientId or clientSecret` };
    }
  }
  return { headers, credentials };
}

function isHeader(key: unknown, value: unknown): boolean {
  return typeof key === 'string' && typeof value === 'string' && NAME.test(key) && VALUE.test(value);
}

function readCredentials(rule: SecureRule): ClientCredentials | null {
  const member = (name: string): string | null => {
    const value = rule[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const tokenUrl = member('tokenUrl') ?? member('url');
  const clientId = member('clientId');
  const clientSecret = member('clientSecret');
  if (tokenUrl === null || clientId === null || clientSecret === null) return null;
  return { tokenUrl, clientId, clientSecret, scope: member('scope'), audience: member('audience') };
}

/**
 * A form to be posted to a token endpoint, for whom, and what came back: the whole text of the answer, null where it
 * broke off.
 */
type PostForm = (
  url: string,
  headers: ReadonlyMap<string, string>,
  form: string,
  party: string,
) => Promise<{ status: number; text: string | null } | { error: string }>;

type TokenResult = { token: string } | { error: string };

interface Held {
  token: string | null;
  /** Milliseconds of the clock after which the token is not used any more. */
  until: number;
  fetching: Promise<TokenResult> | null;
}

const RULES_MAX = 1_000;
/** How long a token is taken to live where its issuer does not say, and at most. */
const LIFE_SECONDS_DEFAULT = 300;
const LIFE_SECONDS_MAX = 86_400;
/** A token is renewed so long before its end, or a tenth of its life before where that is less. */
const EARLY_SECONDS_MAX = 30;

export class Tokens {
  readonly #post: PostForm;
  readonly #now: () => number;
  /** By the hash of the rule's content, which may be a megabyte; least recently used first. */
  readonly #held = new Map<string, Held>();

  constructor(post: PostForm, now: () => number) {
    this.#post = post;
    this.#now = now;
  }

  /** The token of these credentials, fetched where none is held, for the party that comes first. */
  async get(credentials: ClientCredentials, party: string): Promise<TokenResult> {
    const held = this.#hold(credentials);
    if (held.token !== null && this.#now() < held.until) return { token: held.token };
    held.fetching ??= this.#fetch(credentials, held, party).finally(() => {
      held.fetching = null;
    });
    return held.fetching;
  }

  /** The bridge refused this token. Another one that came meanwhile is kept. */
  drop(credentials: ClientCredentials, token: string): void {
    const held = this.#hold(credentials);
    if (held.token === token) held.token = null;
  }

  #hold(credentials: ClientCredentials): Held {
    const key = sha256Hex(JSON.stringify(credentials));
    const held = this.#held.get(key) ?? { token: null, until: 0, fetching: null };
    this.#held.delete(key);
    this.#held.set(key, held);
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= RULES_MAX) break;
      this.#held.delete(oldest);
    }
    return held;
  }

  /** Asks with the credentials in the header, as servers must support, and where that is refused in the form. */
  async #fetch(credentials: ClientCredentials, held: Held, party: string): Promise<TokenResult> {
    let answer = await this.#ask(credentials, true, party);
    if ('status' in answer && (answer.status === 400 || answer.status === 401)) {
      answer = await this.#ask(credentials, false, party);
    }
    if ('error' in answer) return { error: `token: ${answer.error}` };
    if (answer.status !== 200) return { error: `token: status ${answer.status}` };
    const issued = readToken(answer.text);
    if (issued === null) return { error: 'token: the answer holds no bearer token' };
    const { token, seconds } = issued;
    held.token = token;
    held.until = this.#now() + 1000 * (seconds - Math.min(EARLY_SECONDS_MAX, seconds / 10));
    return { token };
  }

  #ask(credentials: ClientCredentials, inHeader: boolean, party: string): ReturnType<PostForm> {
    const { tokenUrl, clientId, clientSecret, scope, audience } = credentials;
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scope !== null) form.set('scope', scope);
    if (audience !== null) form.set('audience', audience);
    const headers = new Map([
      ['accept', 'application/json'],
      ['content-type', 'application/x-www-form-urlencoded'],
    ]);
    if (inHeader) headers.set('authorization', `Basic ${btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)}`);
    else {
      form.set('client_id', clientId);
      form.set('client_secret', clientSecret);
    }
    return this.#post(tokenUrl, headers, form.toString(), party);
  }
}

/** RFC 6749, section 2.3.1: both parts are form-encoded before they are joined, which leaves plain ASCII. */
function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/**
 * Whether JSON has a member whose name holds a backslash. Where JSON.parse of Node 25 has read one, it takes names in
 * what others send for that one from then on: so no body has any there (http/json.ts), and a token comes from wherever
 * a tenant says.
 */
function namesBackslash(json: string): boolean {
  for (const [, text, colon] of json.matchAll(STRING)) {
    if (colon !== undefined && ESCAPED_BACKSLASH.test(text!)) return true;
  }
  return false;
}

/** A string of JSON, and what makes it a name. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/gs;
const ESCAPED_BACKSLASH = /\\(?:\\|u005c)/i;

function readToken(text: string | null): { token: string; seconds: number } | null {
  if (text === null || namesBackslash(text)) return null;
  let value: Record<string, unknown>;
  try {
    value = Object(JSON.parse(text));
  } catch {
    return null;
  }
  const { access_token: token, token_type: type = 'bearer', expires_in: life = LIFE_SECONDS_DEFAULT } = value;
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return null;
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return null;
  // What is neither a number nor a text may be no primitive value at all: to ask for its number throws.
  const seconds = typeof life === 'object' ? 0 : Number(life);
  return { token, seconds: seconds > 0 ? Math.min(seconds, LIFE_SECONDS_MAX) : 0 };
}
