/** The directory a tool looks at, from the root on: the one named, else the one the server would use. */
import { resolve } from 'node:path';
import { readConfig } from '../config.ts';
import { readFilled, UsageError } from './usage.ts';

export function dataDirectory(positionals: string[]): string {
  if (positionals.length > 1) throw new UsageError(`one directory at a time, not ${positionals.join(' ')}`);
  const [given] = positionals;
  if (given !== undefined) return resolve(readFilled('the directory', given));
  return resolve(readConfig([], { AYNI_DATA: process.env.AYNI_DATA }).data);
}
