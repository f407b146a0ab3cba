/**
 * The bank's file: what happened, one line for all that was written and synced together.
 *
 *   a line   <CRC-32 of what follows, 8 hex digits> <JSON> LF
 *   JSON     {"after":"<the checksum of the line before>","facts":[…],"seq":<1, 2, 3 …>}
 *
 * What always holds: `append` resolves when its facts are on the device; one write and one sync are under way at a
 * time, and whatever comes in meanwhile makes up the next line. A write or sync that fails is final: nothing is written
 * after it. The same goes where others have removed, replaced, cut or lengthened the file, as when a copy is put back
 * beside a running bank. Reading takes whole lines only: bad bytes at the very end, with no whole line after them, were
 * never acknowledged and are cut; bad bytes anywhere else, a line missing or one too many, are damage, and the bank
 * does not start.
 *
 * Files come in through `LineDisk`, so that a test can tear them.
 */
import { crc32 } from 'node:zlib';

interface LineFile {
  size(): number;
  /** Reading and writing may do less than asked for, and return how much. */
  read(bytes: Uint8Array, from: number, to: number, position: number): number;
  write(bytes: Uint8Array, from: number, to: number, position: number): number;
  truncate(size: number): void;
  sync(): void;
  syncLater(done: (error: Error | null) => void): void;
  close(): void;
}

export interface LineDisk {
  exists(path: string): boolean;
  /** `create` wants a file that is not there. */
  open(path: string, mode: 'write' | 'create'): LineFile;
  /** What tells the file there from all others. */
  identity(path: string): string;
  syncDirectory(path: string): void;
}

/** Bytes that were once written and have changed. */
export class DamageError extends Error {
  override name = 'DamageError';
}

const FACTS_MAX = 1000;
/** Longer lines are refused when they are written, so they can be refused when read. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const LF = 0x0a;
/** Eight digits and a space. */
const HEAD_BYTES = 9;
const START = '00000000';
/** How every line's JSON begins; in a fact a quote inside a text has a backslash before it. */
const JSON_START = '{"after":"';

interface Line {
  after: string;
  seq: number;
  facts: unknown[];
}

interface Waiting {
  facts: number;
  resolve(): void;
  reject(error: Error): void;
}

interface Opened<Fact extends object> {
  lines: Lines<Fact>;
  /** Bytes of a torn end that were cut. */
  cutBytes: number;
}

export class Lines<Fact extends object> {
  readonly #disk: LineDisk;
  readonly #path: string;
  readonly #identity: string;
  readonly #file: LineFile;
  readonly #failed: (error: Error) => void;
  #position: number;
  #seq: number;
  #checksum: string;
  #queue: Fact[] = [];
  #appended = 0;
  #durable = 0;
  /** Who waits until so many facts are durable, in order. */
  #waiting: Waiting[] = [];
  #isWriting = false;
  #error: Error | null = null;
  #idle: (() => void)[] = [];

  private constructor(disk: LineDisk, path: string, file: LineFile, end: End, failed: (error: Error) => void) {
    this.#disk = disk;
    this.#path = path;
    this.#identity = disk.identity(path);
    this.#file = file;
    this.#failed = failed;
    this.#position = end.position;
    this.#seq = end.seq;
    this.#checksum = end.checksum;
  }

