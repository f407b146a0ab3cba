/**
 * The record heap: append-only bytes in chunks of shared memory.
 *
 * Millions of records do not live on the V8 heap; they lie here, each behind an address of 32 bits. A record is
 *
 *   u32 length of the payload in bytes · u32 address of an earlier record (0 = none) · payload ·
 *   zeros to a multiple of 8
 *
 * An address counts units of 8 bytes from the start of the heap, so 32 bits reach 32 GiB. A record never straddles
 * chunks: what does not fit begins the next chunk, and the rest of the chunk before stays zero. The first 8 bytes of
 * the first chunk are left out, so that no record has address 0.
 *
 * What always holds: bytes below the end never change; a chunk is final once the next one is begun; `prev` of a
 * record is a smaller address than its own, so following it ends.
 */
import {
  exactly,
  type FinalPart,
  fail,
  finder,
  headPart,
  type Part,
  type Parts,
  pageName,
  piecesOf,
  powerOfTwo,
  readHead,
  Shape,
  sharedCopy,
  sharedPage,
} from './parts.ts';

const HEADER_BYTES = 8;
const HEAP_BYTES_MAX = 2 ** 35;
const CHUNK_BYTES = 64 * 1024 * 1024;

/** Memory that will be written from this byte on. */
export interface HeapRoom {
  buffer: SharedArrayBuffer;
  from: number;
}

/**
 * V8 copies into shared memory word by word only where both sides lie at multiples of 8 bytes, and else byte by byte
 * (measured: 710 bytes in 45 ns, or in 190). An entry lies anywhere in its frame, so it is first copied to a stage:
 * memory that is not shared and begins at such a multiple. A copy into that is quick from wherever it comes, unless
 * from shared memory.
 */
const STAGE_BYTES = 16_384;
const stage = new Uint8Array(new ArrayBuffer(STAGE_BYTES));
/** Views of the beginning of the stage, by count of words: making one each time costs as much as the copy. */
const stageViews = new Array<Uint8Array | null>(STAGE_BYTES / 8 + 1).fill(null);

function isStaged(payload: Uint8Array): boolean {
  if (payload.length > STAGE_BYTES || payload.byteOffset % 8 === 0) return false;
  return !(payload.buffer instanceof SharedArrayBuffer);
}

/** A copy of the payload on the stage, with zeros up to the next word; good until the next call. */
function stagedCopy(payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const words = (length + 7) >>> 3;
  stage.set(payload);
  for (let at = length; at < words * 8; at++) stage[at] = 0;
  const view = stageViews[words] ?? stage.subarray(0, words * 8);
  stageViews[words] = view;
  return view;
}

export class Heap {
  readonly name: string;
  /** The largest payload `append` takes, in bytes. */
  readonly recordBytesMax: number;
  private readonly chunkBytes: number;
  /** Bytes of memory that all records can take together, with headers, padding and chunk ends. */
  readonly bytesMax: number;
  /** How far an address is shifted to give its chunk. */
  private readonly shift: number;
  /** Which bits of an address lie within its chunk. */
  private readonly mask: number;
  private chunks: Uint8Array<SharedArrayBuffer>[] = [];
  private words: Uint32Array<SharedArrayBuffer>[] = [];
  /** Where the next record goes: an address. */
  private end = 1;
  /** The chunk `end` lies in, and its words; the chunk may be full. */
  private lastChunk: Uint8Array<SharedArrayBuffer>;
  private lastWords: Uint32Array<SharedArrayBuffer>;
  /** Bytes taken in the last chunk. */
  private lastUsed = HEADER_BYTES;
  /** The chunk that comes next, where it is known already. */
  private spare: SharedArrayBuffer | null = null;

