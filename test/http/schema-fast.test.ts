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
import { bodyOf, HASH, PROOF, PUBLIC, TRANSFER } from './bodies.ts';

const USUAL = bodyOf({
  handle: 's:i@p',
  schema: 'transfer',
  config: { commit: 'auto' },
  custom: { a: 1 },
  access: [{ action: 'any', signer: { public: PUBLIC } }],
  claims: [
    TRANSFER,
    { action: 'issue', target: 'b', symbol: { handle: 'usd', custom: {} }, amount: 1 },
    { action: 'destroy', source: 's:a@b', symbol: 'usd', amount: Number.MAX_SAFE_INTEGER },
  ],
});
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
/** Values that bring every rule to its edge. */
const ODD: unknown[] = [
  ...[null, 0, 1, -1, 1.5, 2 ** 53, '', 'a', 'a:b', ':a', 'a:b:c', 'a@b', 'a@', 'a@b@c', 'a@b:c', 'é', 'a\n', [], {}],
  ...[[1], { handle: 'a' }, { handle: 'é' }, { handle: 'a', x: 1 }, { commit: 'x' }, { commit: 'manual' }, true],
  ...['transfer', 'issue', 'destroy', 'limit', 'constructor', 'a'.repeat(256), 'a'.repeat(257), HASH.toUpperCase()],
  ...[
    PUBLIC,
    `${PUBLIC.slice(0, -2)}x=`,
    PUBLIC.slice(1),
    `${PUBLIC.slice(0, -1)}A`,
    PROOF.result,
    PROOF.result.replace('Q==', 'R=='),
  ],
  ...[PROOF.result.replace('Q==', 'QA='), PROOF.digest, PROOF.digest.toUpperCase(), PROOF.digest.replace('c', 'é')],
];

/** Every place in a value: its path from the root. */
function placesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))];
}

/** A copy with the member at a path changed. */
function change(
  value: unknown,
  [name, ...rest]: string[],
  edit: (parent: Record<string, unknown>, name: string) => void,
) {
  const copy = structuredClone(value) as Record<string, unknown>;
  let parent = copy;
  let last = name!;
  for (const next of rest) {
    parent = parent[last] as Record<string, unknown>;
    last = next;
  }
  edit(parent, last);
  return copy;
}

test('is said to the usual', () => {
  expect([isUsual(USUAL), isRight(USUAL)]).toEqual([true, true]);
});

test('is never said where the schema says no, whatever stands, misses or is added anywhere', () => {
  const places = placesOf(USUAL).filter((path) => path.length > 0);
  let taken = 0;
  let refused = 0;
  const compare = (body: unknown): void => {
    const [quick, right] = [isUsual(body), isRight(body)];
    if (quick && !right) throw new Error(`taken against the schema: ${JSON.stringify(body)}`);
    if (quick) taken++;
    if (!right) refused++;
  };
  for (const path of places) {
    for (const odd of ODD)
      compare(
        change(USUAL, path, (parent, name) => {
          parent[name] = odd;
        }),
      );
    compare(
      change(USUAL, path, (parent, name) => {
        delete parent[name];
      }),
    );
    for (const extra of [
      'extra',
      'source',
      'target',
      'wallet',
      'custom',
      'parent',
      'luid',
      '__proto__',
      'constructor',
    ]) {
      compare(
        change(USUAL, path, (parent) => {
          Object.defineProperty(parent, extra, { value: 'a', enumerable: true, configurable: true, writable: true });
        }),
      );
    }
  }
  expect([taken > 100, refused > 1000]).toEqual([true, true]);
});
