/** The directory a tool looks at: the one named, else the one the server would use. */
import { readConfig } from '../config.ts';
import { readFilled, UsageError } from './usage.ts';

export function dataDirectory(positionals: string[]): string {
  if (positionals.length > 1) throw new UsageError(`one directory at a time, not ${positionals.join(' ')}`);
  const [given] = positionals;
  if (given !== undefined) return readFilled('the directory', given);
  return readConfig([], { AYNI_DATA: process.env.AYNI_DATA }).data;
}