  /** `chunkBytes`: a power of two from 64 bytes to 1 GiB. `bytesMax`: a multiple of it, 32 GiB at most. */
  constructor(name: string, chunkBytes: number = CHUNK_BYTES, bytesMax: number = HEAP_BYTES_MAX) {
    if (!powerOfTwo(chunkBytes, 64, 2 ** 30)) fail(`heap ${name}: chunks of ${chunkBytes} bytes`);
    if (!(bytesMax % chunkBytes === 0 && bytesMax <= HEAP_BYTES_MAX)) fail(`heap ${name}: ${bytesMax} bytes in all`);
    this.name = name;
    this.bytesMax = bytesMax;
    this.chunkBytes = chunkBytes;
    this.recordBytesMax = chunkBytes - HEADER_BYTES;
    this.shift = Math.log2(chunkBytes) - 3;
    this.mask = chunkBytes / 8 - 1;
    const buffer = new SharedArrayBuffer(chunkBytes);
    this.lastChunk = new Uint8Array(buffer);
    this.lastWords = new Uint32Array(buffer);
    this.chunks.push(this.lastChunk);
    this.words.push(this.lastWords);
  }

  /** Bytes of memory it takes: what the system counts of a chunk is only what was written. */
  get taken(): number {
    return this.used;
  }

  /** Bytes of the heap in use: headers, padding and chunk ends included. */
  get used(): number {
    return (this.chunks.length - 1) * this.chunkBytes + this.lastUsed;
  }

  /**
   * Stores `bytes` from `from` to `to` (end excluded) and returns the address. `prev` is the address of an earlier
   * record, or 0.
   */
  append(bytes: Uint8Array, from: number, to: number, prev: number): number {
    const length = to - from;
    if (!(from >= 0 && length >= 0 && to <= bytes.length))
      fail(`heap ${this.name}: append of ${from}..${to} of ${bytes.length} bytes`);
    if (length > this.recordBytesMax)
      fail(`heap ${this.name}: a record of ${length} bytes, at most ${this.recordBytesMax}`);
    if (!(prev >= 0 && prev < this.end)) fail(`heap ${this.name}: prev ${prev} is no earlier record`);
    const size = (length + HEADER_BYTES + 7) & ~7;
    if (this.lastUsed + size > this.chunkBytes) this.begin();
    const offset = this.lastUsed;
    const at = this.end;
    const word = offset >>> 2;
    this.lastWords[word] = length;
    this.lastWords[word + 1] = prev;
    const payload = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
    this.lastChunk.set(isStaged(payload) ? stagedCopy(payload) : payload, offset + HEADER_BYTES);
    this.lastUsed = offset + size;
    this.end = at + size / 8;
    return at;
  }

  /**
   * The memory that the next records go to: what is left of the last chunk, and the chunk after it. The system gives
   * memory when it is touched first, which takes longer than to fill it; other threads may do that ahead (Atomics).
   */
  room(): HeapRoom[] {
    this.spare ??= new SharedArrayBuffer(this.chunkBytes);
    return [
      { buffer: this.lastChunk.buffer, from: this.lastUsed },
      { buffer: this.spare, from: 0 },
    ];
  }

  /**
   * Addresses of all records in the order in which they were appended; but for those of no bytes, which look like the
   * rest of a chunk where the next had no room.
   */
  *addresses(): Generator<number, void, void> {
    for (let at = 1; at < this.end; ) {
      const length = this.length(at);
      if (length > 0) yield at;
      at += (length + HEADER_BYTES + 7) >>> 3;
    }
  }

  /** The address of the earlier record given to `append`, 0 for none. */
  prev(at: number): number {
    const prev = this.wordsAt(at)[((at & this.mask) << 1) + 1]!;
    if (prev >= at) fail(`heap ${this.name}: record ${at} points forward to ${prev}`);
    return prev;
  }

  /** Length of the payload in bytes. */
  length(at: number): number {
    const length = this.wordsAt(at)[(at & this.mask) << 1]!;
    if (length > this.chunkBytes - this.offset(at))
      fail(`heap ${this.name}: record ${at} of ${length} bytes leaves its chunk`);
    return length;
  }

