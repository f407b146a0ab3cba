/**
 * `node dist/test/golden/make.js <name>`: a new golden directory, test/golden/<name>, written by the build at hand. To
 * be run once for each released format and never again: what it writes is what later versions are held to.
 */
import { join } from 'node:path';
import { writeGolden } from './golden.ts';

const name = process.argv[2];
if (name === undefined || !/^[a-z0-9.-]+$/.test(name)) throw new Error('a name of letters, digits, periods, hyphens');
const directory = join(process.cwd(), 'test', 'golden', name);
await writeGolden(directory);
process.stdout.write(`${directory}\n`);
