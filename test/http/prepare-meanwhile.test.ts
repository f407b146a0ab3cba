/** A file of its own: the compiler is loaded once in a process. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { compileSchemas, prepareSchemas } from '../../src/http/schemas.ts';

test('a body that comes while the compiler is loaded is judged, and does not end the loading', async () => {
  const validate = compileSchemas();
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const preparing = prepareSchemas(turn);
  for (let turns = 0; turns < 3; turns++) await turn();
  expect(validate(Kind.wallet, 'create', {})).not.toBeNull();
  await preparing;
  expect(validate(Kind.symbol, 'create', {})).not.toBeNull();
});