  /**
   * The chunk a record lies in; its payload begins at `offset(at)` and is `length(at)` bytes long. Never write to it.
   */
  chunk(at: number): Uint8Array {
    if (!(at > 0 && at < this.end)) fail(`heap ${this.name}: no record at ${at}`);
    return this.chunks[at >>> this.shift]!;
  }

  /** Where the payload begins in `chunk(at)`. */
  offset(at: number): number {
    return ((at & this.mask) << 3) + HEADER_BYTES;
  }

  /** The payload as a view of shared memory. Never write to it. */
  bytes(at: number): Uint8Array {
    const offset = this.offset(at);
    return this.chunk(at).subarray(offset, offset + this.length(at));
  }

  /** The full chunks, which change no more. */
  get finals(): FinalPart[] {
    const full = this.chunks.slice(0, -1);
    return full.map((bytes, index) => ({ name: pageName(this.name, 'chunk', index), final: true, bytes }));
  }

  /** Every full chunk as a final part, what is written of the last one, and a head. Copies nothing. */
  dump(): Part[] {
    // What is written of the last one stays as it is, so it needs no hold.
    const tail = piecesOf(this.lastChunk.subarray(0, this.lastUsed));
    return [
      headPart(this.name, Shape.heap, [this.chunkBytes, this.chunks.length - 1, this.lastUsed]),
      ...this.finals,
      { name: `${this.name}.tail`, final: false, pieces: tail },
    ];
  }

  /** Takes over the state of a dump. Throws where parts are missing or do not fit, and then changes nothing. */
  load(parts: Parts): void {
    const find = finder(parts);
    const [chunkBytes, last, lastUsed] = readHead(find, this.name, Shape.heap, 3) as unknown as [
      number,
      number,
      number,
    ];
    if (chunkBytes !== this.chunkBytes)
      throw new Error(`memory: heap ${this.name} was dumped in chunks of ${chunkBytes} bytes, not ${this.chunkBytes}`);
    if (
      lastUsed > chunkBytes ||
      lastUsed % 8 !== 0 ||
      (last === 0 && lastUsed < HEADER_BYTES) ||
      last >= this.bytesMax / chunkBytes
    ) {
      throw new Error(`memory: heap ${this.name} cannot end at byte ${lastUsed} of chunk ${last}`);
    }
    const chunks: Uint8Array<SharedArrayBuffer>[] = [];
    for (let i = 0; i < last; i++) {
      chunks.push(new Uint8Array(sharedPage(exactly(find, pageName(this.name, 'chunk', i), chunkBytes))));
    }
    chunks.push(new Uint8Array(sharedCopy(exactly(find, `${this.name}.tail`, lastUsed), chunkBytes)));
    this.chunks = chunks;
    this.words = chunks.map((chunk) => new Uint32Array(chunk.buffer));
    this.lastChunk = this.chunks[last]!;
    this.lastWords = this.words[last]!;
    this.lastUsed = lastUsed;
    this.end = (last * chunkBytes + lastUsed) / 8;
  }

  private wordsAt(at: number): Uint32Array {
    if (!(at > 0 && at < this.end)) fail(`heap ${this.name}: no record at ${at}`);
    return this.words[at >>> this.shift]!;
  }

  /** Closes the last chunk and begins the next. */
  private begin(): void {
    const start = this.chunks.length * this.chunkBytes;
    if (start + this.chunkBytes > this.bytesMax) fail(`heap ${this.name} is full`);
    const buffer = this.spare ?? new SharedArrayBuffer(this.chunkBytes);
    this.spare = null;
    this.lastChunk = new Uint8Array(buffer);
    this.lastWords = new Uint32Array(buffer);
    this.chunks.push(this.lastChunk);
    this.words.push(this.lastWords);
    this.lastUsed = 0;
    this.end = start / 8;
  }
}
