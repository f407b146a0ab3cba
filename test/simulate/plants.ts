/**
 * The bugs that planted.ts puts into the server, one at a time: each breaks one thing that is promised. Where the text it
 * changes has moved, the edit moves along.
 */
import { LEDGER_PLANTS } from './plants/ledger.ts';
import { SERVER_PLANTS } from './plants/server.ts';

export type { Edit, Plant } from './plants/plant.ts';
export { TESTED_PLANTS } from './plants/tested.ts';

/** Those that lives see. */
export const PLANTS = [...SERVER_PLANTS, ...LEDGER_PLANTS];
