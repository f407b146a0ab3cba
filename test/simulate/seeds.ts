/** Lives that once met a bug, planted or not: run again with every run of the tests. */
export const SEEDS: readonly { seed: number; met: string }[] = [];
