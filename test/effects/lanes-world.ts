/** Lanes under a clock turned by hand, and a network that answers as told. */
import { type Job, Lanes, type Outcome } from '../../src/effects/lanes.ts';
import { Clock, makeNetwork, type Said } from './clock.ts';

export const DAY = 86_400_000;
export const taken = (afterMs = 5): Said => ({ status: 202, afterMs });
export const refused = (status = 503, retryAfterMs = 0): Said => ({ status, retryAfterMs, afterMs: 5 });
export const hangs = (): Said => ({ status: 202, afterMs: Infinity });

/** There is none where it is handed in. */
export function noDefect(error: Error): never {
  throw error;
}

interface Settled {
  name: string;
  outcome: Outcome;
  attempts: number;
  lastError: string | null;
  at: number;
}

export function makeWorld(
  say: (url: string, attempt: number) => Said,
  limits: { inFlightMax?: number; attemptsMax?: number } = {},
) {
  const clock = new Clock();
  const network = makeNetwork(clock, say);
  const defects: Error[] = [];
  const defect = (error: Error) => void defects.push(error);
  const lanes = new Lanes({ timers: clock, call: network.call, inFlightMax: 100, attemptsMax: 100, defect, ...limits });
  const settled: Settled[] = [];
  const keys = new Map<string, number>();
  /** The number that stands for a key. */
  const keyOf = (key: string) => {
    const number = keys.get(key) ?? keys.size;
    keys.set(key, number);
    return number;
  };
  /** A job whose URL is its name. */
  const job = (name: string, key = name, more: Partial<Job> = {}): Job => ({
    key: keyOf(key),
    receiver: 0,
    make: () => ({ method: 'POST', url: name, body: '{}', secure: [] }),
    settled: (outcome, attempts, lastError) => settled.push({ name, outcome, attempts, lastError, at: clock.now() }),
    ...more,
  });
  const urls = () => network.sent.map((one) => one.url);
  const outcomes = () => settled.map(({ name, outcome }) => `${name} ${outcome}`);
  return { clock, network, lanes, settled, job, keyOf, urls, outcomes, defects };
}

export const nothingLeft = { lanes: 0, jobs: 0, inFlight: 0 };
