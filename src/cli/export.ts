/**
 * `ayni export`: the whole story of one record, as a file that anybody can check with the server's public key alone
 * (check-story.py beside this file does, and the page that checker.ts makes). The record as the server shows it, with
 * every version and every proof; the lines of the journal that speak of it; the hashes that place them in the chain of
 * frames; the head that chain ends in, signed.
 *
 * What always holds: nothing of any other record is in the file. Of the entries beside the record's own there are
 * hashes, of the frames in between 99 bytes each, of which no content follows. Nothing is changed, no lock is taken.
 */
import { resolve } from 'node:path';
import { hex } from '../core/bytes.ts';
import { type FoundVersion, findHistory, readVersion } from '../core/history.ts';
import { KINDS, type Kind } from '../core/kinds.ts';
import { readRow } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { headText } from '../http/head.ts';
import { encodeBase64, type KeyPair, keyPairFromSecret, makeKeyPair } from '../proof/keys.ts';
import { Sealer } from '../proof/sealer.ts';
import { verifyBy } from '../proof/verify.ts';
import { readBooks } from '../recovery.ts';
import { labelsText, ownersText, signedText, versionText } from '../render.ts';
import { type Disk, realDisk } from '../storage/disk.ts';
import { sha256 } from '../storage/format.ts';
import type { JournalPosition } from '../storage/journal.ts';
import { type FrameRead, stepJournal } from '../storage/journal-reader.ts';
import { KEY_FILE, loadKey, readKeyFile } from '../storage/key-file.ts';
import { pin } from '../storage/pinned.ts';
import { journalStart } from '../storage/segments.ts';
import { type RecordName, rowOf } from './names.ts';
import { writeNew } from './new-file.ts';
import { tellRefused } from './past/books.ts';
import { sayAll } from './past/form.ts';
import { LEDGER, readArgs, readFilled, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni export <dir> <kind> <handle|luid> [--ledger <handle>] [--server-key <file>] [--out <file>]

Writes the whole story of one record as JSON: its versions with all their proofs, the journal's lines about it, their
place in the chain, and the end of the chain signed by the server. Of other records it holds nothing but hashes. Needs
the server's key, as memory as much as a server on these books, and may be run beside one. <kind> is wallet, intent,
anchor, ... or its plural.

  --ledger <handle>   the ledger of the record (default: main)
  --server-key <file> the server's key, where it does not lie in the directory as server.key
  --out <file>        a new file for it, which has this name once all of it is there; without it, standard output, which
                      has a part of it where it cannot be finished: the code this ends with is not 0

Whoever gets the file checks it without this program: python3 src/cli/check-story.py <file> <the server's public key>,
or in a browser, by the page that ayni checker writes.
What it says is proven then, and when it was, and that the record is shown as its entries in the file tell of it; not that
there are no others: what came after them, and proofs that were added between, may be left out with their entries.
It names no ledger: ask the one that is meant for the luid. Where the frames of the first entries are gone (two snapshots
later they may be), what is signed on the record is proven, and its status, its labels and the order of its proofs are not.
`;

/** Runs the command; returns the exit code: 1 where there is no such record. */
export function run(args: string[]): number {
  const { values, positionals } = readArgs(args, { ledger: LEDGER, 'server-key': TEXT, out: TEXT });
  if (positionals.length !== 3) throw new UsageError('a directory, a kind, and a handle or luid');
  const [path, kindText, id] = positionals as [string, string, string];
  const kind = KINDS.findIndex(({ name, path: plural }) => kindText === name || (plural !== '' && kindText === plural));
  if (kind < 0) throw new UsageError(`there is no kind ${kindText}`);
  const directory = resolve(readFilled('the directory', path));
  const name = { ledger: values.ledger, kind: kind as Kind, id };
  const story = storyOf(directory, name, values['server-key']);
  if (values.out === undefined) sayAll(story);
  else writeNew(values.out, story);
  return 0;
}

/**
 * The story as JSON, in pieces: the text of one version, or of one entry, is the longest. Throws where there is no such
 * record, before the first piece, and what the disk throws.
 */
export function* storyOf(directory: string, name: RecordName, keyFile?: string): Generator<string> {
  const pinned = pin(realDisk, directory);
  try {
    const server = keyOf(directory, keyFile);
    const { state, end, refused } = readBooks({
      disk: pinned,
      directory,
      verify: verifyBy(server.public),
      hashSeed: 1,
    });
    tellRefused(refused);
    const row = rowOf(state, name);
    const sealer = new Sealer(server);
    const entries = entriesOf(state, row);
    const [record, ...versions] = findHistory(state, row).places;
    const texts = versionTexts(state, row, sealer, [record!, ...versions.reverse()]);
    yield `{"format":"ayni-story-3",\n"server":"${encodeBase64(server.public)}",\n"record":`;
    yield texts.next().value!;
    yield ',\n"versions":[';
    yield* joined(texts, ',');
    yield '],\n"entries":[';
    yield* joined(entryTexts(state, entries), ',\n');
    yield '],\n"chain":';
    yield* chainFrom(pinned, directory, entries, end);
    // As a server does: nobody signs that the books had come to a moment before that moment, whatever this clock says.
    yield `,\n"head":${signedText(headText(end), Math.max(Date.now(), end.moment), sealer)}}\n`;
  } finally {
    pinned.release();
  }
}

/** Members of an array, with this between them. */
function* joined(texts: Iterable<string>, comma: string): Generator<string> {
  let before = '';
  for (const text of texts) {
    yield `${before}${text}`;
    before = comma;
  }
}

function keyOf(directory: string, file?: string): KeyPair {
  if (file !== undefined) return loadKey(realDisk, resolve(readFilled('the file of the key', file)), makeKeyPair);
  const pair = readKeyFile(realDisk, directory);
  if (pair !== null) return keyPairFromSecret(pair.secret);
  throw new Error(
    `${directory} holds no ${KEY_FILE}: what the server proves on reading, it proves with its key; name its file by --server-key`,
  );
}

/** These versions of a record, read one at a time. */
function* versionTexts(
  state: State,
  row: number,
  sealer: Sealer,
  places: readonly FoundVersion[],
): Generator<string, undefined> {
  const owners = ownersText(readRow(state, row).owners);
  for (const place of places) {
    const version = readVersion(state, place);
    yield versionText(version, version.status, owners, sealer, labelsText(version.labels));
  }
}

interface NumberedEntry {
  seq: number;
  /** Where it lies. */
  readonly at: number;
}

/** The lines of the journal that make the record, oldest first. */
function entriesOf({ rows, heap, log }: State, row: number): NumberedEntry[] {
  const addresses = new Map<number, NumberedEntry>();
  for (let at = rows.at.get(row); at !== 0; at = heap.prev(at)) addresses.set(at, { seq: 0, at });
  for (let index = 0; index < log.length; index++) {
    const entry = addresses.get(log.get(index));
    if (entry !== undefined) entry.seq = index + 1;
  }
  return [...addresses.values()].reverse();
}

function* entryTexts({ heap }: State, entries: readonly NumberedEntry[]): Generator<string> {
  for (const { seq, at } of entries) yield `{"seq":${seq},"bytes":"${encodeBase64(heap.bytes(at))}"}`;
}

/** Links are gathered in strings of so many. */
const LINKS_PER_STRING = 64;

/**
 * The way from the frame with the first of the entries to the end: frames with an entry of the record show its head and
 * the hashes of all their entries; those in between are links of 99 bytes, many to a string. `null` where the segment
 * with the first entry is gone.
 */
function* chainFrom(
  pinned: Disk,
  directory: string,
  entries: NumberedEntry[],
  end: JournalPosition,
): Generator<string> {
  const start = journalStart(pinned, directory);
  const first = entries[0]!.seq;
  if (first <= start.seq) {
    yield 'null';
    return;
  }
  const wanted = new Set(entries.map(({ seq }) => seq));
  const pieces: string[] = [];
  let links: Uint8Array[] = [];
  let lead = '';
  const say = (item: string) => {
    pieces.push(lead, item);
    lead = ',\n';
  };
  const flush = () => {
    if (links.length > 0) say(`"${Buffer.concat(links).toString('base64')}"`);
    links = [];
  };
  const onFrame = ({ seq, count, head, digests }: FrameRead) => {
    if (seq < first || seq > end.seq) return;
    if (lead === '') lead = `{"before":"${hex(head.subarray(-32))}","frames":[`;
    let isOurs = false;
    for (let each = seq - count + 1; each <= seq; each++) isOurs ||= wanted.has(each);
    if (!isOurs) {
      links.push(Buffer.concat([head, sha256(digests)]));
      if (links.length === LINKS_PER_STRING) flush();
      return;
    }
    flush();
    const hashes: string[] = [];
    for (let at = 0; at < digests.length; at += 32) {
      hashes.push(`"${hex(digests.subarray(at, at + 32))}"`);
    }
    say(`{"head":"${hex(head)}","entries":[${hashes.join(',')}]}`);
  };
  // A frame at a time: there may be millions of them.
  const steps = stepJournal(pinned, directory, start, { verifyFrame: () => true, onEntry() {}, onFrame });
  for (const _ of steps) yield* pieces.splice(0);
  flush();
  yield* pieces;
  yield ']}';
}
