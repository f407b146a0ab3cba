/**
 * Who keeps a copy of the books going (`ayni follow`) reads them here: files of the directory, on a port of its own,
 * where the operator asked for one. It is no part of the ledger's interface; whoever reaches the port reads all books,
 * where it does not ask for certificates (peer-tls.ts).
 *
 *     GET /books               the server's key, and which segments and snapshots there are
 *     GET /books/<name>?from=  the file from that byte on, and to=, where that is asked for; of the last segment as far
 *                              as it is on the device, and where that is not farther, as soon as it is (204: for half
 *                              a minute it was not; at once with wait=no)
 *
 * With each question they say how far their copy has come (follower=<its name>&seq=<entry>&chain=<hash of the frame>):
 * one that has another last entry than these books is told so (409). Answers may be made to wait until so many of them
 * have all there is (`guard`).
 *
 * What always holds: nothing is handed out that the device does not have, so no copy is ever ahead of these books; none
 * counts as one that has what was written last but by the hash of the last frame, which nobody has of other books; no
 * file is named but the journal's and the snapshots', never the key; nothing is changed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FOLLOWERS_MAX } from './config.ts';
import type { PeerFiles } from './peer-tls.ts';
import { encodeBase64 } from './proof/keys.ts';
import { verifyBy } from './proof/verify.ts';
import { openSidePort, type SidePort } from './side-port.ts';
import { type Disk, type DiskFile, readAllLater } from './storage/disk.ts';
import { SEGMENT_HEADER_BYTES, segmentSeq, type VerifyHash } from './storage/format.ts';
import type { Journal } from './storage/journal.ts';
import { isPartName, SnapshotError, snapshotSeq } from './storage/snapshot-format.ts';
import { checkFoot } from './storage/snapshot-reader.ts';
import { errorCode } from './storage/system-error.ts';
import { Wait } from './wait.ts';

export interface FollowersOptions {
  disk: Disk;
  directory: string;
  journal: Journal;
  /** The server's public key. */
  key: Uint8Array;
  /** Whether who follows is to have this snapshot, or segment. */
  offers: (name: string) => boolean;
  /** For the operator. */
  tell: (text: string) => void;
  /** How long a request for what is not there yet waits. */
  waitMsMax?: number;
}

/** What there is to follow. */
export interface BooksListed {
  /** The server's public key, base64. */
  server: string;
  /** Names, from the oldest on. */
  segments: string[];
  snapshots: string[];
}

/** In the directory of a copy, what it is called. */
export const COPY_NAME_FILE = 'follower';
/** In every answer: the entry of the newest snapshot, which may be new to whoever follows. */
export const SNAPSHOT_HEADER = 'ayni-snapshot';
/** What a file is sent as; whoever gets anything else has met somebody in between. */
export const FILE_TYPE = 'application/octet-stream';

/** Each asks for what comes, and beside it for snapshots. */
const CONNECTIONS_MAX = 4 * FOLLOWERS_MAX;
const WAIT_MS_MAX = 25_000;
/** Without a word for so long it is gone; its socket too, where it takes nothing that it asked for. */
const SILENT_MS_MAX = 60_000;
/** A stop waits for them so long. */
const STOP_MS_MAX = 3_000;
const PIECE_BYTES = 1024 * 1024;

/** How far somebody had come who followed, and when that was last heard. */
interface Heard {
  seq: number;
  heard: number;
}

/** How far somebody has come who follows. */
interface Follower extends Heard {
  /** The last entry that it has on its device. */
  seq: number;
  /** The hash of the frame that it is the last of; null where that was not said. */
  chain: Buffer | null;
}

/** A stop found that answers waited for copies. */
class NotCopiedError extends Error {
  override name = 'NotCopiedError';

  constructor(min: number) {
    super(
      `Stopped while answers waited for ${copies(min)} (--followers-min): who waited for one was told that it may have been processed; it is in these books`,
    );
  }
}

