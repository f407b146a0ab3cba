/**
 * How much of V8's heap lives long. Books of open intents that waited outgrew it: the process ended for want of memory in
 * the middle of its work, and so did each start.
 */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { watchV8Heap } from '../../src/v8-heap.ts';
import { YOUNG_GENERATION_FLAGS } from '../../src/young-generation.ts';
import { collect } from '../support/collect.ts';
import { until } from '../support/kit.ts';

const MANY = 2_000_000;
const MODULE = new URL('../../src/v8-heap.js', import.meta.url).href;

/** What it tells once that is so. */
function told(share: () => number, isSo: (share: number) => boolean): Promise<number> {
  return until(() => {
    collect();
    return isSo(share()) ? share() : null;
  });
}

test('what lives long is told after a full collection, and no garbage', async () => {
  const share = watchV8Heap(() => 0);
  expect(share()).toBe(0);
  const before = await told(share, (now) => now > 0);
  let kept: object[] = Array.from({ length: MANY }, (_, n) => ({ n }));
  const withThem = await told(share, (now) => now > before);
  expect(withThem).toBeLessThan(1);
  expect(kept.length).toBe(MANY);
  kept = [];
  const least = before + (withThem - before) / 2;
  expect(await told(share, (now) => now < least)).toBeLessThan(least);
});

test('where a tenth of the open intents came to its end, there is room until the next look', async () => {
  let open = 1000;
  const share = watchV8Heap(() => open);
  const full = await told(share, (now) => now > 0);
  open = 901;
  expect(share()).toBe(full);
  open = 899;
  expect(share()).toBe(0);
  open = 1000;
  expect(share()).toBe(full);
});

/** What a process with a heap of so many MiB gives caches. */
function shareWhere(heap: number): number {
  const flags = [...YOUNG_GENERATION_FLAGS, `--max-old-space-size=${heap}`];
  const script = 'import(process.env.MODULE).then(({ cacheShare }) => console.log(cacheShare()))';
  const env = { ...process.env, MODULE };
  return Number(execFileSync(process.execPath, [...flags, '-e', script], { env, encoding: 'utf8' }));
}

test('caches of a small heap are small: fixed ones filled it, and books were full without an open intent', () => {
  expect(shareWhere(128)).toBe(96 / 5632);
  expect(shareWhere(1024)).toBe(992 / 5632);
  expect(shareWhere(4096)).toBe(4064 / 5632);
  expect(shareWhere(8192)).toBe(1);
});
