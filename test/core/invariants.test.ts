/** What must hold of every intent's postings, whoever decided it. */
import { describe, expect, test } from 'vitest';
import { type Claim, handleOf, rowsOf } from '../../src/core/claims/index.ts';
import { LIMIT_WIDTH, type Outcome } from '../../src/core/entry.ts';
import { assertBalanced, assertStill } from '../../src/core/invariants.ts';
import { destroy, issue, limit, transfer } from './books.ts';

const MAX = Number.MAX_SAFE_INTEGER;
const [A, B] = [1, 2];
const [USD, EUR, PTS, GOLD] = [10, 11, 12, 13];

const LIMIT = new Array<number>(LIMIT_WIDTH).fill(1);

/** A posting without what it moves, which nobody adds up. */
type Posting = [wallet: number, symbol: number, change: number];

function outcomeOf(postings: Posting[], limits: number[] = []): Outcome {
  const outcome: Pick<Outcome, 'postings' | 'limits'> = {
    postings: postings.flatMap((posting) => [...posting, 0]),
    limits,
  };
  return outcome as Outcome;
}

function assertClaims(claims: Claim[], postings: Posting[], limits?: number[]): void {
  assertBalanced(outcomeOf(postings, limits), rowsOf(claims), () => claims.map(({ symbol }) => handleOf(symbol)));
}

