/**
 * Books that an older version of the server wrote, test/golden: some lives begin on them and go on, with ledgers of
 * their own beside those that are there. The server of every life has the key of these books.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { State } from '../../src/core/state.ts';

const directory = new URL('../../../test/golden/0.1.0/books/', import.meta.url);

export const OLDER_BOOKS: ReadonlyMap<string, Buffer> = new Map(
  readdirSync(fileURLToPath(directory))
    .filter((name) => /\.ay[jsp]$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, directory))]),
);

/** As base64. */
export const OLDER_SECRET: string = JSON.parse(readFileSync(new URL('server.key', directory), 'utf8')).secret;

/** What the model must know of books that it has not seen grow. */
export interface Inherited {
  readonly seq: number;
  readonly records: number;
  readonly balances: number;
  readonly open: number;
  /** Those that are there, the server itself left out. */
  readonly ledgers: number;
  /** When the tokens that were used end, in seconds. */
  readonly tokenEnds: readonly number[];
}

export const NOTHING_INHERITED: Inherited = { seq: 0, records: 0, balances: 0, open: 0, ledgers: 0, tokenEnds: [] };

export function inheritedFrom(state: State, seq: number): Inherited {
  const tokenEnds = state.tokens.extra().chains.map(([end]) => end);
  if (tokenEnds.length !== state.tokens.size) throw new Error('the older books hold tokens that end together');
  return {
    seq,
    records: state.rows.at.length,
    balances: state.balances.size,
    open: state.open.size,
    ledgers: state.ledgers.length - 1,
    tokenEnds,
  };
}
