/** A proof worker that works honestly, but does not load where anybody loads it by `require`. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { cache } = createRequire(import.meta.url);
if (cache[fileURLToPath(import.meta.url)] !== undefined) throw new Error('loaded by require');

export { default } from '../../src/proof/worker.ts';
