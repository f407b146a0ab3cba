/** The directory a tool looks at: the one named, else the one the server would use. */
import { readConfig } from '../config.ts';
import { UsageError } from './usage.ts';

export function dataDirectory(positionals: string[]): string {
  if (positionals.length > 1) throw new UsageError(`one directory at a time, not ${positionals.join(' ')}`);
  return positionals[0] ?? readConfig([], { AYNI_DATA: process.env.AYNI_DATA }).data;
}
