/**
 * What is compiled ahead: every schema, one after each pause, and from then on none by a body.
 */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { compileSchemas, prepareSchemas } from '../../src/http/schemas.ts';

test('every schema is compiled after a pause of its own, also one that is made later, and none twice', async () => {
  const validate = compileSchemas({ claimsMax: 10_000, proofsMax: 64 });
  let pauses = 0;
  const pause = async () => {
    pauses++;
  };
  expect(validate(Kind.wallet, 'create', {})).not.toBeNull();
  await prepareSchemas(pause);
  const first = pauses;
  expect(first).toBeGreaterThan(Object.keys(Kind).length);
  expect(validate(Kind.symbol, 'create', {})).not.toBeNull();
  await prepareSchemas(pause);
  expect(pauses).toBe(first);

  // The first had one that a body had needed before.
  compileSchemas({ claimsMax: 10_000, proofsMax: 64 });
  await prepareSchemas(pause);
  expect(pauses - first).toBeGreaterThan(Object.keys(Kind).length / 2);
  expect(pauses - first).toBeLessThan(first);
});
