/**
 * `ayni follow <url> <dir>`: keeps a copy of a running server's books going, to be started from when that one is lost.
 */
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isoMoment } from '../core/proofs.ts';
import { PeerFiles } from '../peer-tls.ts';
import { decodePublic, encodeBase64 } from '../proof/keys.ts';
import { verifyBy } from '../proof/verify.ts';
import { realDisk } from '../storage/disk.ts';
import { SpoiltFrameError } from '../storage/frame-chain.ts';
import { LockLostError } from '../storage/lock.ts';
import { DamageError } from '../storage/segments.ts';
import { errorCode, errorText } from '../storage/system-error.ts';
import { remedy } from '../trouble.ts';
import { plainUrl } from '../url-text.ts';
import { Copy } from './follow/copy.ts';
import { StrangeBooksError } from './follow/incoming.ts';
import { AwayError, NotGivenError, Source } from './follow/source.ts';
import { readArgs, readFilled, SWITCH, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni follow <url> <dir> --against <base64> [--tls <dir>] [--once]

Keeps a copy of a running server's books in <dir>, a new directory, or one in which it was kept before; what else lies
there stays. What the server has on its disk comes as soon as it is there; a server that cannot be reached is asked again
until it can. Of each frame it is checked that it is the next one and that the server with this key has signed it. SIGTERM
ends it.

  <url>               of the server's --followers
  --against <base64>  the server's public key
  --tls <dir>         with cert.pem, key.pem (mode 600) and peers.pem: shows the certificate to a server that was started with
                      --followers-tls, and talks to nobody whose own is not among its peers'
  --once              end when the copy has what the server has

The server's key is not in the copy. To go on with it where the server is lost: end this, and start a server on <dir> with
the key that you keep elsewhere (--server-key). Never let both run: there would be two histories.
`;

/** Whoever reads its log may be gone: that is no reason to stop. */
export const IS_SERVICE = true;

const AGAIN_MS = { first: 100, max: 1000 };
/**
 * Twice as long each time: one that is fetched in vain may be gigabytes, and is whole again only once the server takes
 * the next.
 */
const SNAPSHOT_AGAIN_MS = { first: 10_000, max: 600_000 };
/** Why it does not go on may change meanwhile; so many reasons are told. */
const REASONS_MAX = 10;
/**
 * The exit code after SIGHUP, which comes from log rotation too, and means no stop then: systemd takes 0 for one that
 * was meant, and does not start it again.
 */
const HUNG_UP = 129;
/** Bytes may change on their way, but not each time. */
const SPOILT_MAX = 5;

/** Runs the command; resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const { url, directory, key, peers, isOnce } = readWish(args);
  const { stop, isHungUp } = stopOnSignals();
  const failed = (error: Error): number => {
    const text = textOf(error, url, directory);
    if (text === null) throw error;
    process.stderr.write(`ayni: ${text}\n`);
    return 1;
  };
  let [copy, name] = [null as Copy | null, ''];
  try {
    copy = new Copy(realDisk, directory, verifyBy(key), tell);
    // Who takes what there is, and goes, is nobody to wait for.
    if (!isOnce) name = copy.name();
  } catch (error) {
    copy?.abandon();
    return failed(error as Error);
  }
  const source = new Source(url, name, stop.signal, peers);
  const endWatch = peers?.watch(tell);
  const following = new Following(copy, source, encodeBase64(key), stop);
  let hasAll = false;
  try {
    hasAll = await following.run(isOnce);
    copy.close();
  } catch (error) {
    // What is wrong was told, or is thrown on.
    copy.abandon();
    return failed(error as Error);
  } finally {
    endWatch?.();
    source.close();
  }
  tell(copy.end === null ? `${directory} is not whole yet.` : `${directory} has entries 1 to ${copy.end.seq}.`);
  if (isHungUp()) return HUNG_UP;
  if (hasAll || !isOnce) return 0;
  process.stderr.write('ayni: ended before it had all there is\n');
  return 1;
}

function readWish(args: string[]) {
  const { values, positionals } = readArgs(args, { against: TEXT, tls: TEXT, once: SWITCH });
  if (positionals.length !== 2) throw new UsageError('two of them: where the books are, and the directory of the copy');
  const url = readUrl(positionals[0]!);
  const directory = resolve(readFilled('the directory', positionals[1]!));
  const key = decodePublic(values.against ?? '');
  if (key === null) throw new UsageError("--against: the server's public key, the base64 of 32 bytes");
  const peers = values.tls === undefined ? null : readPeers(values.tls, url);
  return { url, directory, key, peers, isOnce: values.once === true };
}

/** What the first signal to stop aborts, and whether the last one was SIGHUP. */
function stopOnSignals(): { stop: AbortController; isHungUp: () => boolean } {
  const stop = new AbortController();
  let isHungUp = false;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      isHungUp = signal === 'SIGHUP';
      stop.abort();
    });
  }
  // Else Node opens a debugger, to everybody with an account on the machine.
  process.on('SIGUSR1', () => tell('SIGUSR1 does nothing here.'));
  return { stop, isHungUp: () => isHungUp };
}

/** What an operator can do something about; null of anything else. */
function textOf(error: Error, url: string, directory: string): string | null {
  if (error instanceof StrangeBooksError) return `${url}: ${error.message}. What is in ${directory} stays as it was.`;
  if (error instanceof LockLostError)
    return `${directory} is not this copy's any more: it was moved, removed or put back, or another process has taken it. See that one process works on it, then follow again.`;
  if (error instanceof DamageError)
    return `${error.message}. The copy is damaged, or of another server than the one whose key --against names: begin a new one, in an empty directory.`;
  const code = errorCode(error);
  // Those of Node itself are mistakes of ours.
  if (code === '' || code.startsWith('ERR_')) return null;
  return `Cannot go on in ${directory} (${errorText(error)}). What it has stays. ${remedy(error, directory)}, then follow again.`;
}

