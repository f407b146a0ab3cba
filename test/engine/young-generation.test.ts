/** What the main thread is given for garbage: what the command lines say, and no other thread of the process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { YOUNG_GENERATION_FLAGS } from '../../src/young-generation.ts';

const MODULE = new URL('../../src/young-generation.js', import.meta.url).href;
/** Large from the beginning, as unit files of before have it. */
const LARGE = ['--max-semi-space-size=64', '--min-semi-space-size=64'];
const PACKAGE = new URL('../../../package.json', import.meta.url);

/** Prints how large the young generation of a thread becomes that the main thread starts, MiB. */
const SCRIPT = `
  const { Worker } = require('node:worker_threads');
  const work = \`
    let kept = [];
    for (let i = 0; i < 2e6; i++) { if (i % 1000 === 0) kept = []; kept.push({ i }); }
    const young = require('v8').getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    console.log(young.space_size / 2 ** 20);
  \`;
  import(process.env.MODULE).then(({ fitYoungGeneration }) => {
    if (process.env.KEEP) fitYoungGeneration();
    new Worker(work, { eval: true });
  });
`;

function measureOtherThread(keep: string): number {
  const env = { ...process.env, MODULE, KEEP: keep };
  return Number(execFileSync(process.execPath, [...LARGE, '-e', SCRIPT], { env, encoding: 'utf8' }));
}

/** Prints how large the main thread's becomes, MiB, what is said at the start, and what may live long, MiB. */
const FIRST = `
  import(process.env.MODULE).then(({ fitYoungGeneration, longLivedBytesMax, semiSpaceMib }) => {
    const said = fitYoungGeneration();
    let kept = [];
    for (let i = 0; i < 3e6; i++) { if (i % 2e5 === 0) kept = []; kept.push({ i }); }
    console.log(JSON.stringify([semiSpaceMib(), said, longLivedBytesMax() / 2 ** 20]));
  });
`;

function measureFirst(...flags: string[]): [number, string | null, number] {
  const env = { ...process.env, MODULE };
  return JSON.parse(execFileSync(process.execPath, [...flags, '-e', FIRST], { env, encoding: 'utf8' }));
}

describe('the young generation', () => {
  test('of other threads is not that of the first', () => {
    expect(measureOtherThread('yes')).toBeLessThan(64);
    expect(measureOtherThread(''), 'or else this test shows nothing').toBeGreaterThanOrEqual(64);
  });

  test.each([
    [128, 16, 96],
    [512, 16, 480],
    [1024, 64, 992],
    [4096, 64, 4064],
  ])('where V8 may take %i MiB is of %i, and %i MiB may live long', (heap, size, long) => {
    expect(measureFirst(...YOUNG_GENERATION_FLAGS, `--max-old-space-size=${heap}`)).toEqual([size, null, long]);
  });

  test('of spaces of a size of one’s own, which V8 takes as a power of two, leaves what they leave', () => {
    const [, , long] = measureFirst(
      ...['--max-semi-space-size=65', '--min-semi-space-size=16', '--max-old-space-size=256'],
    );
    expect(long).toBe(224);
    const env = { ...process.env, MODULE, NODE_OPTIONS: '--max-semi-space-size=65' };
    const script =
      'import(process.env.MODULE).then(({ longLivedBytesMax }) => console.log(longLivedBytesMax() / 2 ** 20))';
    const flags = ['--max-old-space-size=256', '-e', script];
    expect(Number(execFileSync(process.execPath, flags, { env, encoding: 'utf8' }))).toBe(224);
  });

  test('that begins large where there is no room for it is told at the start', () => {
    const [, said] = measureFirst(...LARGE, '--max-old-space-size=128');
    expect(said).toMatch(/128 MiB.*too little for --min-semi-space-size=64.*--min-semi-space-size=16/);
    expect(measureFirst(...LARGE, '--max-old-space-size=1024')[1]).toBeNull();
  });

  test.each(['start', 'bench'])('npm run %s has its flags', (name) => {
    const { scripts } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
    expect(scripts[name]).toContain(`node ${YOUNG_GENERATION_FLAGS.join(' ')} dist/`);
  });

  test.each(['Dockerfile', 'src/cli/README.md'])('%s says its flags', (name) => {
    const text = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
    const said = text.match(/--m(?:ax|in)-semi-space-size=\d+/g) ?? [];
    expect([...new Set(said)]).toEqual(YOUNG_GENERATION_FLAGS);
  });
});
