/**
 * How fast this machine is just now, told by what a signed intent is made of at the least: one verification, one
 * signature, reading and writing its JSON, its canonical text and its hash. Machines differ, and one machine differs
 * from itself within minutes, so a figure says little without this beside it.
 *
 * Measured alone and with all cores at it, since cores that share a processor slow each other down.
 */
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { canon } from '../../src/proof/canon.ts';
import { sha256 } from '../../src/proof/digest.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { sign, verify } from '../../src/proof/verify.ts';
import { ownerKeys, transferData } from './intents.ts';

/** Microseconds of one thread for the parts of one intent, and of these for its verification. */
interface PartCosts {
  verifyUs: number;
  allUs: number;
}

export interface Pace {
  /** One thread, the other cores as they are. */
  one: PartCosts;
  /** One thread while one on each other core does the same. */
  all: PartCosts;
}

/** The same on the machine for which the goals were set; with both its cores at it, taken from its verifications. */
export const GOALS_PACE: Pace = { one: { verifyUs: 37, allUs: 57.9 }, all: { verifyUs: 41.4, allUs: 64.8 } };

/** Of each measurement. The quickest counts: whatever else runs can only add. */
const ROUND_MS = 60;
const ROUNDS = 3;

export async function measurePace(): Promise<Pace> {
  const one = measureParts();
  const others = Array.from({ length: availableParallelism() - 1 }, () => new Worker(new URL(import.meta.url)));
  await Promise.all(others.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
  const all = measureParts();
  await Promise.all(others.map((worker) => worker.terminate()));
  return { one, all };
}

/** How many times as long as on the goals' machine this one takes. */
export function slownessOf(pace: Pace): Record<keyof Pace, number> {
  return { one: pace.one.allUs / GOALS_PACE.one.allUs, all: pace.all.allUs / GOALS_PACE.all.allUs };
}

/**
 * Of before and after what they are for, the quicker: whatever else ran in one of these moments only added, and would make
 * figures at the goals' pace better than they are.
 */
export function quickerPace(before: Pace, after: Pace): Pace {
  const quicker = (cores: keyof Pace) => (before[cores].allUs < after[cores].allUs ? before[cores] : after[cores]);
  return { one: quicker('one'), all: quicker('all') };
}

export function formatPace(pace: Pace): string {
  const { one, all } = slownessOf(pace);
  return [
    `one verification takes ${pace.one.verifyUs.toFixed(0)} µs on one core, ${pace.all.verifyUs.toFixed(0)} with all at it`,
    `what an intent is made of ${one.toFixed(2)} and ${all.toFixed(2)} times as long as where the goals were set`,
  ].join('; ');
}

function measureParts(): PartCosts {
  const keys = ownerKeys(1);
  const data = transferData('pace-0000000001', encodeBase64(keys.public), 1, 1000, 1, 7);
  const digest = sha256(canon(data));
  const signature = sign(digest, keys);
  const proof = { method: 'ed25519-v2', public: encodeBase64(keys.public), result: encodeBase64(signature) };
  const record = { hash: Buffer.from(digest).toString('hex'), data, meta: { proofs: [proof] } };
  const text = JSON.stringify(record);
  const verifyUs = measure(() => verify(keys.public, digest, signature));
  const others = [
    measure(() => sign(digest, keys)),
    measure(() => JSON.parse(text)),
    measure(() => JSON.stringify(record)),
    measure(() => sha256(canon(data))),
  ];
  return { verifyUs, allUs: others.reduce((sum, each) => sum + each, verifyUs) };
}

/** Microseconds of one call. */
function measure(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    let calls = 0;
    let now = began;
    while (now - began < ROUND_MS / ROUNDS) {
      for (let i = 0; i < 50; i++) work();
      calls += 50;
      now = performance.now();
    }
    least = Math.min(least, ((now - began) * 1000) / calls);
  }
  return least;
}

if (!isMainThread) {
  measureParts();
  parentPort!.postMessage('warm');
  // Until it is terminated.
  for (;;) measureParts();
}
