/** Reads the books in the directory it is given, once, and tells its parent what that took. A process of its own. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fitYoungGeneration } from '../../src/young-generation.ts';
import { recoverBooks } from './house.ts';

export interface RecoveryFigures {
  ms: number;
  cpuSeconds: number;
  /** Of the last entry there is. */
  seq: number;
  /** Read from the journal. */
  entries: number;
  journalBytes: number;
  residentBytes: number;
}

const directory = process.argv[2];
if (directory === undefined || process.send === undefined) throw new Error('a directory and a parent are needed');
// As the service begins.
fitYoungGeneration();
const cpuBefore = process.cpuUsage();
const began = performance.now();
const { end, entries } = recoverBooks(directory);
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpuBefore);
const figures: RecoveryFigures = {
  ...{ ms, cpuSeconds: (user + system) / 1e6, seq: end.seq, entries },
  journalBytes: readdirSync(directory)
    .filter((file) => file.endsWith('.ayj'))
    .reduce((sum, file) => sum + statSync(join(directory, file)).size, 0),
  residentBytes: process.memoryUsage.rss(),
};
process.send(figures, () => process.disconnect());