export class Followers {
  readonly #options: FollowersOptions;
  readonly #verify: VerifyHash;
  /** Names of the snapshots that were there when last somebody asked, and are found to be this server's. */
  #ownSnapshots: ReadonlySet<string> = new Set();
  readonly #followers = new Map<string, Follower>();
  /** Those of whom nothing was heard for a while, the last to be silent last. */
  readonly #silent = new Map<string, Heard>();
  /** Who waits for what is not there yet. */
  #waiting = new Set<() => void>();
  #newestSnapshot = 0;
  /**
   * By copy, the entry that it said it has, and these books have not: what is said only once may be a byte that changed
   * on its way.
   */
  readonly #strange = new Map<string, number>();
  /** Whether that was told of one of them. */
  #hasTold = false;
  /** Whether it was told that more follow than are counted. */
  #isFull = false;
  /** How many copies must have all there is before anybody is told of it. */
  #min = 0;
  /** The wait for copies to have what there is. */
  readonly wait: Wait;
  /** Who waits for that. */
  #unspoken: (() => void)[] = [];
  #reading: Promise<unknown> = Promise.resolve();
  /**
   * Files of which an answer broke off, from which byte it was asked for, and why: an answer that has begun can say
   * nothing, so the next one to that question does. Whoever asks for what comes behind is told nothing of it.
   */
  readonly #brokenOff = new Map<string, { from: number; why: string }>();

  constructor(options: FollowersOptions) {
    this.#options = options;
    this.#verify = verifyBy(options.key);
    this.wait = new Wait({
      stopwatch: () => performance.now(),
      late: () => this.#tellLate(),
      over: () => options.tell('Answers go on.'),
    });
  }

