/**
 * How much room V8 gives what does not live long. Whatever is on its way when the young generation is full is copied,
 * so the more requests are on their way, the dearer it is to be full often: with the 16 MiB that V8 takes by itself, a
 * service that is given more than it can do spends a tenth of its main thread's time on copying.
 *
 * But V8 begins a full collection wherever what lives long leaves less room than two such spaces take: where it may
 * take little in all, with large ones it collects without end, also when nobody asks anything.
 *
 * V8 reads how large they may become, and begin as, when it starts: that stands on the command line of `npm start`, and
 * of all that starts the service here. Whether they grow it asks each time.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';

const MIB = 1024 * 1024;
/** Of one of V8's two such spaces, mebibytes: where there is room, and from the beginning. */
const SEMI_SPACE_MIB = 64;
const FIRST_SEMI_SPACE_MIB = 16;
/** With less than this in all they stay as they begin: a gibibyte is eight times what the large ones need. */
const ROOMY_BYTES_MIN = 1024 * MIB;
/** What the spaces of other threads begin as where those do not grow either. */
const OTHERS_MIB = 4;

/** Flags of Node: at most, and from the beginning. */
export const YOUNG_GENERATION_FLAGS = [
  `--max-semi-space-size=${SEMI_SPACE_MIB}`,
  `--min-semi-space-size=${FIRST_SEMI_SPACE_MIB}`,
];

/**
 * To be called first of all. Returns a word about a command line whose spaces are large from the beginning where there
 * is no room for them, or null. Threads started from here on get what V8 takes by itself: none makes as much garbage as
 * the first, and each would take as much memory.
 */
export function fitYoungGeneration(): string | null {
  const bytesMax = oldGenerationBytesMax();
  const isRoomy = bytesMax >= ROOMY_BYTES_MIN;
  // In one step, or not at all.
  setFlagsFromString(`--semi-space-growth-factor=${isRoomy ? SEMI_SPACE_MIB / FIRST_SEMI_SPACE_MIB : 1}`);
  for (const flag of ['--max-semi-space-size=0', `--min-semi-space-size=${isRoomy ? 0 : OTHERS_MIB}`])
    setFlagsFromString(flag);
  const young = semiSpaceMib();
  if (isRoomy || young < SEMI_SPACE_MIB) return null;
  return `V8 may take ${Math.round(bytesMax / MIB)} MiB here, which is too little for --min-semi-space-size=${young}: it will collect garbage without end. Give Node ${YOUNG_GENERATION_FLAGS.join(' ')}, or more memory.`;
}

/**
 * How large one of V8's two such spaces is by now, mebibytes, a power of two: what is used of it and what is not. Of
 * its size V8 counts what it has asked the system for, by Node 25 little more than what is used, and both spaces where
 * both are in use.
 */
export function semiSpaceMib(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!;
  // Less what pages take for themselves.
  return 2 ** Math.ceil(Math.log2((young.space_used_size + young.space_available_size) / MIB));
}

/** What does not live long takes so much at most, as V8 counts it. */
export function youngBytesMax(): number {
  const isRoomy = oldGenerationBytesMax() >= ROOMY_BYTES_MIN;
  return 3 * (isRoomy ? SEMI_SPACE_MIB : FIRST_SEMI_SPACE_MIB) * MIB;
}

/** What lives long may take so much before V8 has no room for what may come out of the young generation. */
export function longLivedBytesMax(): number {
  const bytes = oldGenerationBytesMax();
  return Math.max(bytes - 2 * FIRST_SEMI_SPACE_MIB * MIB, bytes / 2);
}

/**
 * V8 tells what it may take together with its young generation, for which it counts three spaces of the largest size.
 */
function oldGenerationBytesMax(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  const flags = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv];
  const given = flags.map((flag) => /^--max[-_]semi[-_]space[-_]size=(\d+)$/.exec(flag)?.[1]).findLast(Boolean);
  // By itself it takes no larger ones; what it is given it takes as the next power of two.
  if (given === undefined) return Math.max(limit - 3 * SEMI_SPACE_MIB * MIB, limit / 2);
  return limit - 3 * 2 ** Math.ceil(Math.log2(Math.max(1, Number(given)))) * MIB;
}
