/**
 * What the tests of this room share: entries of every type from a seed, a signature that is quick to make,
 * and short ways to write and read a journal.
 */
import { createHash } from 'node:crypto';
import { type Entry, EntryType, type IntentEntry, type Outcome, type StoredProof } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { encode } from '../../src/storage/codec.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { sha256, type VerifyHash } from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { JOURNAL_START, Journal, type JournalOptions, type JournalPosition } from '../../src/storage/journal.ts';
import { cutTornTail, readJournal } from '../../src/storage/journal-reader.ts';
import { readSnapshots } from '../../src/storage/snapshot-reader.ts';
import { FakeDisk, randomFrom, type Schedule } from './fake-disk.ts';

export const DIRECTORY = '/books';

/** A disk with that directory, and nothing in it. */
export function freshDisk(seed?: number, schedule?: Schedule): FakeDisk {
  const disk = new FakeDisk(seed, schedule);
  disk.mkdir(DIRECTORY);
  return disk;
}

/** What lies in it, by name. */
export function filesOf(disk: FakeDisk): Map<string, Buffer> {
  return new Map(disk.readdir(DIRECTORY).map((name) => [name, disk.bytesOf(`${DIRECTORY}/${name}`)]));
}

/** Links the files of books into another directory, as `cp -al` does; what is in them there, whenever it is asked. */
export function linked(disk: FakeDisk, from: string, to: string): () => Map<string, string> {
  disk.mkdir(to);
  const names = disk.readdir(from).filter((name) => !name.startsWith('lock'));
  for (const name of names) disk.link(`${from}/${name}`, `${to}/${name}`);
  disk.syncDirectory(to);
  return () => new Map(names.map((name) => [name, disk.bytesOf(`${to}/${name}`).toString('hex')]));
}

/** A disk with such files in it. */
export function diskOf(files: ReadonlyMap<string, Uint8Array>, seed?: number, schedule?: Schedule): FakeDisk {
  const disk = freshDisk(seed, schedule);
  for (const [name, bytes] of files) disk.put(`${DIRECTORY}/${name}`, bytes);
  return disk;
}

/** This disk, but for some of its calls. */
export function withCalls(disk: FakeDisk, calls: Partial<Disk>): Disk {
  const get = (_: Disk, name: keyof Disk) => calls[name] ?? disk[name].bind(disk);
  return new Proxy<Disk>(disk, { get });
}

/** This disk, on which `work` is done behind the nth read of that file, as another process might. */
export function afterRead(disk: FakeDisk, path: string, nth: number, work: () => void): Disk {
  let reads = 0;
  return withCalls(disk, {
    open(opened, mode) {
      const file = disk.open(opened, mode);
      if (opened !== path) return file;
      return {
        ...file,
        read(bytes, from, to, position) {
          const count = file.read(bytes, from, to, position);
          reads += 1;
          if (reads === nth) work();
          return count;
        },
      };
    },
  });
}

const PAGE = 4096;

/**
 * A disk that hangs: of the calls that may wait for it only those that report later do not fail. What was written by way
 * of the page cache, or read, by a call that reports later, can be read.
 */
