/**
 * What the suite takes a share of, `npm run test:long` takes whole. The share of a list of places is another one each
 * time, so that all have their turn; whoever fails names the place, and AYNI_SHARE names the share to take it again.
 */

export const isLong = process.env.AYNI_LONG === '1';

/** So many in the suite, so many in the long run. */
export const often = (count: number, countLong: number): number => (isLong ? countLong : count);

/** Which share it is this time. */
export const SHARE = Number(process.env.AYNI_SHARE ?? Math.floor(Math.random() * 1000));

/** What a failure says, so that the same share can be taken again. */
export const againWith = (): string => (isLong ? 'AYNI_LONG=1' : `AYNI_SHARE=${SHARE}`);

/** Every `stride`-th number from `from` up to `to`, which is not reached; in the long run every one. */
export function* places(from: number, to: number, stride: number): Generator<number> {
  const step = often(stride, 1);
  for (let place = from + (SHARE % step); place < to; place += step) yield place;
}

/** Does something at each `stride`-th place from `from` to `to`, in the long run at every one. */
export async function atPlaces(
  from: number,
  to: number,
  stride: number,
  act: (place: number) => Promise<void>,
): Promise<void> {
  for (const place of places(from, to + 1, stride)) {
    try {
      await act(place);
    } catch (error) {
      throw new Error(`at ${place} of ${from} to ${to} (${againWith()}): ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

/** Every so many-th of a list, in the long run all. */
export const everyOther = <T>(items: readonly T[], stride: number): T[] =>
  items.filter((_, n) => isLong || n % stride === SHARE % stride);

/** Of items that are alike, one of each kind, in the long run all of them. */
export function oneOfEach<T>(items: readonly T[], kindOf: (item: T) => string): T[] {
  if (isLong) return [...items];
  const kinds = new Map<string, T[]>();
  for (const item of items) kinds.set(kindOf(item), [...(kinds.get(kindOf(item)) ?? []), item]);
  return [...kinds.values()].map((alike) => alike[SHARE % alike.length]!);
}
