/** The command lines of programs beside the suite. */
import { isUsageError } from '../../src/cli/usage.ts';

/** What `read` makes of them. Where they cannot be used the program says why, and ends with 2 before it has begun anything. */
export function readFlags<T>(program: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isUsageError(error as Error)) throw error;
    process.stderr.write(`${program}: ${(error as Error).message}\n`);
    process.exit(2);
  }
}