  /**
   * Opens `name` in `directory`, made where it is not, and hands each fact in it to `take`. `failed` is told once of a
   * write that went wrong. Throws DamageError.
   */
  static open<Fact extends object>(
    disk: LineDisk,
    directory: string,
    name: string,
    take: (fact: Fact) => void,
    failed: (error: Error) => void,
  ): Opened<Fact> {
    const path = `${directory}/${name}`;
    const isNew = !disk.exists(path);
    const file = disk.open(path, isNew ? 'create' : 'write');
    try {
      if (isNew) disk.syncDirectory(directory);
      const end = readLines(file, path, (fact) => take(fact as Fact));
      const cutBytes = file.size() - end.position;
      if (cutBytes > LINE_BYTES_MAX + HEAD_BYTES) {
        throw new DamageError(`${path}: damaged from byte ${end.position} to its end, more than one write can leave`);
      }
      if (cutBytes > 0) file.truncate(end.position);
      // What a killed process wrote and did not sync is read like the rest: from here on it must not be lost. It is
      // written once more, because after a sync that failed its pages count as written, and no sync would write them.
      writeWhole(file, end.last, end.position - end.last.length);
      file.sync();
      return { lines: new Lines<Fact>(disk, path, file, end, failed), cutBytes };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Resolves when this fact, and all before it, are on the device. */
  append(fact: Fact): Promise<void> {
    if (this.#error !== null) return Promise.reject(this.#error);
    this.#queue.push(fact);
    this.#appended += 1;
    return this.settled();
  }

  /** Resolves when all that was appended so far is on the device. */
  settled(): Promise<void> {
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#durable === this.#appended) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ facts: this.#appended, resolve, reject });
      if (!this.#isWriting) this.#write();
    });
  }

  /** Writes what is left, and closes. */
  async close(): Promise<void> {
    try {
      await this.settled();
    } finally {
      if (this.#isWriting) await new Promise<void>((resolve) => this.#idle.push(resolve));
      this.#file.close();
    }
  }

  #write(): void {
    const facts = this.#queue.splice(0, FACTS_MAX);
    this.#isWriting = true;
    try {
      this.#expectAsLeft();
      const line = encodeLine({ after: this.#checksum, facts, seq: this.#seq + 1 });
      writeWhole(this.#file, line, this.#position);
      this.#position += line.length;
      this.#seq += 1;
      this.#checksum = line.toString('latin1', 0, HEAD_BYTES - 1);
      this.#file.syncLater((error) => this.#written(facts.length, error ?? this.#whyLost()));
    } catch (error) {
      this.#written(facts.length, error as Error);
    }
  }

  /** Throws unless the file of this name is still this one, and whole: only then does what was written count. */
  #expectAsLeft(): void {
    if (this.#disk.identity(this.#path) === this.#identity && this.#file.size() === this.#position) return;
    throw new Error(`${this.#path} is not as it was left: it was replaced, cut or written to by others`);
  }

  #whyLost(): Error | null {
    try {
      this.#expectAsLeft();
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  #written(count: number, error: Error | null): void {
    this.#isWriting = false;
    if (error !== null) return this.#fail(error);
    this.#durable += count;
    const still = this.#waiting.findIndex(({ facts }) => facts > this.#durable);
    const done = this.#waiting.splice(0, still < 0 ? this.#waiting.length : still);
    for (const { resolve } of done) resolve();
    if (this.#queue.length > 0) this.#write();
    else this.#rest();
  }

  #fail(error: Error): void {
    this.#error = error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#rest();
    this.#failed(error);
  }

  #rest(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Where the next line goes. */
interface End {
  position: number;
  seq: number;
  checksum: string;
  /** The bytes of the line that ends there. */
  last: Buffer;
}

function writeWhole(file: LineFile, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    const count = file.write(bytes, at, bytes.length, position + at);
    if (count === 0) throw new Error('the disk takes no more bytes');
    at += count;
  }
}

function encodeLine(line: Line): Buffer {
  const json = Buffer.from(JSON.stringify(line));
  const bytes = Buffer.concat([Buffer.from(`${checksumOf(json)} `), json, Buffer.of(LF)]);
  if (bytes.length > LINE_BYTES_MAX)
    throw new Error(`a line of ${bytes.length} bytes is more than the bank reads again`);
  return bytes;
}

function checksumOf(json: Uint8Array): string {
  return crc32(json).toString(16).padStart(8, '0');
}

/** Takes all whole lines in their order; answers where they end. */
function readLines(file: LineFile, path: string, take: (fact: unknown) => void): End {
  const end: End = { position: 0, seq: 0, checksum: START, last: Buffer.alloc(0) };
  let isTorn = false;
  for (const { bytes, position } of splitLines(file)) {
    const line = bytes === null ? null : decodeLine(bytes);
    // A whole line after bad bytes: those were written and synced before it.
    if (line === null ? bytes !== null && hidesLine(bytes) : isTorn) {
      throw new DamageError(`${path}: damaged at byte ${end.position}, and whole again after it`);
    }
    if (line === null) {
      isTorn = true;
      continue;
    }
    if (line.seq !== end.seq + 1 || line.after !== end.checksum) {
      throw new DamageError(`${path}: at byte ${position} line ${line.seq} does not follow line ${end.seq}`);
    }
    for (const fact of line.facts) take(fact);
    end.position = position + bytes!.length + 1;
    end.seq = line.seq;
    end.checksum = bytes!.toString('latin1', 0, HEAD_BYTES - 1);
    end.last = bytes!;
  }
  if (end.seq > 0) end.last = Buffer.concat([end.last, Buffer.of(LF)]);
  return end;
}

/** The line whose bytes these are, without its end; null where they are none. */
function decodeLine(bytes: Buffer): Line | null {
  if (bytes.length <= HEAD_BYTES) return null;
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  const json = bytes.subarray(HEAD_BYTES);
  if (head !== `${checksumOf(json)} `) return null;
  return JSON.parse(json.toString()) as Line;
}

/** Whether a whole line ends here, behind bytes that were one too, and whose line end is gone. */
function hidesLine(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(JSON_START, HEAD_BYTES + 1); at >= 0; at = bytes.indexOf(JSON_START, at + 1)) {
    if (decodeLine(bytes.subarray(at - HEAD_BYTES)) !== null) return true;
  }
  return false;
}

/** The file cut at its line ends, without what has no end; `bytes` is null for a piece that is longer than any line. */
function* splitLines(file: LineFile): Generator<{ bytes: Buffer | null; position: number }> {
  const size = file.size();
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let parts: Buffer[] = [];
  let length = 0;
  let start = 0;
  for (let position = 0; position < size; ) {
    const count = file.read(chunk, 0, CHUNK_BYTES, position);
    if (count === 0) break;
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0 && at < count; at = chunk.indexOf(LF, from)) {
      length += at - from;
      parts.push(Buffer.from(chunk.subarray(from, at)));
      yield { bytes: length > LINE_BYTES_MAX ? null : Buffer.concat(parts), position: start };
      parts = [];
      length = 0;
      from = at + 1;
      start = position + from;
    }
    length += count - from;
    if (length > LINE_BYTES_MAX) parts = [];
    else parts.push(Buffer.from(chunk.subarray(from, count)));
    position += count;
  }
}
