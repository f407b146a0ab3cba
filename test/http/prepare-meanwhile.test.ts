/** The compiler of schemas is loaded once in a process, so each of these looks at a process of its own. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const moduleUrl = (path: string) => new URL(path, import.meta.url).href;
const script = (turns: number) => `
  import { compileSchemas, prepareSchemas } from '${moduleUrl('../../src/http/schemas.js')}';
  import { Kind } from '${moduleUrl('../../src/core/kinds.js')}';
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const validate = compileSchemas({ claimsMax: 10_000, proofsMax: 64 });
  const preparing = prepareSchemas(turn);
  for (let turns = 0; turns < ${turns}; turns++) await turn();
  const errors = validate(Kind.wallet, 'create', {});
  await preparing;
  process.stdout.write(errors.length > 0 ? 'judged' : 'taken');
`;

test.each([0, 1, 3])(
  'a body that comes %i turns after the compiler has begun to load is judged, and does not end the loading',
  (turns) => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script(turns)], {
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual(['judged', '']);
  },
);