describe('value is made and lost by issue and destroy only, in each symbol', () => {
  const wrong: [name: string, claims: Claim[], postings: Posting[]][] = [
    [
      'transferred into another symbol',
      [transfer('a', 'b', 50)],
      [
        [A, USD, -50],
        [B, EUR, 50],
      ],
    ],
    [
      'more than leaves one wallet comes into the other',
      [transfer('a', 'b', 50)],
      [
        [A, USD, -50],
        [B, USD, 51],
      ],
    ],
    [
      'transfers of two symbols, one of which grows',
      [transfer('a', 'b', 50), transfer('a', 'b', 7, 'eur')],
      [
        [A, USD, -50],
        [B, USD, 51],
        [A, EUR, -7],
        [B, EUR, 7],
      ],
    ],
    [
      'from one symbol into another beside an issue and a destroy of as much of a third',
      [issue('a', 5), destroy('a', 5), transfer('a', 'b', 9, 'eur')],
      [
        [A, PTS, 9],
        [A, EUR, -9],
      ],
    ],
    [
      'of three symbols only the largest change is right',
      [issue('a', 10), destroy('b', 5, 'eur'), destroy('b', 5, 'pts')],
      [
        [A, USD, 10],
        [B, EUR, -6],
        [B, PTS, -4],
      ],
    ],
    [
      'transferred into another symbol beside an issue',
      [issue('a', 100), transfer('a', 'b', 50)],
      [
        [A, USD, 50],
        [B, EUR, 50],
      ],
    ],
    [
      'transferred into another symbol beside a destroy',
      [destroy('a', 100), transfer('a', 'b', 50)],
      [
        [A, USD, -150],
        [B, EUR, 50],
      ],
    ],
    [
      'into another beside an issue and a destroy of as much',
      [issue('a', 50), destroy('b', 50, 'eur'), transfer('a', 'b', 7, 'pts')],
      [
        [A, USD, 43],
        [B, EUR, -43],
        [A, PTS, -7],
        [B, PTS, 7],
      ],
    ],
    [
      'of two issues all in one symbol',
      [issue('a', 50), issue('a', 30, 'eur')],
      [
        [A, USD, 80],
        [A, EUR, 0],
      ],
    ],
    [
      'issued and not there',
      [issue('a', 50), issue('b', 30, 'eur')],
      [
        [A, USD, 50],
        [B, EUR, 0],
      ],
    ],
    ['more than is issued', [issue('a', 50)], [[A, USD, 51]]],
    [
      'several symbols, none of which is balanced',
      [transfer('a', 'b', 1), transfer('b', 'a', 1, 'eur')],
      [
        [A, USD, -1],
        [B, EUR, -1],
        [A, PTS, 2],
      ],
    ],
    [
      'made beside amounts whose sum no number holds',
      [issue('a', MAX), issue('b', MAX), issue('b', 2, 'eur')],
      [
        [A, USD, MAX],
        [B, USD, MAX - 1],
        [B, EUR, 3],
      ],
    ],
  ];
  test.each(wrong)('%s: refused', (_, claims, postings) => {
    expect(() => assertClaims(claims, postings)).toThrow('add up to what it issues minus what it destroys');
  });

  const right: [name: string, claims: Claim[], postings: Posting[]][] = [
    [
      'issues of several symbols',
      [issue('a', 50), issue('a', 30, 'eur')],
      [
        [A, USD, 50],
        [A, EUR, 30],
      ],
    ],
    [
      'equal issues of several symbols',
      [issue('a', 50), issue('a', 50, 'eur')],
      [
        [A, USD, 50],
        [A, EUR, 50],
      ],
    ],
    [
      'a transfer beside an issue of another',
      [issue('a', 5, 'pts'), transfer('a', 'b', 50)],
      [
        [A, PTS, 5],
        [A, USD, -50],
        [B, USD, 50],
      ],
    ],
    [
      'a transfer',
      [transfer('a', 'b', 50)],
      [
        [A, USD, -50],
        [B, USD, 50],
      ],
    ],
    [
      'transfers of several symbols',
      [transfer('a', 'b', 50), transfer('a', 'b', 7, 'eur')],
      [
        [A, USD, -50],
        [B, USD, 50],
        [A, EUR, -7],
        [B, EUR, 7],
      ],
    ],
    [
      'issues and a destroy of several symbols, moved in another order',
      [destroy('a', 5), issue('a', 7, 'eur'), issue('a', 3, 'pts'), issue('a', 9, 'gold')],
      [
        [A, EUR, 7],
        [A, GOLD, 9],
        [A, USD, -5],
        [A, PTS, 3],
      ],
    ],
    ['a limit in a symbol that nothing moves in', [issue('a', 5), limit('a', 'maxBalance', 9, 'eur')], [[A, USD, 5]]],
    [
      'what is issued and destroyed again',
      [issue('a', 5), destroy('a', 5), issue('a', 1, 'eur')],
      [
        [A, USD, 0],
        [A, EUR, 1],
      ],
    ],
    [
      'sums that no number holds',
      [issue('a', MAX), issue('b', MAX), destroy('b', 2, 'eur')],
      [
        [A, USD, MAX],
        [B, USD, MAX],
        [B, EUR, -2],
      ],
    ],
    [
      'names that may mean one symbol',
      [issue('a', 5), issue('a', 6, 'gold@usd'), issue('a', 1, 'eur')],
      [
        [A, USD, 11],
        [A, EUR, 1],
      ],
    ],
  ];
  test.each(right)('%s: let pass', (_, claims, postings) => {
    expect(() => assertClaims(claims, postings)).not.toThrow();
  });
});

test('an intent that is prepared and moves nothing has limits alone', () => {
  expect(() => assertClaims([limit('a', 'maxBalance', 9)], [], LIMIT)).not.toThrow();
  expect(() => assertClaims([limit('a', 'maxBalance', 9), transfer('a', 'b', 5)], [], LIMIT)).toThrow(
    'moves its money',
  );
});

test('limits that are not whole rows are refused', () => {
  expect(() => assertClaims([limit('a', 'maxBalance', 9)], [], LIMIT.slice(1))).toThrow('whole rows');
});

test('an outcome that waits has neither postings nor limits', () => {
  expect(() => assertStill(outcomeOf([]))).not.toThrow();
  expect(() => assertStill(outcomeOf([[A, USD, 0]]))).toThrow('moves nothing');
  expect(() => assertStill(outcomeOf([], LIMIT))).toThrow('moves nothing');
});
