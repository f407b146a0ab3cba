/** Of certificates that end soon the operator is told once, however long their peers stay, and no list of that grows. */
import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { Shown } from '../../src/side-port.ts';
import { heldBytes } from '../support/collect.ts';

const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const END = FROM + 365 * DAY_MS;

/** A peer at an address, who shows a certificate of a year. */
function peer(remoteAddress: string): TLSSocket {
  const date = (ms: number) => new Date(ms).toUTCString();
  const certificate = {
    valid_from: date(FROM),
    valid_to: date(END),
    fingerprint256: 'f',
    issuerCertificate: undefined,
  };
  return Object.assign(new EventEmitter(), { remoteAddress, getPeerCertificate: () => certificate }) as never;
}

/** So many come one after the other, and each is looked at while one who stays is there; what was told. */
function come(count: number): { told: number; ofWhoStays: number; held: number } {
  const [seen, before] = [{ told: 0, ofWhoStays: 0 }, heldBytes()];
  const shown = new Shown((text) => {
    seen.told++;
    if (text.includes(' 10.0.0.1 ')) seen.ofWhoStays++;
  });
  shown.add(peer('10.0.0.1'));
  for (let n = 0; n < count; n++) {
    const passing = peer(`fd00::${n.toString(16)}`);
    shown.add(passing);
    for (const days of [3, 2]) shown.look(END - days * DAY_MS);
    passing.emit('close');
  }
  const held = heldBytes() - before;
  shown.look(END - DAY_MS);
  return { ...seen, held };
}

test('each is told once, and who stays not again, however many others come and go', () => {
  expect(come(3000)).toMatchObject({ told: 3001, ofWhoStays: 1 });
});

test('of those that are gone nothing is remembered for good', () => {
  // A line of theirs is a hundred bytes and more.
  expect(come(20_000).held).toBeLessThan(1e6);
});
