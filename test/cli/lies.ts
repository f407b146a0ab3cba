/**
 * Entries of books that are to be rewritten: found, and changed in place.
 */
import { type CreateEntry, type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { sha256 } from '../../src/proof/digest.ts';
import type { framesOf } from './books.ts';

export type Frames = ReturnType<typeof framesOf>;

/** The first entry that passes, to be changed in place. */
export function pick<T extends Entry>(frames: Frames, passes: (entry: Entry) => boolean): T {
  return frames.flatMap((frame) => frame.entries).find(passes)! as T;
}

export const isTransfer = (entry: Entry, type: EntryType = EntryType.intent): boolean =>
  entry.type === type && 'outcome' in entry && entry.outcome.steps.length === 3 && entry.outcome.postings.length === 8;
export const pickTransfer = (frames: Frames, type: EntryType = EntryType.intent) =>
  pick<IntentEntry>(frames, (entry) => isTransfer(entry, type));
export const pickWallet = (frames: Frames) =>
  pick<CreateEntry>(frames, (entry) => entry.type === EntryType.create && entry.kind === Kind.wallet);
export const isSystem = (entry: Entry) => entry.kind === Kind.signer && entry.handle === 'system';
export const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

export function replaceData(entry: CreateEntry | IntentEntry, data: string): void {
  entry.data = data;
  entry.hash = sha256(data);
}