function readUrl(text: string): string {
  const url = plainUrl(text);
  if (url === null) throw new UsageError(`${text}: no URL such as http://127.0.0.1:9500`);
  return url.href;
}

function readPeers(directory: string, url: string): PeerFiles {
  const path = resolve(readFilled('--tls', directory));
  if (!url.startsWith('https:')) throw new UsageError(`--tls: ${url} is not https`);
  return new PeerFiles(realDisk, path);
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A copy, where its books come from, and how that goes. */
class Following {
  readonly #copy: Copy;
  readonly #source: Source;
  /** The server's public key, base64. */
  readonly #key: string;
  readonly #stop: AbortController;
  /** Why it has not gone on since it last did, as far as that was told. */
  readonly #reasons = new Set<string>();
  #againMs = AGAIN_MS.first;
  #spoilt = 0;
  /** Those that are being fetched, beside what goes on; when again, and whether it was told that they cannot be had. */
  #snapshots: Promise<void> | null = null;
  #snapshotsFrom = 0;
  #snapshotsAgainMs = SNAPSHOT_AGAIN_MS.first;
  #lacksSnapshots = false;
  /** Once being enough, how often one could not be had. */
  #lacked = 0;
  #failure: Error | null = null;
  /** What was found wrong with the books there the last time: without TLS it may be a byte that changed on its way. */
  #strange = { journal: '', snapshot: '' };

  constructor(copy: Copy, source: Source, key: string, stop: AbortController) {
    this.#copy = copy;
    this.#source = source;
    this.#key = key;
    this.#stop = stop;
  }

  /**
   * Resolves when it is stopped, or, once being enough, when the copy has all there was: returns whether it has. Throws
   * what is of no use to try again.
   */
  async run(isOnce: boolean): Promise<boolean> {
    try {
      return await this.#goOnAgain(isOnce);
    } finally {
      // What is being fetched beside may be gigabytes.
      this.#stop.abort();
      await this.#snapshots;
    }
  }

  async #goOnAgain(isOnce: boolean): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#goOn(isOnce);
      } catch (error) {
        if (!this.#stop.signal.aborted) await this.#wait(error as Error);
      }
    }
    return false;
  }

  /** Follows for as long as somebody answers; returns, once being enough, whether the copy has all there was. */
  async #goOn(isOnce: boolean): Promise<boolean> {
    const [copy, source] = [this.#copy, this.#source];
    const { server } = await source.list();
    if (server !== this.#key)
      throw new StrangeBooksError(`the books there are of another server, with the key ${server}`);
    if (copy.end === null) await copy.begin(source);
    else await copy.compare(source);
    const { seq, moment } = copy.end!;
    tell(`Has entries 1 to ${seq}, the last of ${isoMoment(moment)}, and goes on.`);
    // Not the first time: the answer tells of snapshots, too.
    for (let waits = false; !this.#stop.signal.aborted; waits = !isOnce) {
      const asked = performance.now();
      const step = await copy.goOn(source, waits);
      this.#answered();
      if (step === 'more') this.#spoilt = 0;
      if (this.#failure !== null) throw this.#failure;
      if (this.#missesSnapshot()) this.#fetchSnapshots();
      if (waits && step === 'nothing') await this.#pause(asked + AGAIN_MS.first - performance.now());
      if (!isOnce || step === 'more') continue;
      // The last of them may have been taken since.
      await this.#snapshots;
      return await this.#takeLast();
    }
    return false;
  }

  /**
   * Once being enough: whether the snapshots came, too. One that the disk there does not give is asked for some times:
   * nobody waits for the next one.
   */
  async #takeLast(): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#takeSnapshots();
        return true;
      } catch (error) {
        if (!(error instanceof NotGivenError)) throw error;
        if (++this.#lacked > SPOILT_MAX) {
          tell(`${error.message}. The copy is without it.`);
          return false;
        }
        await this.#pause(AGAIN_MS.first);
      }
    }
    return false;
  }

  /** Whether a snapshot was told of that is not here, though all it stands for is. */
  #missesSnapshot(): boolean {
    const { newestSnapshot } = this.#source;
    return newestSnapshot > this.#copy.newestSnapshot && newestSnapshot <= this.#copy.end!.seq;
  }

  /**
   * Beside what goes on, one time after the other. Each may be gigabytes: what did not come is not asked for at once
   * again.
   */
  #fetchSnapshots(): void {
    if (performance.now() < this.#snapshotsFrom) return;
    this.#snapshots ??= this.#takeSnapshots()
      .catch((error: Error) => {
        this.#failure = this.#lasting(error, 'snapshot');
        if (this.#failure !== null || this.#lacksSnapshots || this.#stop.signal.aborted) return;
        this.#lacksSnapshots = true;
        tell(`Cannot fetch snapshots just now (${error.message}), and tries again.`);
      })
      .finally(() => {
        this.#snapshots = null;
        if (!this.#missesSnapshot()) return;
        this.#snapshotsFrom = performance.now() + this.#snapshotsAgainMs;
        this.#snapshotsAgainMs = Math.min(2 * this.#snapshotsAgainMs, SNAPSHOT_AGAIN_MS.max);
      });
  }

  async #takeSnapshots(): Promise<void> {
    for (const name of await this.#copy.takeSnapshots(this.#source)) tell(`Has ${name}.`);
    this.#strange.snapshot = '';
    this.#lacksSnapshots = false;
    this.#snapshotsAgainMs = SNAPSHOT_AGAIN_MS.first;
  }

  #answered(): void {
    if (this.#reasons.size > 0) tell('It answers again.');
    this.#reasons.clear();
    this.#strange.journal = '';
    this.#againMs = AGAIN_MS.first;
  }

  /** Waits for a while; throws what will be the same then. */
  async #wait(error: Error): Promise<void> {
    const lasting = this.#lasting(error, 'journal');
    if (lasting !== null) throw lasting;
    // What lasts may come behind what does not: a server that was away, and lets nobody in since.
    if (!this.#reasons.has(error.message) && this.#reasons.size < REASONS_MAX) {
      this.#reasons.add(error.message);
      tell(`Cannot follow just now (${error.message}), and tries again.`);
    }
    await this.#pause(this.#againMs);
    this.#againMs = Math.min(2 * this.#againMs, AGAIN_MS.max);
  }

  /** Whoever answers there may be anybody: who does so at once, with nothing, is not asked at once again. */
  async #pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  /** What an error comes to that will be the same the next time; null of one that need not be. */
  #lasting(error: Error, what: 'journal' | 'snapshot'): Error | null {
    if (error instanceof AwayError) return null;
    if (error instanceof StrangeBooksError && error.message !== this.#strange[what]) {
      this.#strange[what] = error.message;
      return null;
    }
    if (!(error instanceof SpoiltFrameError)) return error;
    // Beside what goes on, and the server may take the next one: with answers that wait for this copy, nobody else is
    // served.
    if (what === 'snapshot') return null;
    return ++this.#spoilt > SPOILT_MAX ? new StrangeBooksError(`${error.message}, again and again`) : null;
  }
}
