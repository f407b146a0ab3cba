/**
 * `npm run bench -- journal`: what an entry costs on its way to disk and back: encoding and decoding, beside
 * msgpackr's own; frames a second with a real sync, by batch size; reading a journal again.
 *
 * The entry is a one-claim intent of some 450 bytes of data with one proof. Signatures are signed by the
 * server's key as they are in service, and are not checked when reading: the chain is.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Packr } from 'msgpackr';
import { Bench } from 'tinybench';
import { EntryType, type IntentEntry, threadOf } from '../src/core/entry.ts';
import { Kind } from '../src/core/kinds.ts';
import { LUID_RANDOM_BYTES, makeLuid } from '../src/core/luid.ts';
import { isoMoment } from '../src/core/proofs.ts';
import { sha256 } from '../src/proof/digest.ts';
import { createKeyPair } from '../src/proof/keys.ts';
import { sign } from '../src/proof/verify.ts';
import { decode, encode } from '../src/storage/codec.ts';
import { realDisk } from '../src/storage/disk.ts';
import { FrameBuffer } from '../src/storage/frame-buffer.ts';
import { JOURNAL_START, Journal, RESERVE_BYTES } from '../src/storage/journal.ts';
import { readJournal } from '../src/storage/journal-reader.ts';
import { makeScratchDirectory } from './load/root.ts';
import { type BenchCell, type BenchOptions, type BenchResult, type BenchTable, runParts } from './result.ts';

const BATCHES = [1, 16, 64, 256];
/** Entries in a frame of the journal that is read. */
const READ_FRAME = 64;
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;

