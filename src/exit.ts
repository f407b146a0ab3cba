import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Ends the process with this code, also where V8 compiles in other threads. One of those that finds no room waits until
 * the main thread has collected garbage; an exit waits, in the main thread, for all of them: on Node 24.22 one in a
 * hundred starts that were refused said why and never ended. So garbage is collected right before, and none of them
 * finds no room.
 */
export function exitProcess(code: number): never {
  try {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    collectGarbage();
  } finally {
    // Also where flags of whoever started it give that another name.
    process.exit(code);
  }
}
