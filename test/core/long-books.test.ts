/** Books with very much of one thing: no map of V8's heap grows with it, which V8 would move as a whole now and then. */
import { expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { dropParts, dumpState } from '../../src/core/dump.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { longestMapIn } from '../support/longest-map.ts';
import { SLOW } from '../support/slow.ts';
import { Books, issue, transfer } from './books.ts';

const MANY = 9000;
/** As many as share a map at most. */
const LONG = 8192;
const ACCESS = [{ action: 'any', record: 'any' }];
const HOOK = { schema: 'webhook', endpoint: 'http://127.0.0.1:1' };

/** A proof that puts labels on the wallet. */
function label(books: Books, handle: string, labels: string[]): void {
  const { entry } = readRow(books.state, findHandle(books.state, 1, Kind.wallet, handle));
  books.addProof(entry, { labels }, { caller: GRANTED });
}

const things: [what: string, fill: (books: Books) => void][] = [
  [
    'ledgers',
    (books) => {
      for (let n = 0; n < MANY; n++) {
        books.create(Kind.ledger, { handle: `l${n}`, access: ACCESS }, 0);
        books.create(Kind.wallet, { handle: 'a' }, n + 2);
      }
      expect(books.state.counts.size).toBeGreaterThan(2 * MANY);
    },
  ],
  [
    'symbols that are issued',
    (books) => {
      for (let n = 0; n < MANY; n++) {
        books.symbols(`s${n}`);
        books.intent(issue('a', 1, `s${n}`));
      }
      expect(books.state.supply.size).toBe(MANY);
    },
  ],
  [
    'labels',
    (books) => {
      for (let n = 0; n < MANY; n += 100) {
        const values = Array.from({ length: 100 }, (_, nth) => `label-${n + nth}`);
        books.create(Kind.policy, { handle: `p${n}`, schema: 'labels', record: 'wallet', values });
        books.wallets(`w${n}`);
        label(books, `w${n}`, values);
      }
      expect(books.state.labels.size).toBe(MANY);
    },
  ],
  [
    'effects',
    (books) => {
      for (let n = 0; n < MANY; n++) {
        books.create(Kind.effect, { handle: `e${n}`, signal: 'intent-created', action: HOOK });
      }
      expect(books.state.feeds.size).toBe(MANY);
    },
  ],
  [
    'wallets behind a bridge',
    (books) => {
      books.symbols('usd').create(Kind.bridge, { handle: 'bank', config: { server: HOOK.endpoint } });
      for (let n = 0; n < MANY; n++) {
        books.create(Kind.wallet, { handle: `w${n}`, bridge: 'bank' });
        books.intent(issue(`w${n}`, 1));
      }
      expect(books.state.open.size).toBe(MANY);
    },
  ],
  [
    'schemas',
    (books) => {
      for (let n = 0; n < MANY; n++) {
        books.create(Kind.schema, { handle: `s${n}`, record: 'wallet', format: 'json-schema', schema: {} });
      }
    },
  ],
  [
    'threads that wait',
    (books) => {
      books.symbols('usd').create(Kind.wallet, { handle: 'f', routes: [{ action: 'forward', target: 'a' }] });
      books.intent(issue('a', MANY));
      const config = { commit: 'manual' };
      for (let n = 0; n < MANY; n++) {
        books.create(Kind.intent, { handle: `i${n}`, claims: [transfer('a', 'f', 1)], config });
      }
      expect(books.state.threads.size).toBe(MANY);
    },
  ],
];

test.each(things)(
  'with very many %s no map grows long, nor what is kept for a dump while all of them change',
  SLOW,
  (_, fill) => {
    const books = Books.open().wallets('a');
    books.state.compileSchema = () => ({ check: () => null, held: 0 });
    const { parts } = dumpState(books.state);
    expect(longestMapIn(() => fill(books))).toBeLessThanOrEqual(LONG);
    dropParts(parts);
  },
);
