/** Signatures, workers and the crowd at the door: nobody gets in unverified, everybody is answered, nothing is unbounded. */
import { afterEach, describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { often } from '../support/long.ts';
import { turns } from '../support/turns.ts';
import { House, type HouseOptions, isAcknowledged, reasonOf, SERVER } from './house.ts';
import { checkReplay } from './life.ts';

const pools: ProofPool[] = [];

afterEach(async () => {
  delete process.env.AYNI_TEST_FAULT;
  for (const pool of pools.splice(0)) await pool.close();
});

/** Real threads; with a fault they die or lie as test/proof/faulty-worker.ts says. */
function threads(fault = ''): ProofPool {
  process.env.AYNI_TEST_FAULT = fault;
  const workerUrl = new URL(`../proof/${fault === 'load' ? 'unloadable' : 'faulty'}-worker.js`, import.meta.url);
  const pool = new ProofPool({ workers: 2, server: SERVER, rowsPerTaskMax: 32, inlineRowsMax: 0, workerUrl });
  pools.push(pool);
  return pool;
}

function openWith(options: HouseOptions): Promise<House> {
  return House.open(new FakeDisk(), options);
}

describe('a forged signature among good ones', () => {
  test.each([
    ['on this thread', () => ({})],
    ['by workers', () => ({ pool: threads() })],
  ] as [string, () => HouseOptions][])('is refused, and only it: %s', async (_name, options) => {
    const house = await openWith(options());
    const sent = Array.from({ length: 40 }, (_, n) =>
      house.submitSigned(house.command(Kind.wallet, { handle: `w${n}` }), n % 7 === 3),
    );
    await house.quiet();
    for (const [n, one] of sent.entries()) {
      expect([reasonOf(one), one.answers]).toEqual([n % 7 === 3 ? 'crypto.signature-invalid' : '', 1]);
      expect(house.read(Kind.wallet, `w${n}`) === null).toBe(n % 7 === 3);
    }
    checkReplay(house);
  });

  test('does not take the handle', async () => {
    const house = await openWith({});
    const forged = house.submitSigned(house.command(Kind.wallet, { handle: 'w' }), true);
    const good = house.submitSigned(house.command(Kind.wallet, { handle: 'w', custom: { n: 1 } }));
    await house.quiet();
    expect([reasonOf(forged), reasonOf(good)]).toEqual(['crypto.signature-invalid', '']);
  });

  test('gets no signature of the server', async () => {
    const house = await openWith({});
    const command = house.command(Kind.wallet, { handle: 'w' });
    house.submitSigned(command, true);
    await house.quiet();
    expect(command.seal).toEqual(new Uint8Array(64));
  });
});

describe('a worker that fails under load', () => {
  test.each(['exit', 'throw', 'silent', 'partial', 'late', 'always-exit', 'always-silent', 'load'])(
    '%s: nobody is accepted unverified, everybody is answered once, order stays',
    async (fault) => {
      const house = await openWith({ pool: threads(fault) });
      const sent = [];
      // Each thread that ends is another one begun, which takes a tenth of a second.
      const count = /exit|late|load/.test(fault) ? often(30, 80) : 80;
      for (let n = 0; n < count; n++) {
        sent.push(house.submitSigned(house.command(Kind.wallet, { handle: `w${n}` }), n % 10 === 4));
        if (n % 25 === 0) await turns(2);
      }
      await house.quiet();
      for (const [n, one] of sent.entries()) {
        expect([reasonOf(one), one.answers], `${n}`).toEqual([n % 10 === 4 ? 'crypto.signature-invalid' : '', 1]);
      }
      expect(house.fatals).toEqual([]);
      const rows = sent.filter(isAcknowledged).map(({ command }) => house.luidRow(command.luid));
      expect(rows).toEqual(rows.toSorted((one, other) => one - other));
      checkReplay(house);
    },
  );
});

describe('a pool that can verify nothing', () => {
  test('accepts nobody', async () => {
    const pool = new ProofPool({ workers: 0, server: SERVER, rowsPerTaskMax: 8, inlineRowsMax: 1 });
    const house = await openWith({ pool });
    await pool.close();
    const sent = house.submitSigned(house.command(Kind.wallet, { handle: 'w' }));
    await house.quiet();
    expect([reasonOf(sent), sent.answers]).toEqual(['api.unexpected-error', 1]);
    expect(house.read(Kind.wallet, 'w')).toBeNull();
  });
});

describe('more than the inbox takes', () => {
  test.each([
    ['requests', { inboxMax: 10 }, 10],
    ['bytes', { inboxBytesMax: 3000 }, 3],
  ] as [string, HouseOptions, number][])(
    '%s: refused from then on, and not any more once it is empty',
    async (_n, options, count) => {
      const house = await openWith(options);
      expect(house.engine.overload()).toBeNull();
      house.disk.holdSyncs();
      for (let n = 0; n < count; n++) {
        expect(house.engine.overload(), `${n} are waiting`).toBeNull();
        house.create(Kind.wallet, { handle: `w${n}`, custom: { text: 'x'.repeat(800) } });
        await turns(1);
      }
      expect(house.engine.overload()).toMatchObject({ reason: 'api.rate-limit-exceeded' });
      expect(house.engine.waiting).toBe(count);
      house.disk.releaseSyncs();
      await house.quiet();
      expect(house.engine.overload()).toBeNull();
      expect(house.engine.waiting).toBe(0);
      expect(house.sent.every(isAcknowledged)).toBe(true);
    },
  );

  test('refused ones leave the inbox as accepted ones do', async () => {
    const house = await openWith({ inboxMax: 10 });
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 3; n++) {
        house.create(Kind.wallet, { handle: 'same', custom: { round, n } });
        house.submitSigned(house.command(Kind.wallet, { handle: `f${round}-${n}` }), true);
      }
      await house.quiet();
      expect([house.engine.waiting, house.engine.overload()]).toEqual([0, null]);
    }
  });
});

describe('a stop', () => {
  test('with nothing on its way is at once', async () => {
    const house = await openWith({});
    await house.engine.drained();
    await house.stop();
  });

  test('waits for the last answer, and the journal closes behind it', async () => {
    const house = await openWith({});
    house.disk.holdSyncs();
    const signed = house.submitSigned(house.command(Kind.wallet, { handle: 'signed' }));
    const plain = house.create(Kind.wallet, { handle: 'plain' });
    let isStopped = false;
    const stopped = house.stop().then(() => (isStopped = true));
    await turns(5);
    expect([isStopped, signed.answers, plain.answers]).toEqual([false, 0, 0]);
    house.disk.releaseSyncs();
    await stopped;
    expect([signed, plain].every(isAcknowledged)).toBe(true);
    checkReplay(house);
  });

  test('of a broken house does not wait for what will never come', async () => {
    const house = await openWith({});
    house.disk.inject({ call: 'sync', code: 'EIO' });
    house.create(Kind.wallet, { handle: 'w' });
    await house.engine.drained();
    expect(house.fatals).toHaveLength(1);
    await house.engine.drained();
  });
});
