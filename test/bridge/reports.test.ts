/** Reports: sent until the ledger has them, the same bytes each time, also after a restart, and never after that. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CALM, parseChaos } from '../../src/bridge/chaos.ts';
import { Ledger, UnreachableError } from '../../src/bridge/ledger.ts';
import { Reports } from '../../src/bridge/reports.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { makeKeys, proof } from '../support/client.ts';
import { farUrl, listenFar } from '../support/far.ts';
import { pause, until } from '../support/kit.ts';
import { entryOf, type FakeLedger, FILE, type House, openHouse, openLedger, resigned } from './kit.ts';

let ledger: FakeLedger;
let house: House;

beforeEach(async () => {
  ledger = await openLedger();
  house = await openHouse(ledger, { xLedger: 'tenant' });
});
afterEach(async () => {
  await house.kill();
  await ledger.close();
});

async function restart(): Promise<void> {
  await house.close();
  house = await openHouse(ledger, { disk: house.disk });
}

/** Until the bank has noted that nothing is left to be told. */
const settled = (): Promise<true> =>
  until(() => [...house.bank.books.entries.values()].every(({ told, state }) => told === state), 'all told');

/** The client of a ledger whose name leads to several addresses. */
function clientAt(port: number): Ledger {
  const client = new Ledger(farUrl(port), '', 1);
  onTestFinished(() => client.close());
  return client;
}

describe('a report', () => {
  test.each([503, 500, 404, 408, 425, 429, 302, 0])('is sent again after %i, the same bytes', async (status) => {
    let refusals = 3;
    ledger.answer = () => (refusals-- > 0 ? status : 200);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    const told = await ledger.waitFor(4);
    expect(new Set(told.map(({ text }) => text)).size).toBe(1);
    expect(told.at(-1)).toMatchObject({ intent: debit.intent.data.handle, status: 200, ledger: 'tenant' });
    await settled();
    await pause(150);
    expect(ledger.told).toHaveLength(4);
  });

  test('reaches a ledger that is far away, and whose name leads nowhere too: that one was taken after a quarter of a second', async () => {
    expect(await clientAt(await listenFar()).tell('/', {})).toBe(202);
  });

  test('goes by TLS to an address that begins with HTTPS: a bank that was given one ended', async () => {
    const client = new Ledger('HTTPS://127.0.0.1:1', '', 1);
    onTestFinished(() => client.close());
    await expect(client.tell('/', {})).rejects.toThrow(UnreachableError);
  });

  test('to a name with several addresses where nobody listens tells the operator why: it told nothing', async () => {
    await expect(clientAt(1).tell('/', {})).rejects.toThrow('http://far.test:1: ECONNREFUSED');
  });

  test('is sent again where the answer changes the protocol: it was taken to be on its way for ever', async () => {
    ledger.answer = () => (ledger.told.length < 2 ? 101 : 200);
    await house.prepare(entryOf(ledger, 'debit', 'ana', 300));
    const told = await ledger.waitFor(3);
    expect(told.map(({ status }) => status)).toEqual([101, 101, 200]);
    await settled();
  });

  test('is taken where the answer shows an intent to which others have added much: it was sent again for ever', async () => {
    ledger.shown = `{"data":"${'a'.repeat(40 * 1024 * 1024)}"}`;
    const debits = [entryOf(ledger, 'debit', 'ana', 300), entryOf(ledger, 'debit', 'ana', 1)];
    for (const debit of debits) await house.prepare(debit);
    await ledger.waitFor(2);
    await pause(500);
    expect(ledger.told).toHaveLength(2);
    await settled();
  });

  test.each([400, 401, 403, 422])('is not sent again after %i, not after a restart either', async (status) => {
    ledger.answer = () => status;
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await settled();
    expect(house.log).toEqual([expect.stringContaining(`refuses ${debit.handle} prepared: ${status}`)]);
    await restart();
    await pause(150);
    expect(ledger.told).toHaveLength(1);
    expect(house.bank.books.refusedReports).toBe(1);
    // Asked again, it tells again.
    ledger.answer = () => 200;
    await house.prepare(debit);
    expect((await ledger.waitFor(2))[1]).toMatchObject({ status: 200, text: ledger.told[0]!.text });
  });

  test('that was never answered is sent after a restart, one that was is not', async () => {
    const [first, second] = [entryOf(ledger, 'debit', 'ana', 1), entryOf(ledger, 'debit', 'ana', 2)];
    await house.prepare(first);
    await settled();
    ledger.answer = () => 503;
    await house.prepare(second);
    await ledger.waitFor(2);
    await restart();
    const before = ledger.told.length;
    ledger.answer = () => 200;
    await ledger.waitFor(before + 1);
    await settled();
    expect(new Set(ledger.told.slice(1).map(({ text }) => text)).size).toBe(1);
    await restart();
    await pause(150);
    expect(ledger.told.filter(({ status }) => status === 200)).toHaveLength(2);
  });

  test('of a newer state that was never answered is sent after a restart, though the one before was', async () => {
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await settled();
    ledger.answer = () => 503;
    await house.go(debit, 'commit');
    await ledger.waitFor(2);
    ledger.answer = () => 200;
    await restart();
    await settled();
    expect(ledger.told.at(-1)!.custom).toMatchObject({ handle: debit.handle, status: 'committed' });
  });

  test('of a newer state takes the place of the one before', async () => {
    ledger.answer = ({ status }) => (status === 'prepared' ? 503 : 200);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await ledger.waitFor(1);
    await house.go(debit, 'abort');
    await settled();
    expect(ledger.told.at(-1)!.custom).toMatchObject({ status: 'aborted', coreId: 'bank-a-1' });
    const before = ledger.told.length;
    await pause(150);
    expect(ledger.told).toHaveLength(before);
  });

  test('that is under way is not sent once more because it is asked for', async () => {
    let release = (_: number): void => {};
    ledger.answer = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await until(() => house.bank.books.entries.get(debit.handle), 'the entry');
    await house.prepare(debit);
    await pause(100);
    ledger.answer = () => 200;
    release(200);
    await settled();
    await pause(100);
    expect(ledger.told).toHaveLength(1);
  });

  test('that was taken is sent again where it is asked for, and noted once', async () => {
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await settled();
    const written = house.disk.bytesOf(FILE);
    await house.prepare(debit);
    await ledger.waitFor(2);
    await pause(100);
    expect(house.disk.bytesOf(FILE)).toEqual(written);
  });

  test('of each of many entries is sent once', async () => {
    const debits = Array.from({ length: 50 }, () => entryOf(ledger, 'debit', 'ana', 1));
    await Promise.all(debits.map((debit) => house.prepare(debit)));
    await settled();
    expect(ledger.told.map(({ custom }) => custom.handle).toSorted()).toEqual(
      debits.map(({ handle }) => handle).toSorted(),
    );
  });
});

