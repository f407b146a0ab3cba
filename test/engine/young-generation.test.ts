/** What the first thread is given for garbage: what the command lines say, and no other thread of the process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { YOUNG_GENERATION_FLAGS } from '../../src/young-generation.ts';

const MODULE = new URL('../../src/young-generation.js', import.meta.url).href;
const PACKAGE = new URL('../../../package.json', import.meta.url);

/** Prints how large the young generation of a thread becomes that the first one starts, MiB. */
const SCRIPT = `
  const { Worker } = require('node:worker_threads');
  const work = \`
    let kept = [];
    for (let i = 0; i < 2e6; i++) { if (i % 1000 === 0) kept = []; kept.push({ i }); }
    const young = require('v8').getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    console.log(young.space_size / 2 ** 20);
  \`;
  import(process.env.MODULE).then(({ keepYoungGenerationToFirstThread }) => {
    if (process.env.KEEP) keepYoungGenerationToFirstThread();
    new Worker(work, { eval: true });
  });
`;

function measureOtherThread(keep: string): number {
  const env = { ...process.env, MODULE, KEEP: keep };
  return Number(execFileSync(process.execPath, [...YOUNG_GENERATION_FLAGS, '-e', SCRIPT], { env, encoding: 'utf8' }));
}

describe('the young generation', () => {
  test('of other threads is not that of the first', () => {
    expect(measureOtherThread('yes')).toBeLessThan(64);
    expect(measureOtherThread(''), 'or else this test shows nothing').toBeGreaterThanOrEqual(64);
  });

  test.each(['start', 'bench'])('npm run %s has its flags', (name) => {
    const { scripts } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
    expect(scripts[name]).toContain(`node ${YOUNG_GENERATION_FLAGS.join(' ')} dist/`);
  });
});
