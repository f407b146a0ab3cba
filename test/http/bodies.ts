/** Bodies of the right shape, and what they are made of. */
export const PUBLIC = '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=';
export const HASH = 'f8b904775578e562e4acd2f449fc8fea4cac00c97ad714f3a092880c341e07fb';
export const PROOF = {
  method: 'ed25519-v2',
  public: PUBLIC,
  digest: 'c165d4984909df388f4074840c57b0771ef08ae26ec8713c2ffa101da8de3770',
  result: 'cTYuS/lOto70Pww1LrfIT7fUkaw+iAWp+E+4Iy4cz2Do0wY8aqtECHzvQZxUdaY1jpinY5NzYDsQzhSEaobaCQ==',
};
export const TRANSFER = {
  action: 'transfer',
  source: { handle: 'a' },
  target: { handle: 'b' },
  symbol: { handle: 'usd' },
  amount: 1,
};

export const bodyOf = (data: unknown) => ({ hash: HASH, data, meta: { proofs: [PROOF] } });

/** A new intent with all that intents usually carry. */
export const USUAL = bodyOf({
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

const EXTRAS = ['extra', 'source', 'target', 'wallet', 'custom', 'parent', 'luid', '__proto__', 'constructor'];

/** A body with something else, or nothing, or something more in each place, one place at a time. */
export function* changed(body: unknown): Generator<unknown> {
  for (const path of placesOf(body)) {
    if (path.length === 0) continue;
    for (const odd of ODD) {
      yield change(body, path, (parent, name) => {
        parent[name] = odd;
      });
    }
    yield change(body, path, (parent, name) => {
      delete parent[name];
    });
    for (const extra of EXTRAS) {
      yield change(body, path, (parent) => {
        Object.defineProperty(parent, extra, { value: 'a', enumerable: true, configurable: true, writable: true });
      });
    }
  }
}
