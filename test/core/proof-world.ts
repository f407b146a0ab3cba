/** Books to which proofs are added, by keys with a letter each. */
import { createHash } from 'node:crypto';
import { GRANTED } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import { bytesOf, dumpState, loadState, type StateExtra } from '../../src/core/dump.ts';
import type { Entry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import type { Kind } from '../../src/core/kinds.ts';
import { type RecordView, readRow } from '../../src/core/records.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { packValue, unpackValue } from '../../src/storage/values.ts';
import { Books } from './books.ts';

export const keyOf = (letter: string): Uint8Array => createHash('sha256').update(letter).digest();
export const publicOf = (letter: string): string => Buffer.from(keyOf(letter)).toString('base64');
/** A matcher of these keys. */
export const only = (letters: string) => ({ $in: [...letters].map((letter) => ({ public: publicOf(letter) })) });

export function openBooks(): Books {
  const books = Books.open();
  books.state.compileSchema = compileUserSchema;
  return books;
}

/** A record of the kind, signed by the key `o`. */
export function make(books: Books, kind: Kind, value: Record<string, unknown>, ledger = 1): Entry[] | Refusal {
  return books.create(kind, value, ledger, { keys: [keyOf('o')], bearer: null }, true);
}

/** Adds a proof of the key with this letter; what came of it. No two proofs are the same. */
export function prove(
  books: Books,
  kind: Kind,
  handle: string,
  letter: string,
  custom: Record<string, unknown>,
  ledger = 1,
): Entry[] | Refusal {
  const { entry } = recordOf(books.state, kind, handle, ledger);
  books.moment += 1;
  return books.addProof(entry, { ...custom, moment: books.moment }, { key: keyOf(letter), caller: GRANTED });
}

export function recordOf(state: State, kind: Kind, handle: string, ledger = 1): RecordView {
  return readRow(state, findHandle(state, ledger, kind, handle));
}

/** The reason of a refusal, or 'ok'. */
export function said(outcome: Entry[] | Refusal): string {
  return isRefusal(outcome) ? outcome.reason : 'ok';
}

/** The same state out of its entries, as recovery makes it, and out of a snapshot of that. Neither may ask about schemas. */
export function recovered(books: Books): State[] {
  const replayed = emptyState(entryCodec, 1);
  for (const bytes of books.entries) {
    apply(replayed, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
  }
  const { extra, parts } = dumpState(replayed);
  const kept = parts.map((part): [string, Uint8Array] => [part.name, bytesOf(part)]);
  return [replayed, loadState(entryCodec, unpackValue(packValue(extra)) as StateExtra, new Map(kept))];
}
