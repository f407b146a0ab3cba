/**
 * Tokens of books whose first segments are gone. Of those that were used before the first segment nothing is left but
 * what snapshots remember, so where the next one comes to lie among them nobody can tell. All that were used up to the
 * first snapshot are therefore taken as it has them, and the journal's entries up to there are asked only whether their
 * tokens are among them, and none of those that came before in the journal.
 */
import { bytesOf, dropParts } from '../../core/dump.ts';
import { type Entry, EntryType, type TokenEntry } from '../../core/entry.ts';
import { UsedTokens } from '../../core/used-tokens.ts';
import { FoundError, type Place } from './finding.ts';

export class KnownTokens {
  readonly #tokens: UsedTokens;
  /** Those that the journal had up to there. */
  readonly #met: UsedTokens;
  /** The last entry whose token is among those of the snapshot. */
  #seq = 0;

  /** `tokens` are those of the state that the audit makes. */
  constructor(tokens: UsedTokens, hashSeed: number) {
    this.#tokens = tokens;
    this.#met = new UsedTokens(hashSeed);
  }

  /** Takes those of a snapshot after entry `seq`. */
  take(tokens: UsedTokens, seq: number): void {
    const parts = tokens.dump();
    this.#tokens.load(new Map(parts.map((part) => [part.name, bytesOf(part)])), tokens.extra());
    dropParts(parts);
    this.#seq = seq;
  }

  covers(entry: Entry, { seq }: Place): entry is TokenEntry {
    return entry.type === EntryType.token && seq !== undefined && seq <= this.#seq;
  }

  check({ handle, exp }: TokenEntry, place: Place): void {
    if (!this.#tokens.has(handle) && !this.#tokens.isForgotten(exp)) {
      throw new FoundError('lie', place, 'its token is not among those that the first snapshot after it has');
    }
    if (this.#met.has(handle)) throw new FoundError('lie', place, 'its token was used before');
    this.#met.use(handle, exp);
  }
}
