/** Proofs of how an intent went on are made once and remembered: what is remembered of one must not be told of another. */
import { expect, test } from 'vitest';
import { links, type Outcome } from '../../src/core/entry.ts';
import { outcomeKey } from '../../src/render.ts';

const error = (detail: string, leg = 0, moment = 1000): Outcome => ({
  ...{ moment, steps: ['error'], reason: 'core.bridge-unreachable', detail, postings: [], limits: [] },
  links: links({ leg }),
});

test('errors of one leg in one moment are told each in its own words', () => {
  const outcomes = [error('status 501'), error('ECONNREFUSED'), error('status 501', 1), error('status 501', 0, 1001)];
  // What an early build noted did not name the intent.
  outcomes.push({ ...error('status 501'), isEarly: true });
  const keys = outcomes.map((outcome) => outcomeKey('$int.000000000000000000', outcome));
  expect(new Set(keys).size).toBe(outcomes.length);
});
