/** What memory holds, apart from what only waits to be cleared away. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** V8 clears away what nobody holds any more. */
export const collect = runInNewContext('gc') as () => void;

/** What V8 holds then. */
export function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
