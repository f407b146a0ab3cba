/** The log of what nobody is to read about. */
import type { Log } from '../../src/log.ts';

export const QUIET: Log = { tell: () => {}, inform: () => {}, defect: () => {} };
