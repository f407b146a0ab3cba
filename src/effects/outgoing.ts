/**
 * The one door for calls to other systems: bridges, webhooks, and the token endpoints bridges name.
 *
 * Whatever the other side does is an answer or an error text, never an exception: a call has a time limit over all of
 * it (the lookup of its name, a token, the connection, the answer), answers are read up to a limit and thrown away,
 * redirects are not followed, and the status is what counts: once it is here, a body that is too long, too slow or
 * broken off changes nothing, it only costs the connection.
 *
 * What always holds: no more than `callsInFlightMax` calls and twice as many connections at a time; no connection to an
 * address the guard refuses; error texts hold no secret, URL or word of the other side.
 */
import { constants } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { Socket, type TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { Guard, type GuardOptions, NOT_ALLOWED, notAllowed, systemResolve } from './addresses.ts';
import type { Resolve } from './names.ts';
import { readRules, type SecureRule, Tokens } from './secure.ts';
import { Sluice, TOO_LONG, tooLong } from './sluice.ts';

export interface OutgoingCall {
  method: string;
  url: string;
  body: string;
  /** Rules of the bridge's record; those of unknown schemas are passed over. */
  secure: readonly SecureRule[];
  /** Of whom others that call wait in turn: of the lanes, where there is one. */
  party?: string;
  /** Calls it off. */
  signal?: AbortSignal;
}

/** Where a bridge is that is not there. */
export const NOWHERE = 'nowhere:';

/** Bytes take the place of a long text: else it would lie there beside them for as long as the call takes. */
type Sent = Omit<OutgoingCall, 'body'> & { readonly body: string | Buffer };

/** The status of an answer that came, or why none did. `retryAfterMs`: what its Retry-After asks for. */
export type Answer = { status: number; retryAfterMs?: number } | { error: string };

/** Never rejects. */
export type Call = (call: Sent) => Promise<Answer>;

export interface OutgoingOptions extends Omit<GuardOptions, 'resolve'> {
  /** Longest a call may take in all. */
  callMsMax: number;
  callsInFlightMax: number;
  /** How names become addresses, for tests. */
  resolve?: Resolve;
}

/** What is read of an answer: a token must fit, everything else is thrown away. */
const ANSWER_BYTES_MAX = 64 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;
/** Answers that only say it goes on (1xx) before the one that counts: each costs as much as one. */
const INFORMED_MAX = 64;
/** Pieces of a body: whoever has it come byte by byte costs as much as he likes otherwise. */
const PIECES_MAX = 1024;
/**
 * Where a name has several addresses, one that has not taken the connection is left for the next after this share of
 * the call's time, or after so long: a first packet that got lost is sent again after a second. With Node's own quarter
 * of a second, whoever is far away and has an address as well that leads nowhere from here (IPv6, where there is none)
 * would never be reached.
 */
const CONNECT_SHARE = 1 / 4;
const CONNECT_MS_MAX = 1_500;
const IDLE_SOCKETS_PER_HOST_MAX = 8;
/** Shorter than the five seconds after which common servers close a silent connection. */
const IDLE_MS_MAX = 4_000;

interface Parcel {
  readonly method: string;
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string | Buffer;
  /** Whether the body of the answer is wanted. */
  readonly keepsAnswer: boolean;
  readonly party: string;
  readonly time: Time;
}

/** The time of a call: its signal says, as its reason, when it is up, or the call is called off. */
interface Time {
  readonly signal: AbortSignal;
  /** From now on it is as long again. */
  renew(): void;
}

/** `text`: the whole body where it was wanted; null where it was not, broke off or was too long. */
type Reply = { status: number; retryAfterMs?: number; text: string | null } | { error: string };

export class Outgoing {
  readonly #options: OutgoingOptions;
  readonly #guard: Guard;
  readonly #tokens: Tokens;
  readonly #agents: { readonly http: http.Agent; readonly https: SluicedAgent };
  readonly #sluice = new Sluice();
  /** One for each call and token fetch on its way. */
  readonly #underWay = new Set<AbortController>();
  #calls = 0;
  #closed = false;

  /** Throws where `callsAllow` names a subnet that is none. */
  constructor(options: OutgoingOptions) {
    this.#options = options;
    this.#guard = new Guard({ ...options, resolve: options.resolve ?? systemResolve });
    this.#tokens = new Tokens(
      (url, headers, body, party) =>
        this.#timed((time) => this.#send({ method: 'POST', url, headers, body, keepsAnswer: true, party, time })),
      () => performance.now(),
    );
    // No bound of sockets for each host: calls are bounded, and one that hangs there is not to hold up another's.
    const agent = {
      keepAlive: true,
      maxSockets: Number.POSITIVE_INFINITY,
      maxFreeSockets: IDLE_SOCKETS_PER_HOST_MAX,
      timeout: IDLE_MS_MAX,
    };
    this.#agents = { http: new http.Agent(agent), https: new SluicedAgent(this.#sluice, agent) };
  }

  readonly call: Call = async (call) => {
    if (this.#closed) return { error: 'closed' };
    if (this.#calls >= this.#options.callsInFlightMax) return { error: 'too many calls at once' };
    this.#calls++;
    try {
      return await this.#timed((time) => this.#secured(call, time), call.signal);
    } finally {
      this.#calls--;
    }
  };

  /** Cuts every connection. Calls on their way end with an error. */
  close(): void {
    this.#closed = true;
    for (const one of this.#underWay) one.abort('closed');
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  /** Does the work in the time that a call may take. */
  async #timed<R>(work: (time: Time) => Promise<R>, outer?: AbortSignal): Promise<R | { error: string }> {
    const { callMsMax } = this.#options;
    const inner = new AbortController();
    const timer = setTimeout(() => inner.abort(`no answer within ${callMsMax} ms`), callMsMax);
    const stop = () => inner.abort('called off');
    if (outer?.aborted) stop();
    outer?.addEventListener('abort', stop, { once: true });
    this.#underWay.add(inner);
    try {
      return await work({ signal: inner.signal, renew: () => timer.refresh() });
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener('abort', stop);
      this.#underWay.delete(inner);
    }
  }

  /** Sends with what the rules ask for. A token the bridge does not take is renewed, once. */
  async #secured({ method, url, body, secure, party = '' }: Sent, time: Time): Promise<Answer> {
    const rules = readRules(secure);
    if ('error' in rules) return rules;
    const { credentials } = rules;
    const headers = new Map([['content-type', 'application/json'], ...rules.headers]);
    const parcel = { method, url, headers, body, keepsAnswer: false, party, time };
    if (credentials === null) return toAnswer(await this.#send(parcel));
    for (let renewed = false; ; renewed = true) {
      // The fetch is shared by all calls with these credentials, so it goes on where one of them is called off.
      const got = await unlessAborted(this.#tokens.get(credentials, party), time.signal);
      if ('error' in got) return got;
      headers.set('authorization', `Bearer ${got.token}`);
      const reply = await this.#send(parcel);
      if ('error' in reply || reply.status !== 401 || renewed) return toAnswer(reply);
      this.#tokens.drop(credentials, got.token);
    }
  }

  /**
   * Sends and reads the answer. The other side may close a kept connection at the very moment it is used again; that
   * is no fault of anybody, so it is sent once more, on a new one.
   */
  async #send(parcel: Parcel): Promise<Reply> {
    const reply = await this.#exchange(parcel, false);
    if (reply !== 'stale') return reply;
    const again = await this.#exchange(parcel, true);
    return again === 'stale' ? { error: describe(null) } : again;
  }

  #exchange(parcel: Parcel, onNewSocket: boolean): Promise<Reply | 'stale'> {
    const { headers, time } = parcel;
    const { signal } = time;
    // Bytes: text would be joined with the head and take its values beyond ASCII along into UTF-8.
    const body = typeof parcel.body === 'string' ? Buffer.from(parcel.body) : parcel.body;
    return new Promise((resolve) => {
      const failed = (error: unknown) => resolve({ error: signal.aborted ? String(signal.reason) : describe(error) });
      let request: http.ClientRequest;
      try {
        request = this.#open(parcel, onNewSocket);
        for (const [name, value] of headers) request.setHeader(name, value);
        request.setHeader('content-length', body.length);
      } catch (error) {
        return failed(error);
      }
      let answered = false;
      request.on('socket', (socket) => this.#sluice.expect(socket));
      let informed = 0;
      request.on('information', () => {
        if (++informed > INFORMED_MAX) request.destroy(tooLong());
      });
      request.on('response', (response) => {
        answered = true;
        readReply(response, parcel.keepsAnswer, (reply) => {
          // Whoever answers before the body is there may read on, and is given as long again: a body that is cut off
          // after a yes would never come again. Till then the call is on its way: it holds its body, and a connection.
          if (request.writableFinished || request.destroyed) return resolve(reply);
          time.renew();
          for (const end of ['finish', 'close']) request.once(end, () => resolve(reply));
        });
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        // Once there is an answer, this is about the connection alone.
        if (answered) return;
        if (request.reusedSocket && error.code === 'ECONNRESET') resolve('stale');
        else failed(error);
      });
      // Not every end is an error: an answer that changes the protocol (101) just ends.
      request.on('close', () => {
        if (!answered) failed(null);
      });
      request.end(body);
    });
  }

  /** Throws what `describe` has words for. */
  #open({ method, url, party, time: { signal } }: Parcel, onNewSocket: boolean): http.ClientRequest {
    const { callMsMax } = this.#options;
    const target = new URL(url);
    const { protocol } = target;
    if (url === NOWHERE) throw Object.assign(new Error(), { code: NOWHERE });
    if (protocol !== 'http:' && protocol !== 'https:')
      throw Object.assign(new Error(), { code: 'ERR_INVALID_PROTOCOL' });
    const lookup = this.#guard.lookupFor(target, { party, signal });
    if (lookup === null) throw notAllowed();
    this.#makeRoom();
    const isSecured = protocol === 'https:';
    const { request } = isSecured ? https : http;
    const options = {
      ...urlToHttpOptions(target),
      method,
      lookup,
      signal,
      agent: this.#agentFor(isSecured, onNewSocket),
      maxHeaderSize: HEADER_BYTES_MAX,
      autoSelectFamilyAttemptTimeout: Math.min(CONNECT_MS_MAX, Math.ceil(CONNECT_SHARE * callMsMax)),
    };
    return request(options);
  }

  #agentFor(isSecured: boolean, onNewSocket: boolean): http.Agent {
    if (!onNewSocket) return isSecured ? this.#agents.https : this.#agents.http;
    return isSecured ? new SluicedAgent(this.#sluice) : new http.Agent();
  }

  /** Idle connections make way for new ones: the agents themselves bound them per host only. */
  #makeRoom(): void {
    if (this.#sluice.size < 2 * this.#options.callsInFlightMax) return;
    for (const agent of [this.#agents.http, this.#agents.https]) {
      for (const idle of Object.values(agent.freeSockets)) for (const socket of idle ?? []) socket.destroy();
    }
  }
}

/**
 * What keys are agreed on by. Diffie-Hellman with numbers of the server's choice is work as long as the server likes,
 * most of a second of the only thread, before it has proved anything; so are the longest of the groups that OpenSSL
 * offered before 3.5.
 */
const AGREEMENT = {
  ciphers: withoutDhe(constants.defaultCipherList),
  ...(hasLongGroups(process.versions.openssl) && { ecdhCurve: 'X25519:P-256:X448:P-521:P-384' }),
};

/**
 * Where an operator lets none but suites of TLS 1.3 in, there is none to take out: what is left of the list would be
 * none at all.
 */
function withoutDhe(suites: string): string {
  const isOlder = (suite: string) => suite !== '' && !suite.startsWith('TLS_');
  return suites.split(':').some(isOlder) ? `${suites}:!kDHE` : suites;
}

function hasLongGroups(openssl: string): boolean {
  const [major, minor] = openssl.split('.').map(Number) as [number, number];
  return major < 3 || (major === 3 && minor < 5);
}

/**
 * Connections by TLS whose bytes all come by way of the sluice: TLS that has a socket of the system reads by itself,
 * without end where nothing comes of it, keys that change again and again say.
 */
class SluicedAgent extends https.Agent {
  readonly #sluice: Sluice;

  constructor(sluice: Sluice, options: https.AgentOptions = {}) {
    super({ ...options, ...AGREEMENT });
    this.#sluice = sluice;
  }

  override createConnection(
    options: https.RequestOptions,
    done?: (error: Error | null, stream: Duplex) => void,
  ): Duplex {
    // Not connected yet, so TLS takes it for a stream.
    const raw = new Socket().setNoDelay();
    const secured = super.createConnection({ ...options, socket: raw } as https.RequestOptions, done) as Socket;
    this.#sluice.secure(secured, raw);
    const { host, port, lookup, autoSelectFamilyAttemptTimeout } = options as TcpNetConnectOpts;
    raw.connect({ host, port, lookup, autoSelectFamilyAttemptTimeout } as TcpNetConnectOpts);
    return secured;
  }
}

/**
 * Reads the answer to its end, or to where it must be cut, and settles then, so that nothing of it is left on its way.
 */
function readReply(response: http.IncomingMessage, keeps: boolean, settle: (reply: Reply) => void): void {
  const kept: Buffer[] = [];
  let [bytes, pieces] = [0, 0];
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX || ++pieces > PIECES_MAX) response.destroy();
    else if (keeps) kept.push(chunk);
  });
  response.on('error', () => {});
  response.on('close', () => {
    const retryAfterMs = readRetryAfter(response.headers);
    settle({
      status: response.statusCode ?? 0,
      text: keeps && response.complete ? Buffer.concat(kept).toString() : null,
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    });
  });
}