  /** The last entry that each of them has, as they have said within the last minute. */
  get entries(): number[] {
    this.#forgetSilent();
    return [...this.#followers.values()].map(({ seq }) => seq);
  }

  #forgetSilent(): void {
    const since = performance.now() - SILENT_MS_MAX;
    for (const [name, { seq, heard }] of this.#followers) {
      if (heard >= since) continue;
      this.#followers.delete(name);
      this.#strange.delete(name);
      this.#silent.set(name, { seq, heard });
    }
    for (const [name] of this.#silent) if (this.#silent.size > FOLLOWERS_MAX) this.#silent.delete(name);
  }

  /** To be called when the device has more, or a snapshot is taken. */
  look(): void {
    for (const go of this.#waiting) go();
  }

  /** There is a snapshot after this entry. */
  tookSnapshot(seq: number): void {
    this.#newestSnapshot = seq;
    this.look();
  }

  /**
   * From now on nothing is spoken of before so many copies have it. Resolves when they have what there is: until then
   * nobody may be answered.
   */
  guard(min: number): Promise<void> {
    this.#min = min;
    return new Promise((resolve) => this.whenThere(resolve));
  }

  whenThere(done: () => void): void {
    this.look();
    if (this.#have() >= this.#min) return done();
    this.#unspoken.push(done);
    this.wait.begin(performance.now());
  }

  /**
   * To be called each second. Where too few are there nothing more can be acknowledged, even if nobody waits for that
   * yet: a copy may have become the books elsewhere, and what is read here would be out of date.
   */
  count(): void {
    if (this.#have() < this.#min) this.wait.begin(performance.now());
    this.wait.look();
  }

  get isCutOff(): boolean {
    return this.wait.isLate;
  }

  /** Why a server that is stopped now cannot end as it should. */
  notCopied(): NotCopiedError {
    return new NotCopiedError(this.#min);
  }

  /** How many have all there is, of those that are there. */
  #have(): number {
    this.#forgetSilent();
    return [...this.#followers.values()].filter((it) => this.#hasAll(it)).length;
  }

  #tellLate(): void {
    const { seq } = this.#options.journal.position;
    this.#options.tell(
      `Answers wait: ${this.#have()} of ${copies(this.#min)} (--followers-min) have entry ${seq}. Until they do nothing else is taken in.`,
    );
  }

  /** Somebody has more. */
  #release(): void {
    if (!this.wait.isOn || this.#have() < this.#min) return;
    const unspoken = this.#unspoken;
    this.#unspoken = [];
    this.wait.end();
    // Not within the request that said so: what goes wrong in an answer is nothing of it.
    for (const done of unspoken) queueMicrotask(done);
  }

  /**
   * Resolves when all of them have all there is, as far as they say so within some seconds: returns whether they do,
   * and what is to be said of it.
   */
  async caughtUp(): Promise<{ haveAll: boolean; text: string }> {
    for (const end = performance.now() + STOP_MS_MAX; this.#behind().length > 0 && performance.now() < end; ) {
      await pause(10);
    }
    const { seq } = this.#options.journal.position;
    const [behind, all] = [this.#behind(), this.#followers.size];
    const silent = [...this.#silent.values()].filter((it) => it.seq < seq);
    const lacking = [
      ...behind.map((it) => (it.seq < seq ? `one has entries up to ${it.seq}` : 'one has others')),
      ...silent.map((it) => `one has said nothing for ${secondsSince(it.heard)} s, and had entries up to ${it.seq}`),
    ];
    const here = `entries up to ${seq}`;
    if (lacking.length === 0 && all > 0)
      return { haveAll: true, text: `All who follow these books (${all}) have ${here}.` };
    const who = lacking.length === 0 ? 'nobody follows them' : lacking.join('; ');
    return { haveAll: false, text: `Not every copy of these books has what they have, ${here}: ${who}.` };
  }

  /** Those that have not all there is. Whoever has hung up is taken at the last word. */
  #behind(): Follower[] {
    this.#forgetSilent();
    const { seq, chain } = this.#options.journal.position;
    return [...this.#followers.values()].filter((it) => it.seq !== seq || it.chain?.equals(chain) === false);
  }

  /**
   * Listens, to `peers` alone where there are any; port 0 takes a free one. Rejects with ListenError where the port
   * cannot be had.
   */
  async listen(at: { host: string; port: number }, peers: PeerFiles | null = null): Promise<SidePort> {
    const { disk, directory, tell } = this.#options;
    const snapshots = await this.#ownOf(disk.readdir(directory));
    this.#newestSnapshot = Math.max(this.#newestSnapshot, ...snapshots.map(snapshotSeq));
    const limits = { connectionsMax: CONNECTIONS_MAX, silentMsMax: SILENT_MS_MAX };
    return openSidePort({ ...at, ...limits, flag: '--followers', peers, tell }, (request, response) => {
      void this.#answer(request, response).catch((error: Error) => {
        // A file that went meanwhile, or a disk that fails: who follows asks again.
        if (response.headersSent) response.destroy();
        else response.writeHead(errorCode(error) === 'ENOENT' ? 404 : 500).end(error.message);
      });
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!URL.canParse(request.url!, 'http://books')) return void response.writeHead(404).end();
    const { pathname, searchParams } = new URL(request.url!, 'http://books');
    const [, books, name = '', ...rest] = pathname.split('/');
    if (request.method !== 'GET' || books !== 'books' || rest.length > 0) return void response.writeHead(404).end();
    const isStrange = this.#hear(searchParams, response);
    if (name === '') return void response.end(JSON.stringify(await this.#list()));
    if (isStrange) return void response.writeHead(409).end();
    const from = Number(searchParams.get('from') ?? 0);
    const to = Number(searchParams.get('to') ?? Number.MAX_SAFE_INTEGER);
    if (![from, to].every((byte) => Number.isSafeInteger(byte) && byte >= 0))
      return void response.writeHead(400).end('from, to: a byte');
    const brokenOff = this.#brokenOff.get(name);
    if (brokenOff?.from === from) {
      this.#brokenOff.delete(name);
      return void response.writeHead(500).end(brokenOff.why);
    }
    const waitMs = searchParams.get('wait') === 'no' ? 0 : (this.#options.waitMsMax ?? WAIT_MS_MAX);
    const end = await this.#endOf(name, from, waitMs, response);
    if (response.destroyed) return;
    if (end === null) return void response.writeHead(404).end();
    response.setHeader(SNAPSHOT_HEADER, this.#newestSnapshot);
    if (from > end) return void response.writeHead(416).end();
    if (from === end && this.#options.journal.end?.file === name) return void response.writeHead(204).end();
    await this.#send(name, from, Math.max(from, Math.min(to, end)), response);
  }

  /**
   * Takes what is said of a copy, if anything; returns whether it is as far as these books, and has another last entry.
   */
  #hear(params: URLSearchParams, response: ServerResponse): boolean {
    const [name, seq] = [params.get('follower') ?? '', Number(params.get('seq') ?? Number.NaN)];
    if (!/^[\w-]{1,40}$/.test(name) || !Number.isSafeInteger(seq)) return false;
    const follower: Follower = { seq, chain: chainIn(params), heard: performance.now() };
    if (!this.#hasRoom(name, follower)) return false;
    this.#followers.set(name, follower);
    this.#silent.delete(name);
    const { position } = this.#options.journal;
    const isOther = seq === position.seq && follower.chain?.equals(position.chain) === false;
    if (isOther || seq > position.seq) this.#hearStrange(name, seq);
    else this.#strange.delete(name);
    // Who hangs up may be gone for good, with all that it had.
    response.once('close', () => {
      if (!response.writableFinished) follower.chain = null;
    });
    this.#release();
    return isOther;
  }

  /**
   * Whether it is counted. Anybody may say that he follows, so there are only so many places: once they are taken, one
   * that has all there is takes the place of one that has not, which gets it back the same way.
   */
  #hasRoom(name: string, follower: Follower): boolean {
    if (this.#followers.has(name) || this.entries.length < FOLLOWERS_MAX) return true;
    if (!this.#isFull)
      this.#options.tell(
        `${FOLLOWERS_MAX} follow these books, and no more are counted: of others only those that have all there is, each in the place of one that has not.`,
      );
    this.#isFull = true;
    if (!this.#hasAll(follower)) return false;
    const [lacking] = [...this.#followers].find(([, it]) => !this.#hasAll(it)) ?? [];
    if (lacking === undefined) return false;
    this.#followers.delete(lacking);
    this.#strange.delete(lacking);
    return true;
  }

  #hasAll({ seq, chain }: Follower): boolean {
    const { position } = this.#options.journal;
    return seq === position.seq && chain?.equals(position.chain) === true;
  }

  /** Nothing is handed out that these books do not have: they lost it, as where a backup was put in their place. */
  #hearStrange(name: string, seq: number): void {
    const end = this.#options.journal.position.seq;
    const what =
      seq > end
        ? `has entries up to ${seq}, and these books end with ${end}: they are older, or other ones. Where they are older`
        : `has another entry ${seq} than these books: one of both has gone on from an older copy. Where it is these books`;
    const isTwice = this.#strange.get(name) === seq;
    this.#strange.set(name, seq);
    if (!isTwice || this.#hasTold) return;
    this.#hasTold = true;
    this.#options.tell(
      `A copy says that it ${what}, what was acknowledged since is in that copy alone: stop this server, and start it on an \`ayni backup\` of the copy. Where this server took over from the one whose books those were, and answers waited for copies there, they hold nothing that was answered and is not here: begin that copy anew, in an empty directory.`,
    );
  }

  async #list(): Promise<BooksListed> {
    const { disk, directory, key } = this.#options;
    // All of one moment: a segment goes once a snapshot stands for it.
    const names = disk.readdir(directory);
    const segments = names.filter((name) => this.#isDurableSegment(name) && this.#options.offers(name));
    return { server: encodeBase64(key), segments, snapshots: await this.#ownOf(names) };
  }

  /**
   * This server's snapshots among these names, but for those that it knows to be of no use, or to lead nowhere. One
   * that another key has signed is never removed, and a damaged one not before the next is taken: until then it would
   * stop whoever follows.
   */
  async #ownOf(names: readonly string[]): Promise<string[]> {
    const told: string[] = [];
    const own = new Set<string>();
    for (const name of names) {
      if (snapshotSeq(name) < 0 || !this.#options.offers(name)) continue;
      const isOwn = this.#ownSnapshots.has(name) || (await this.#isOwn(name));
      if (isOwn === true) own.add(name);
      // One that cannot be read is told of: so is then why it cannot be had, and it may be there again.
      if (isOwn !== false) told.push(name);
    }
    this.#ownSnapshots = own;
    return told;
  }

  /** Null where the disk does not give it. */
  async #isOwn(name: string): Promise<boolean | null> {
    const { disk, directory } = this.#options;
    try {
      await checkFoot(disk, join(directory, name), this.#verify);
      return true;
    } catch (error) {
      if (error instanceof SnapshotError) return false;
      if (errorCode(error as Error) === '') throw error;
      return null;
    }
  }

  /** One that is being made has its name before it has its place in the books. */
  #isDurableSegment(name: string): boolean {
    return segmentSeq(name) > 0 && segmentSeq(name) <= segmentSeq(this.#options.journal.end?.file ?? '');
  }

  /**
   * Where a file ends for those who follow; null where there is none for them. Of the last segment, once it is past
   * `from`.
   */
  async #endOf(name: string, from: number, waitMs: number, response: ServerResponse): Promise<number | null> {
    const { disk, directory, journal } = this.#options;
    if (!this.#isDurableSegment(name) && !isPartName(name) && snapshotSeq(name) < 0) return null;
    const until = performance.now() + waitMs;
    // A header alone, as a crash may leave it, is nothing to take: who follows it waits for its first frame.
    const isNews = ({ byte }: { byte: number }) => byte > Math.max(from, SEGMENT_HEADER_BYTES);
    while (journal.end?.file === name && !isNews(journal.end)) {
      const left = until - performance.now();
      if (journal.end.byte < from || left <= 0 || response.destroyed) break;
      await this.#more(left, response);
    }
    if (journal.end?.file === name) return isNews(journal.end) ? journal.end.byte : Math.min(journal.end.byte, from);
    const file = disk.open(join(directory, name), 'read');
    const size = file.size();
    file.close();
    return size;
  }

  /** Resolves when there is more, after so long, or when nobody waits for it any more. */
  #more(ms: number, response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        response.off('close', go);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      response.on('close', go);
      this.#waiting.add(go);
    });
  }

  async #send(name: string, from: number, to: number, response: ServerResponse): Promise<void> {
    const file = this.#options.disk.open(join(this.#options.directory, name), 'read');
    try {
      response.writeHead(200, { 'content-type': FILE_TYPE, 'content-length': to - from });
      for (let at = from; at < to && !response.destroyed; at += PIECE_BYTES) {
        const piece = await this.#read(file, at, Math.min(to, at + PIECE_BYTES));
        // Behind the last nobody waits: who has got it may ask for the next before that is told.
        const isLast = at + PIECE_BYTES >= to;
        if (!response.write(piece) && !isLast && !response.destroyed) await drained(response);
      }
      response.end();
    } catch (error) {
      this.#brokenOff.set(name, { from, why: (error as Error).message });
      throw error;
    } finally {
      file.close();
    }
  }

  /** One piece at a time, whoever wants it: what reads shares its threads with the journal. */
  #read(file: DiskFile, from: number, to: number): Promise<Buffer> {
    const read = this.#reading.then(async () => {
      const piece = Buffer.allocUnsafe(to - from);
      if ((await readAllLater(file, piece, from)) < piece.length) throw new Error(`${file.path} has become shorter`);
      return piece;
    });
    this.#reading = read.catch(() => {});
    return read;
  }
}

function chainIn(params: URLSearchParams): Buffer | null {
  const chain = params.get('chain') ?? '';
  return /^[0-9a-f]{64}$/.test(chain) ? Buffer.from(chain, 'hex') : null;
}

function secondsSince(time: number): number {
  return Math.round((performance.now() - time) / 1000);
}

function copies(count: number): string {
  return count === 1 ? '1 copy' : `${count} copies`;
}

/** Resolves when the socket wants more, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
}
