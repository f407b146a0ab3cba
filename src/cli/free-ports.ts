/**
 * Ports for processes that are to be found at the same ones again, killed and started. Those that the system gives out
 * by itself, to whoever listens or calls somebody, are another's as soon as they are let go; so these are none of them.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const FIRST = 10_000;
/** Where the system begins, unless it says otherwise. */
const GIVEN_FROM = 32_768;

/** Ports nobody listens on now; whoever asks for one later may be late, and says so. */
export async function freePorts(count: number): Promise<number[]> {
  const last = Math.max(givenFrom(), FIRST + 1000) - 1;
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST + Math.floor(Math.random() * (last - FIRST));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function givenFrom(): number {
  try {
    return Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))![0]);
  } catch {
    return GIVEN_FROM;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
