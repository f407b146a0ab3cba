/**
 * The file of answers: a line of JSON for each record that was answered, behind a first line that says where they were
 * sent. It spares the next run what is in already, and tells whoever reads it what became of each line.
 *
 * Nothing rests on it: a record whose answer it has lost is sent again, and then is in already. So it is not synced,
 * and what a kill left of its last line is passed by.
 */
import { appendFileSync, closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import { parseObject } from '../../client/json.ts';
import { isFinal } from '../../core/entry.ts';
import { UsageError } from '../usage.ts';
import { linesOf } from './lines.ts';
import { Witnesses } from './witnesses.ts';

/** Where records were sent: what is in one ledger is not in another. */
export interface Destination {
  url: string;
  ledger: string;
}

export interface SentAnswer {
  /** Of the input, from 1. */
  line: number;
  handle: string | null;
  hash: string | null;
  /** Of the record that is in. */
  luid: string | null;
  outcome: 'taken' | 'there' | 'refused';
  /** Of an intent: `unknown` where it was in already and its sender may not read it. */
  status: string | null;
  /** Why it was refused, or rejected. */
  reason: string | null;
  detail: string | null;
}

export class AnswersFile {
  readonly path: string;
  readonly #fd: number;
  /** By the hash of a record, those of earlier runs that the next answer would not change. */
  readonly #settled: Map<string, SentAnswer>;
  readonly #witnesses = new Witnesses();

  private constructor(path: string, fd: number, settled: Map<string, SentAnswer>) {
    this.path = path;
    this.#fd = fd;
    this.#settled = settled;
    for (const answer of settled.values()) this.#witnesses.add(answer);
  }

  /** Goes on with the file, or makes it. Throws where it is something else, or tells of another destination. */
  static async open(path: string, destination: Destination): Promise<AnswersFile> {
    const fd = openSync(path, 'a+', 0o600);
    // What has no end cannot be read first.
    if (!fstatSync(fd).isFile()) throw new UsageError(`--answers: ${path} is no file`);
    const settled = await readSettled(path, destination);
    if (settled === null) appendFileSync(fd, `${JSON.stringify(destination)}\n`);
    // A line that a kill has cut must not take the next one with it.
    else if (!endsLine(fd)) appendFileSync(fd, '\n');
    return new AnswersFile(path, fd, settled ?? new Map());
  }

  /**
   * The last answers that are settled, of this run too, so many that the youngest is among them: a server that has come
   * back with older books, or with new ones, does not have that.
   */
  youngest(width: number): SentAnswer[] {
    return this.#witnesses.youngest(width);
  }

  /** What became of a record, where that is known and stays so. */
  settled(hash: string): SentAnswer | null {
    return this.#settled.get(hash) ?? null;
  }

  /** One call that appends: another run's lines come between whole ones. */
  add(answer: SentAnswer): void {
    try {
      appendFileSync(this.#fd, `${JSON.stringify(answer)}\n`);
    } catch (error) {
      throw new Error(
        `${this.path}: ${(error as Error).message}; what was sent may be in, the same command again goes on`,
      );
    }
    if (isSettled(answer)) this.#witnesses.add(answer);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function endsLine(fd: number): boolean {
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, fstatSync(fd).size - 1);
  return last.toString() === '\n';
}

/** Null where nothing is in the file yet. */
async function readSettled(path: string, destination: Destination): Promise<Map<string, SentAnswer> | null> {
  let settled: Map<string, SentAnswer> | null = null;
  for await (const line of linesOf(createReadStream(path))) {
    const value = line === null ? null : parseObject(line);
    if (settled === null) {
      checkHead(path, value, destination);
      settled = new Map();
      continue;
    }
    const answer = value as SentAnswer | null;
    if (answer !== null && typeof answer.hash === 'string' && isSettled(answer)) {
      // Behind all others where it is told of again.
      settled.delete(answer.hash);
      settled.set(answer.hash, answer);
    }
  }
  return settled;
}

function checkHead(path: string, head: object | null, { url, ledger }: Destination): void {
  const { url: otherUrl, ledger: otherLedger } = (head ?? {}) as Partial<Destination>;
  if (typeof otherUrl !== 'string') throw new UsageError(`--answers: ${path} is no file of answers; name a new one`);
  if (otherUrl === url && otherLedger === ledger) return;
  throw new UsageError(`--answers: ${path} is of ledger ${otherLedger} at ${otherUrl}; name a new one`);
}

/** What was refused may be taken today, and what waits may have come to its end. */
function isSettled({ outcome, status }: SentAnswer): boolean {
  return outcome !== 'refused' && (status === null || isFinal(status));
}
