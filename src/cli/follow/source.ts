/** The books that are followed, as the port of `--followers` gives them (src/followers.ts). */
import type { Agent, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { agentFor, protocolOf } from '../../client/agent.ts';
import { type BooksListed, FILE_TYPE, SNAPSHOT_HEADER } from '../../followers.ts';
import { type PeerFiles, termOfPeer } from '../../peer-tls.ts';
import { decodePublic } from '../../proof/keys.ts';
import { segmentSeq } from '../../storage/format.ts';
import type { JournalPosition } from '../../storage/journal.ts';
import { snapshotSeq } from '../../storage/snapshot-format.ts';
import { errorCode } from '../../storage/system-error.ts';
import { brief, plain } from '../../story/shown.ts';
import { withoutSlashes } from '../../url-text.ts';

/**
 * Nobody answers there just now, or not to the end, or not as they should: to be asked again. The message is for the
 * log, and whoever answers may be anybody: what is theirs in it is plain, and makes no line of its own.
 */
export class AwayError extends Error {
  override name = 'AwayError';
}

/** Somebody answers there, and cannot give this file: the disk does not, say. Others may be had. */
export class NotGivenError extends AwayError {
  override name = 'NotGivenError';
}

/** What there is of a file from the byte on that was asked for. */
type Fetched =
  | { kind: 'bytes'; chunks: AsyncIterable<Uint8Array> }
  /** It has nothing more yet. */
  | { kind: 'nothing' }
  | { kind: 'missing' }
  /** It ends before that byte. */
  | { kind: 'shorter' }
  /** What whoever asks has is not in these books. */
  | { kind: 'strange' };

interface Question {
  from: number;
  /** No byte from this one on is wanted; a server of before sends what it has. */
  to?: number;
  /**
   * What whoever asks has on its device, null where that is no whole copy yet. Absent where that is told elsewhere:
   * said on two ways at once, what was said before could come later.
   */
  has?: Readonly<JournalPosition> | null;
  /** Whether it waits for what is not there yet. */
  waits: boolean;
}

/** An answer, or the next piece of it, comes sooner, or never. */
const SILENT_MS_MAX = 45_000;
const LIST_BYTES_MAX = 16 * 1024 * 1024;
const REASON_CHARS_MAX = 200;

export class Source {
  readonly #url: string;
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #peers: Pick<PeerFiles, 'tls'> | null;
  /** Connections are used again: a question may be as short as a frame. */
  readonly #agent: Agent;
  /**
   * When what the server has shown on a connection ends: that is looked at as it begins, and a connection may last
   * longer.
   */
  readonly #ends = new WeakMap<TLSSocket, number>();
  /** The entry of the newest snapshot it has told of. */
  newestSnapshot = 0;

  /**
   * With a name the server knows who asks, and waits for him when it stops; with '' it does not. With `peers` it shows
   * who it is, and takes no other word than that of one of them.
   */
  constructor(url: string, name: string, signal: AbortSignal, peers: Pick<PeerFiles, 'tls'> | null = null) {
    this.#url = withoutSlashes(url);
    this.#name = name;
    this.#signal = signal;
    this.#peers = peers;
    // Of a session that is taken up again the certificate is not looked at, and a server may offer one.
    this.#agent = agentFor(url, { maxCachedSessions: 0 });
  }

  /** Hangs up. */
  close(): void {
    this.#agent.destroy();
  }

  async list(): Promise<BooksListed> {
    const { response, chunks } = await this.#get('/books', {});
    const read: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      read.push(chunk);
      bytes += chunk.length;
      if (bytes > LIST_BYTES_MAX) break;
    }
    const text = Buffer.concat(read).toString();
    if (response.statusCode !== 200) {
      // A ledger's own port says in JSON that there is nothing, each time with another moment.
      const why = text.startsWith('{') ? 'as no port of --followers does' : brief(text.trim(), REASON_CHARS_MAX);
      throw new AwayError(`it answers ${response.statusCode} ${why}`.trim());
    }
    try {
      const { server, segments, snapshots } = JSON.parse(text) as Record<string, unknown>;
      if (typeof server !== 'string' || decodePublic(server) === null) throw new Error('no key');
      return {
        server,
        segments: namesIn(segments).filter((name) => segmentSeq(name) > 0),
        snapshots: namesIn(snapshots).filter((name) => snapshotSeq(name) >= 0),
      };
    } catch {
      throw new AwayError('it answers with no list of books');
    }
  }

  async fetch(name: string, { from, to, has, waits }: Question): Promise<Fetched> {
    const query = {
      from,
      ...(to !== undefined && { to }),
      ...(this.#name !== '' && has !== undefined && this.#said(has)),
      ...(!waits && { wait: 'no' }),
    };
    const { response, chunks } = await this.#get(`/books/${name}`, query);
    const { statusCode: status, headers } = response;
    const snapshot = Number(headers[SNAPSHOT_HEADER] ?? 0);
    if (snapshot > this.newestSnapshot) this.newestSnapshot = snapshot;
    if (status === 200 && isFile(response)) return { kind: 'bytes', chunks };
    // Somebody in between may send pages without an end.
    let told = '';
    for await (const chunk of chunks) {
      told = brief(Buffer.from(chunk).toString().trim(), REASON_CHARS_MAX);
      break;
    }
    if (status === 204) return { kind: 'nothing' };
    if (status === 404) return { kind: 'missing' };
    if (status === 416) return { kind: 'shorter' };
    if (status === 409) return { kind: 'strange' };
    if (status === 500) throw new NotGivenError(`${name} cannot be had there: ${told}`);
    throw new AwayError(`it answers ${status}${status === 200 ? ', with none of its files' : ''}`);
  }

  #said(has: Readonly<JournalPosition> | null): Record<string, string | number> {
    const chain = has !== null && { chain: Buffer.from(has.chain).toString('hex') };
    return { follower: this.#name, seq: has?.seq ?? 0, ...chain };
  }

  async #get(path: string, query: Record<string, string | number>) {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) asked.set(name, String(value));
    const patience = new Patience(this.#signal);
    try {
      const response = await this.#ask(`${this.#url}${path}?${asked}`, patience.signal);
      return { response, chunks: chunksOf(response, patience) };
    } catch (error) {
      throw patience.errorOf(error as Error);
    }
  }

  #ask(url: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { request } = protocolOf(url);
    return new Promise((resolve, reject) => {
      const asked = request(url, { agent: this.#agent, signal, ...this.#peers?.tls });
      asked.on('response', (response) => {
        if (!this.#isOver(response.socket)) return resolve(response);
        response.destroy();
        reject(new AwayError('the certificate that it shows is over'));
      });
      asked.on('error', (error) => {
        // The server may have closed a connection on which nothing went for a while: of that nobody has to hear.
        const isStale = asked.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(errorCode(error));
        isStale ? resolve(this.#ask(url, signal)) : reject(error);
      });
      // Of an answer that switches to another protocol neither of them tells.
      asked.on('close', () => reject(new Error('it hangs up'))).end();
    });
  }

  #isOver(socket: unknown): boolean {
    if (!(socket instanceof TLSSocket)) return false;
    const end = this.#ends.get(socket) ?? termOfPeer(socket).end;
    this.#ends.set(socket, end);
    return Date.now() >= end;
  }
}

/** Not the page of somebody in between; it says how long it is, and is no longer then. */
function isFile({ headers }: IncomingMessage): boolean {
  const isWhole = headers['content-length'] !== undefined && headers['content-encoding'] === undefined;
  return isWhole && headers['content-type'] === FILE_TYPE;
}

/** Ends a request that has come to a standstill, or that nobody waits for any more. */
class Patience {
  readonly #stop: AbortSignal;
  /** One for both: of each that AbortSignal.any makes something stays for as long as the one that is asked to stop. */
  readonly #end = new AbortController();
  readonly #abort = () => {
    this.hold();
    this.#end.abort();
  };
  #isSilent = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
    stop.addEventListener('abort', this.#abort);
    this.renew();
    if (stop.aborted) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  renew(): void {
    this.hold();
    this.#timer = setTimeout(() => {
      this.#isSilent = true;
      this.#abort();
    }, SILENT_MS_MAX);
  }

  /** Whoever takes what came may take long. */
  hold(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** The next piece, where it comes before the end: a read that was aborted has been seen never to settle. */
  async next<T>(pieces: AsyncIterator<T>): Promise<IteratorResult<T>> {
    const { signal } = this;
    signal.throwIfAborted();
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
    });
    try {
      return await Promise.race([pieces.next(), aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  end(): void {
    this.hold();
    this.#stop.removeEventListener('abort', this.#abort);
  }

  errorOf(error: Error): Error {
    this.end();
    if (this.#isSilent) return new AwayError('it says nothing any more');
    // Where a name has several addresses, there is an error of each, and none of all; those of OpenSSL end their line.
    // Some quote what the certificate of whoever answers says.
    return new AwayError(plain(error.message.trim()) || errorCode(error));
  }
}

/** Whoever answers there may be anybody: what is no name of a file of books would be a path. */
function namesIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}

/** All that was announced; throws where less came, as Node tells. */
async function* chunksOf(response: IncomingMessage, patience: Patience): AsyncGenerator<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  try {
    for (let next = await patience.next(pieces); next.done !== true; next = await patience.next(pieces)) {
      patience.hold();
      yield next.value;
      patience.renew();
    }
  } catch (error) {
    throw patience.errorOf(error as Error);
  } finally {
    patience.end();
    // Who wants no more leaves the connection; nobody waits for what that comes to.
    pieces.return?.().catch(() => {});
  }
}
