/** Many tasks, few at a time. */

/** Runs task(0) … task(count - 1), at most `width` at once, in order of starting. Rejects with the first failure. */
export async function runInParallel(
  count: number,
  width: number,
  task: (position: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, work));
}
