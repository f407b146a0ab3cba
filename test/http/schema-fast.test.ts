/**
 * The quick yes for usual intents, held to the schemas: said to the usual, and never where they say no.
 */
import { Compile } from 'typebox/schema';
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { isUsualIntent } from '../../src/http/schema-fast.ts';
import { CLAIMS, kindSchemas } from '../../src/http/schema-kinds.ts';
import { Access, Hash, Luid, Proof } from '../../src/http/schema-shapes.ts';
import { array, object, optional } from '../../src/http/schema-words.ts';
import { changed, USUAL } from './bodies.ts';

const isRule = Compile(Access);
const isUsual = (body: unknown) => isUsualIntent(body, 10_000, 256, (access) => isRule.Check(access));
/** The schemas alone. */
const slow = Compile(
  object({
    hash: Hash,
    luid: optional(Luid),
    data: kindSchemas(10_000)[Kind.intent],
    meta: object({ proofs: array(Proof, { maxItems: 256 }) }),
  }),
);
const claims = new Map(Object.entries(CLAIMS).map(([action, schema]) => [action, Compile(schema)]));
const isRight = (body: unknown): boolean => {
  if (!slow.Check(body)) return false;
  const list = (body as { data: { claims: { action: string }[] } }).data.claims;
  return list.every((claim) => claims.get(claim?.action)?.Check(claim) ?? false);
};
test('is said to the usual', () => {
  expect([isUsual(USUAL), isRight(USUAL)]).toEqual([true, true]);
});

test('is never said where the schema says no, whatever stands, misses or is added anywhere', () => {
  let taken = 0;
  let refused = 0;
  for (const body of changed(USUAL)) {
    const [quick, right] = [isUsual(body), isRight(body)];
    if (quick && !right) throw new Error(`taken against the schema: ${JSON.stringify(body)}`);
    if (quick) taken++;
    if (!right) refused++;
  }
  expect([taken > 100, refused > 1000]).toEqual([true, true]);
});
