/**
 * A bank that misbehaves on purpose, at random from one seed, to show that a ledger bears it. Its books stay right:
 * only what it tells the ledger of them, and when, is wrong.
 */

/** Pranks, in the order the help tells them. */
export const PRANKS = {
  slow: 'lets a request wait',
  deaf: 'does not hear a request: no answer, nothing done',
  mute: 'does what is asked, and does not answer',
  twice: 'answers twice',
  late: 'reports late',
  echo: 'reports twice',
  lie: 'reports the opposite after the truth, or with a signature that does not hold',
} as const satisfies Record<string, string>;

type Prank = keyof typeof PRANKS;

export interface Chaos {
  does(prank: Prank): boolean;
  waitMs(): number;
}

export const CALM: Chaos = { does: () => false, waitMs: () => 0 };

/** How often each prank is played. */
const SHARE = 0.1;
const WAIT_MS_MAX = 500;

/** `17` plays every prank, `17:mute,lie` those named. Null where it is neither. */
export function parseChaos(text: string): Chaos | null {
  const [seed, names] = text.split(':', 2);
  const chosen = names === undefined ? Object.keys(PRANKS) : names.split(',');
  if (!/^\d{1,9}$/.test(seed!) || chosen.some((name) => !Object.hasOwn(PRANKS, name))) return null;
  const random = randomFrom(Number(seed));
  return {
    does: (prank) => chosen.includes(prank) && random() < SHARE,
    waitMs: () => Math.floor(random() * WAIT_MS_MAX),
  };
}

/** Numbers from 0 up to 1 (mulberry32), the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
