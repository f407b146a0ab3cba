/**
 * The text that describes the interface, made when somebody first asks for it, as are the parts that make it: few
 * servers are ever asked, and none is to start later for it. Then it is kept.
 */
import type { Described } from './openapi/index.ts';

export function describer(described: Described): () => Promise<string> {
  let making: Promise<string> | null = null;
  const make = async () => (await import('./openapi/index.ts')).describeInterface(described);
  return () => {
    // What could not be loaded now, where too many files are open say, may be the next time; on Node 20 after a
    // restart, since that remembers what it could not load.
    making ??= make().catch((error) => {
      making = null;
      throw error;
    });
    return making;
  };
}
