/**
 * How much room V8 gives what does not live long. Whatever is on its way when the young generation is full is copied, so
 * the more requests are on their way, the dearer it is to be full often: with the 16 MiB that V8 takes by itself, a
 * service that is given more than it can do spends a tenth of its first thread's time on copying.
 *
 * V8 reads this when it starts, so it stands on the command line of `npm start`, and of all that starts the service here.
 */
import { setFlagsFromString } from 'node:v8';

/** Of one of V8's two such spaces, mebibytes. */
const SEMI_SPACE_MIB = 64;

/** Flags of Node: at most, and from the beginning. */
export const YOUNG_GENERATION_FLAGS = [
  `--max-semi-space-size=${SEMI_SPACE_MIB}`,
  `--min-semi-space-size=${SEMI_SPACE_MIB}`,
];

/** What V8 counts for it of all that it may take: a third one for what is large. */
export const YOUNG_GENERATION_BYTES = 3 * SEMI_SPACE_MIB * 1024 * 1024;

/** Threads started from here on get what V8 takes by itself: none makes as much garbage as the first, and each would take as much memory. */
export function keepYoungGenerationToFirstThread(): void {
  for (const flag of ['--max-semi-space-size=0', '--min-semi-space-size=0']) setFlagsFromString(flag);
}