export function hanging(disk: FakeDisk): Disk {
  const waits = () => {
    throw new Error('everybody would wait for the disk');
  };
  const cached = new Set<string>();
  const pages = (path: string, from: number, to: number) => {
    const first = Math.floor(from / PAGE);
    return Array.from({ length: Math.ceil(to / PAGE) - first }, (_, n) => `${disk.identity(path)} ${first + n}`);
  };
  const keep = (path: string, from: number, to: number) => {
    for (const page of pages(path, from, to)) cached.add(page);
  };
  return withCalls(disk, {
    open(path, mode) {
      if (mode === 'create') waits();
      const file = disk.open(path, mode);
      return {
        ...file,
        write(bytes, from, to, position) {
          keep(path, position, position + to - from);
          return file.write(bytes, from, to, position);
        },
        writeLater(bytes, from, to, position, done) {
          keep(path, position, position + to - from);
          file.writeLater(bytes, from, to, position, done);
        },
        read(bytes, from, to, position) {
          // Behind the end there is nothing to wait for.
          const end = Math.min(position + to - from, file.size());
          if (!pages(path, position, end).every((page) => cached.has(page))) waits();
          return file.read(bytes, from, to, position);
        },
        readLater(bytes, from, to, position, done) {
          keep(path, position, position + to - from);
          file.readLater(bytes, from, to, position, done);
        },
        truncate: waits,
        sync: waits,
        close: mode === 'read' ? file.close : waits,
      };
    },
    openSynced(path) {
      const file = disk.openSynced(path);
      if (file === null) return null;
      return {
        ...file,
        writeLater(bytes, from, to, position, done) {
          for (const page of pages(path, position, position + to - from)) cached.delete(page);
          file.writeLater(bytes, from, to, position, done);
        },
      };
    },
    syncDirectory: waits,
    unlink: waits,
    rename: waits,
    link: waits,
    mkdir: waits,
  });
}

/** 64 bytes that only who knows `key` can make: what a signature is to this room. */
export function signerOf(key: string): {
  sign(hash: Uint8Array): Uint8Array;
  verify(hash: Uint8Array, signature: Uint8Array): boolean;
} {
  const sign = (hash: Uint8Array) => new Uint8Array(createHash('sha512').update(key).update(hash).digest());
  return { sign, verify: (hash, signature) => Buffer.compare(sign(hash), signature) === 0 };
}

export const server = signerOf('this server');

export interface ReadPart {
  name: string;
  final: boolean;
  bytes: Uint8Array;
}

/** A snapshot with all its parts at once. */
export interface WholeSnapshot extends JournalPosition {
  extra: Uint8Array;
  parts: ReadPart[];
}

/** The newest whole snapshot with all its parts; of the final ones, the memory that they were read into. */
export function readInFull(disk: Disk, directory: string, verify: VerifyHash) {
  const { snapshot, refused } = readSnapshots(disk, directory, verify, ({ parts, ...rest }): WholeSnapshot => {
    const read = ({ name, final }: { name: string; final: boolean }) => {
      const bytes = parts.get(name)!;
      return { name, final, bytes: final ? bytes : bytes.slice() };
    };
    return { ...rest, parts: parts.rows.map(read) };
  });
  return { snapshot: snapshot?.loaded ?? null, refused };
}

/** Entries one after the other, of all types, the same for the same seed. */
export function entriesFrom(seed: number): () => Entry {
  const random = randomFrom(seed);
  let made = 0;
  const below = (limit: number) => Math.floor(random() * limit);
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));
  const proof = (): StoredProof => ({
    public: bytes(32),
    result: bytes(64),
    custom: random() < 0.5 ? null : '{"status":"created"}',
  });
  return () => {
    made += 1;
    const base = {
      ledger: below(3),
      kind: Kind.wallet,
      luid: `$wlt.${String(made).padStart(17, '0')}`,
      handle: `wallet-${made}`,
      moment: 1_700_000_000_000 + made,
    };
    const signed = { hash: bytes(32), data: `{"handle":"wallet-${made}"}`, proofs: [proof()], seal: bytes(64) };
    switch (below(7)) {
      case 0:
        return { ...base, ...signed, type: EntryType.create };
      case 1:
        return { ...base, ...signed, type: EntryType.update, row: below(1000) };
      case 2: {
        const { hash, data, proofs } = signed;
        return { ...base, type: EntryType.drop, row: below(1000), hash, data, proofs };
      }
      case 3:
        return { ...base, type: EntryType.proof, row: below(1000), proof: proof(), status: null };
      case 4:
        return { ...base, type: EntryType.step, row: below(1000), outcome: outcomeFrom(made) };
      case 5:
        return { ...base, type: EntryType.token, exp: 1_700_000_000 + made };
      default:
        return intentFrom(made, bytes);
    }
  };
}