const FULL = { partMs: 500, batchMs: 1_500, readEntries: 200_000 };
const SMOKE: typeof FULL = { partMs: 5, batchMs: 30, readEntries: 500 };

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const size = smoke ? SMOKE : FULL;
  const scratch = makeScratchDirectory();
  try {
    return await measure(join(scratch, 'journal'), size);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function measure(directory: string, size: typeof FULL): Promise<BenchResult> {
  const parts = await measureParts(size.partMs);
  const writes: BenchCell[][] = [];
  for (const batch of BATCHES) {
    writes.push(await inDirectory(directory, () => measureBatches(directory, batch, size.batchMs)));
  }
  const read = await inDirectory(directory, () => measureReading(directory, size.readEntries));
  return {
    name: 'journal',
    tables: [
      parts,
      {
        title: 'Writing with a sync a frame',
        columns: ['entries/frame', 'frames/s', 'entries/s', 'main thread µs/entry', 'ms/frame p50', 'ms/frame p99'],
        rows: writes,
      },
      { title: 'Reading', columns: ['entries', 'entries/s', 'MB/s'], rows: [read] },
    ],
    goals: [],
    notes: ['reading checks CRC and chain and decodes every entry; the files are in the page cache'],
    ok: read[0] === Math.ceil(size.readEntries / READ_FRAME) * READ_FRAME,
  };
}

function sampleEntry(number: number): IntentEntry {
  const data = {
    claims: [
      {
        action: 'transfer',
        amount: 1000 + number,
        source: { handle: `wallet-${number % 1000}@bank.example` },
        symbol: { handle: 'cop' },
        target: { handle: `wallet-${(number * 7) % 1000}@bank.example` },
      },
    ],
    custom: { description: 'Payment for the services of the month of December, as agreed', reference: `INV-${number}` },
    handle: `intent-${String(number).padStart(12, '0')}`,
    schema: 'transfer',
  };
  const moment = 1_700_000_000_000 + number;
  const luid = makeLuid('int', moment, randomBytes(LUID_RANDOM_BYTES));
  const text = JSON.stringify(data).padEnd(450);
  const custom = `{"moment":"${isoMoment(moment - 20)}","status":"created"}`;
  return {
    type: EntryType.intent,
    ledger: 1,
    kind: Kind.intent,
    luid,
    handle: data.handle,
    moment,
    hash: sha256(text),
    data: text,
    proofs: [{ public: randomBytes(32), result: randomBytes(64), custom }],
    seal: randomBytes(64),
    thread: threadOf(luid),
    outcome: {
      moment: moment + 1,
      steps: ['prepared', 'committed', 'completed'],
      reason: '',
      detail: '',
      postings: [12, 1, -1000, 1000, 13, 1, 1000, 1000],
      limits: [],
    },
  };
}

async function measureParts(partMs: number): Promise<BenchTable> {
  // Several entries, so that nothing is measured that a cache of the engine holds.
  const entries = Array.from({ length: 256 }, (_, number) => sampleEntry(number));
  const packr = new Packr({ useRecords: false, int64AsType: 'number' });
  const plain = entries.map((entry) => Object.values(entry));
  const buffer = new FrameBuffer();
  const encoded = entries.map((entry) => {
    buffer.end = 0;
    encode(entry, buffer);
    return Buffer.from(buffer.bytes.subarray(0, buffer.end));
  });
  let turn = 0;
  const next = <T>(of: T[]): T => of[turn++ & 255]!;
  const bench = new Bench({ time: partMs, warmupTime: partMs / 4 });
  bench.add('encode', () => {
    buffer.end = 0;
    encode(next(entries), buffer);
  });
  bench.add('msgpackr: pack', () => void packr.pack(next(plain)));
  bench.add('decode', () => {
    const bytes = next(encoded);
    decode(bytes, 0, bytes.length);
  });
  bench.add('msgpackr: unpack', () => void packr.unpack(next(encoded)));
  return runParts(`An entry of ${encoded[0]!.length} bytes`, bench);
}

async function measureBatches(directory: string, batch: number, forMs: number): Promise<BenchCell[]> {
  const entries = Array.from({ length: 256 }, (_, number) => sampleEntry(number));
  const journal = openJournal(directory);
  const times: number[] = [];
  let turn = 0;
  let addMs = 0;
  const started = performance.now();
  for (let now = started; now - started < forMs; now = performance.now()) {
    for (let index = 0; index < batch; index++) journal.add(entries[turn++ & 255]!);
    await new Promise<void>((resolve, reject) => {
      journal.commit(1, (error) => (error === null ? resolve() : reject(error)));
      addMs += performance.now() - now;
    });
    times.push(performance.now() - now);
  }
  const seconds = (performance.now() - started) / 1000;
  await journal.close();
  times.sort((left, right) => left - right);
  const frames = times.length;
  const at = (share: number) => times[Math.min(frames - 1, Math.floor(frames * share))]!;
  return [batch, frames / seconds, (frames * batch) / seconds, (addMs * 1000) / (frames * batch), at(0.5), at(0.99)];
}

async function measureReading(directory: string, count: number): Promise<BenchCell[]> {
  const journal = openJournal(directory, 'none');
  for (let number = 0; number < count; ) {
    for (let index = 0; index < READ_FRAME; index++) journal.add(sampleEntry(number++));
    await new Promise<void>((resolve, reject) => {
      journal.commit(1, (error) => (error === null ? resolve() : reject(error)));
    });
  }
  await journal.close();
  const started = performance.now();
  const { entries, bytes } = readJournal(realDisk, directory, JOURNAL_START, {
    verifyFrame: () => true,
    onEntry: () => {},
  });
  const seconds = (performance.now() - started) / 1000;
  return [entries, entries / seconds, bytes / seconds / 1e6];
}

function openJournal(directory: string, durability: 'sync' | 'none' = 'sync'): Journal {
  const server = createKeyPair();
  return Journal.open(realDisk, directory, JOURNAL_START, {
    segmentBytesMax: SEGMENT_BYTES_MAX,
    reserveBytes: RESERVE_BYTES,
    sign: (hash) => sign(hash, server),
    durability,
  });
}

/** Runs the work with an empty directory of its own, which goes afterwards. */
async function inDirectory<T>(directory: string, work: () => Promise<T>): Promise<T> {
  realDisk.mkdir(directory);
  try {
    return await work();
  } finally {
    for (const name of realDisk.readdir(directory)) realDisk.unlink(join(directory, name));
    realDisk.rmdir(directory);
  }
}
