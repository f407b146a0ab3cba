/** Lives that once met a bug, planted or not: run again with every run of the tests. */
export const SEEDS: readonly { seed: number; met: string }[] = [
  { seed: 10, met: 'a token that a later one of its batch made forgotten: the oracle took it for unused' },
  {
    seed: 59632479,
    met: 'after the disk had failed, calls went on that nobody could note: an effect heard of the next event first',
  },
];