export function intentFrom(number: number, bytes: (length: number) => Uint8Array, dataBytes = 40): IntentEntry {
  const data = `{"claims":[],"fill":"${'x'.repeat(dataBytes)}","handle":"transfer-${number}"}`;
  return {
    type: EntryType.intent,
    ledger: 1,
    kind: Kind.intent,
    luid: `$int.${String(number).padStart(17, '0')}`,
    handle: `transfer-${number}`,
    moment: 1_700_000_000_000 + number,
    hash: sha256(data),
    data,
    proofs: [{ public: bytes(32), result: bytes(64), custom: '{"moment":"2024-01-01T00:00:00.000Z"}' }],
    seal: bytes(64),
    thread: 'thread-of-an-intent',
    outcome: outcomeFrom(number),
  };
}

function outcomeFrom(number: number): Outcome {
  return {
    moment: 1_700_000_000_001 + number,
    steps: ['prepared', 'committed', 'completed'],
    reason: '',
    detail: '',
    postings: [1, 2, -500, 500, 2, 2, 500, 500],
    limits: [],
  };
}

export const JOURNAL_OPTIONS: JournalOptions = { segmentBytesMax: 1 << 20, sign: server.sign };

/** Whether two rows of entries are the same, by their bytes: deep comparison of many takes its time. */
export function sameEntries(left: readonly Entry[], right: readonly Entry[]): boolean {
  return encodeAll(left).equals(encodeAll(right));
}

function encodeAll(entries: readonly Entry[]): Buffer {
  const buffer = new FrameBuffer();
  for (const entry of entries) encode(entry, buffer);
  return buffer.bytes.subarray(0, buffer.end);
}

/** One commit as a promise. */
export function commit(journal: Journal, moment: number): Promise<void> {
  return new Promise((resolve, reject) =>
    journal.commit(moment, (error) => (error === null ? resolve() : reject(error))),
  );
}

/** Writes frames of so many entries each behind `after`, and closes; returns the entries. */
export async function writeFrames(
  disk: Disk,
  counts: readonly number[],
  options: Partial<JournalOptions> = {},
  after: JournalPosition = JOURNAL_START,
  directory = DIRECTORY,
): Promise<Entry[]> {
  const next = entriesFrom(after.seq + 1);
  const entries: Entry[] = [];
  const journal = Journal.open(disk, directory, after, { ...JOURNAL_OPTIONS, ...options });
  for (const [index, count] of counts.entries()) {
    for (let added = 0; added < count; added++) {
      const entry = next();
      entries.push(entry);
      journal.add(entry);
    }
    await commit(journal, after.moment + index + 1);
  }
  await journal.close();
  return entries;
}

/** Reads all behind `after`, checking signatures; what came, and how it ended. */
export function readFrames(disk: Disk, after: JournalPosition = JOURNAL_START, directory = DIRECTORY) {
  const entries: Entry[] = [];
  const frames: { file: string; byte: number; bytes: number; position: JournalPosition }[] = [];
  const result = readJournal(disk, directory, after, {
    verifyFrame: server.verify,
    onEntry: (entry, _bytes, _from, _to, seq) => {
      if (seq !== after.seq + entries.length + 1) throw new Error(`entry ${seq} came out of turn`);
      entries.push(entry);
    },
    onFrame: ({ file, byte, bytes, seq, chain, moment }) =>
      frames.push({ file, byte, bytes, position: { seq, chain, moment } }),
  });
  return { ...result, read: entries, spans: frames };
}

/** What a start does: read, and cut the torn tail. */
export function recover(disk: Disk) {
  const result = readFrames(disk);
  if (result.torn !== null) cutTornTail(disk, DIRECTORY, result.torn);
  return result;
}