/** Seconds, or a date: by the clock of the other side, where it says what that shows. Ours may be another. */
function readRetryAfter({ 'retry-after': value, date = '' }: http.IncomingHttpHeaders): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const at = readDate(value);
  return at === null ? null : Math.max(0, at - (readDate(date) ?? Date.now()));
}

/** As HTTP writes it, `Wed, 21 Oct 2015 07:28:00 GMT`. */
function readDate(text: string): number | null {
  const at = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

function toAnswer(reply: Reply): Answer {
  if ('error' in reply) return reply;
  const { text: _, ...answer } = reply;
  return answer;
}

async function unlessAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R | { error: string }> {
  let stop = () => {};
  const aborted = new Promise<{ error: string }>((resolve) => {
    stop = () => resolve({ error: String(signal.reason) });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Only the code: messages of errors name URLs, and what the other side sent. */
function describe(error: unknown): string {
  const code = Object(error).code;
  if (code === NOWHERE) return 'there is no such bridge';
  if (code === NOT_ALLOWED) return 'address not allowed';
  if (code === TOO_LONG) return 'the answer is too long';
  if (code === 'ERR_INVALID_PROTOCOL' || code === 'ERR_INVALID_URL') return 'not an http or https URL';
  return typeof code === 'string' ? `connection failed: ${code}` : 'connection failed';
}