describe('a report of which the ledger says nothing for good', () => {
  const intent = { handle: 'i', hash: 'f'.repeat(64) };
  const prepared = { kind: 'debit', state: 'prepared', account: 'ana', amount: 1, coreId: '', moment: '' } as const;
  const begin = (tell: () => Promise<number>) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const reports = new Reports({
      ...{
        ledger: { tell } as unknown as Ledger,
        keys: keyPairFromSecret(Buffer.alloc(32, 1)),
        chaos: CALM,
        inFlightMax: 1,
        waitMsMax: 200,
      },
      ...{ answered: () => {}, tell: () => {} },
    });
    return { reports, send: (handle = 'deb_1.0') => reports.send({ ...prepared, handle, intent, told: null }) };
  };

  test('is sent again after longer and longer, up to the most', async () => {
    const at: number[] = [];
    const { reports, send } = begin(() => {
      at.push(Date.now());
      return Promise.resolve(503);
    });
    send();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(at.slice(1).map((one, n) => one - at[n]!)).toEqual([100, 150, 200, 200, 200]);
    reports.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves others waiting where as many as may be are on their way', async () => {
    let told = 0;
    const { reports, send } = begin(() => {
      told++;
      return new Promise(() => {});
    });
    for (const handle of ['deb_1.0', 'deb_2.0']) send(handle);
    expect([reports.size, told]).toEqual([2, 1]);
  });

  test('is not sent any more once the bank ends, also where it is asked for then', async () => {
    let told = 0;
    const { reports, send } = begin(() => {
      told++;
      return Promise.resolve(503);
    });
    reports.close();
    send();
    await vi.advanceTimersByTimeAsync(1_000);
    expect([told, reports.size, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });
});

describe('a bank that misbehaves', () => {
  /** Prepares and commits many, over and over until each is done, as a ledger does. */
  async function play(pranks: string): Promise<void> {
    await house.close();
    house = await openHouse(ledger, { disk: house.disk, chaos: parseChaos(`3:${pranks}`)! });
    const again = async (ask: () => Promise<number>): Promise<void> => {
      while ((await ask().catch(() => 0)) !== 202);
    };
    const debits = Array.from({ length: 30 }, () => entryOf(ledger, 'debit', 'ana', 1));
    for (const debit of debits) {
      await again(() => house.prepare(debit));
      await again(() => house.go(debit, 'commit'));
    }
    await settled();
    expect(await house.money()).toMatchObject({ ana: [970, 0, 0], bank: [30, 0] });
  }

  test.each(['deaf', 'mute', 'twice', 'slow'])('%s: its books stay right', (prank) => play(prank));

  test('echo: says the same twice', async () => {
    await play('echo');
    const texts = ledger.told.map(({ text }) => text);
    expect(new Set(texts).size).toBeLessThan(texts.length);
  });

  test('late: its reports come all the same', () => play('late'));

  test('lie: tells the opposite, and signs what does not hold', async () => {
    await play('lie');
    const lies = ledger.told.filter(({ custom }) => custom.status === 'aborted' || custom.status === 'failed');
    expect(new Set(lies.map(({ status }) => status))).toEqual(new Set([200, 422]));
  });

  test.each(['', 'x', '1:', '1:kind', '1:toString', '-1'])('is not asked for by %j', (text) => {
    expect(parseChaos(text)).toBeNull();
  });
});

describe("the ledger's key", () => {
  test('is the one its signer shows', async () => {
    const client = new Ledger(ledger.url, '', 1);
    expect(await client.fetchKey()).toBe(ledger.keys.public);
    client.close();
  });

  test('is that one whatever others have added to the signer: a bank waited for the ledger for ever', async () => {
    const client = new Ledger(ledger.url, '', 1);
    const { hash, meta } = ledger.system;
    const note = '漢'.repeat(340_000);
    const added = Array.from({ length: 12 }, (_, n) => proof(hash, makeKeys(), { n, note }));
    ledger.system = { ...ledger.system, meta: { ...meta, proofs: [...meta.proofs, ...added] } };
    expect(await client.fetchKey()).toBe(ledger.keys.public);
    client.close();
  });

  test('is none in an answer that is too large to be one', async () => {
    const client = new Ledger(ledger.url, '', 1);
    const { system } = ledger;
    ledger.system = { ...system, more: 'x'.repeat(34_000_000) };
    const asked = client.fetchKey();
    await expect(asked).rejects.toThrow('the answer is too large');
    await expect(asked).rejects.toThrow(UnreachableError);
    ledger.system = { ...system, more: 'x'.repeat(33_000_000) };
    expect(await client.fetchKey()).toBe(ledger.keys.public);
    client.close();
  });

  test('and the ledger that it speaks to are those that it has signed', async () => {
    const client = new Ledger(ledger.url, '', 1);
    const ask = () => client.fetchHandle(ledger.keys.public);
    expect(await ask()).toBe('main');
    const { status } = ledger;
    for (const [told, why] of [
      [resigned(status, makeKeys()), /the status is not signed by the ledger/],
      [{ ...status, data: { ...status.data, ledger: 'other' } }, /the hash of the status is not that of its data/],
      [{ ...status, data: { handle: 'ayni' } }, /answers 200, and no ledger/],
      [[], /answers 200, and no ledger/],
    ] as const) {
      ledger.status = told;
      await expect(ask()).rejects.toThrow(why);
    }
    for (const busy of [503, 429]) {
      ledger.busy = [busy];
      await expect(ask()).rejects.toThrow(UnreachableError);
    }
    client.close();
  });

  test('is none where another has signed it', async () => {
    const client = new Ledger(ledger.url, '', 1);
    ledger.system = resigned(ledger.system, makeKeys());
    await expect(client.fetchKey()).rejects.toThrow('not signed by the ledger');
    client.close();
  });

  test('is none where there is no ledger', async () => {
    const client = new Ledger(`${ledger.url}/elsewhere`, '', 1);
    await expect(client.fetchKey()).rejects.toThrow('answers 404');
    await ledger.close();
    await expect(client.fetchKey()).rejects.toThrow(UnreachableError);
    client.close();
  });
});
