/** A bank's books are what its file says, after every kind of end, and nobody is told of what the file does not say. */
import { describe, expect, test } from 'vitest';
import { DamageError } from '../../src/bridge/lines.ts';
import { type Json, verifyRecord } from '../support/client.ts';
import { pause, until } from '../support/kit.ts';
import { housesOf, START } from './houses.ts';
import { BANK_KEYS, DIRECTORY, entryOf, FILE, openHouse, openLedger, signed } from './kit.ts';

const ledger = await openLedger();
const { houses, open, reported, restart } = housesOf(ledger);

describe('the books', () => {
  test('who it is, and its entries, page by page', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    const self = (await house.send('GET', '/')).body;
    verifyRecord(self, BANK_KEYS.public);
    expect(self.data).toMatchObject({ name: 'bank-a', symbol: 'usd', ledger: ledger.keys.public, entries: 1 });
    const { entries, next } = (await house.send('GET', '/entries')).body.data;
    expect(entries).toMatchObject([{ handle: debit.handle, account: 'ana', amount: 300, state: 'prepared' }]);
    expect((await house.send('GET', `/entries?from=${next}`)).body.data.entries).toEqual([]);
  });

  test('are the same after a stop, a kill and a power cut', async () => {
    let house = await open();
    const [held, moved, promised] = [
      entryOf(ledger, 'debit', 'ana', 100),
      entryOf(ledger, 'debit', 'ana', 20),
      entryOf(ledger, 'credit', 'luz', 3),
    ];
    for (const asked of [held, moved, promised]) await house.prepare(asked);
    await house.go(moved, 'commit');
    const money = { ...START, ana: [880, 100, 0], luz: [0, 0, 3], bank: [20, 0] };
    expect(await house.money()).toEqual(money);
    house = await restart(house);
    expect(await house.money()).toEqual(money);
    for (const end of ['kill', 'crash'] as const) {
      await house.kill();
      if (end === 'crash') house.disk.crash();
      houses.pop();
      house = await open({ disk: house.disk });
      expect(await house.money()).toEqual(money);
    }
    expect(await house.go(held, 'abort')).toBe(202);
    expect(await house.go(promised, 'commit')).toBe(202);
    expect(await house.money()).toEqual({ ...START, ana: [980, 0, 0], luz: [3, 0, 0], bank: [20, 3] });
  });

  test('no answer and no report leave before the disk has it', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const before = ledger.told.length;
    house.disk.holdSyncs();
    const answers: number[] = [];
    const note = ({ status }: { status: number }) => answers.push(status);
    const all: Promise<number>[] = [house.send('POST', '/debits', debit.body).then(note)];
    await until(() => house.bank.books.entries.get(debit.handle), 'the entry');
    all.push(house.send('POST', '/debits', debit.body).then(note), house.send('GET', '/accounts').then(note));
    await pause(100);
    expect([answers, ledger.told.length]).toEqual([[], before]);
    house.disk.releaseSyncs();
    await Promise.all(all);
    expect(answers.toSorted()).toEqual([200, 202, 202]);
  });

  test('no refusal for what an entry has become leaves before the disk has that', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    house.disk.holdSyncs();
    const aborted = house.go(debit, 'abort');
    await until(() => house.bank.books.entries.get(debit.handle)?.state === 'aborted', 'the abort');
    // It says that the entry is aborted, which a power cut would undo.
    let refused = 0;
    const committed = house.go(debit, 'commit').then((status) => {
      refused = status;
    });
    await pause(100);
    expect(refused).toBe(0);
    house.disk.releaseSyncs();
    await committed;
    expect([await aborted, refused]).toEqual([202, 409]);
  });

  test('what comes during a sync is not told with what the sync has written', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const abort = signed({ handle: debit.handle, action: 'abort', intent: debit.intent }, ledger.keys);
    const handle = (method: string, path: string, body: Json = '') =>
      house.bank.handle(method, path, Buffer.from(JSON.stringify(body)));
    house.disk.holdSyncs();
    const prepared = handle('POST', '/debits', debit.body);
    const shown = handle('GET', '/accounts');
    const aborted = handle('POST', `/debits/${debit.handle}/abort`, abort);
    // The abort waits for the next sync, and that one fails.
    house.disk.inject({ call: 'sync', skip: 1, code: 'EIO' });
    house.disk.releaseSyncs();
    expect((await prepared).status).toBe(202);
    expect(JSON.parse((await shown).body).data.accounts[0]).toMatchObject({ available: 700, held: 300 });
    await expect(aborted).rejects.toThrow('EIO');
    await reported(debit, 'prepared');
    await pause(100);
    expect(ledger.told.filter(({ custom }) => custom.handle === debit.handle)).toHaveLength(1);
  });

  test('a disk that fails ends the bank, and nobody is told that it was done', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const before = ledger.told.length;
    house.disk.inject({ call: 'sync', code: 'EIO' });
    expect(await house.prepare(debit)).toBe(503);
    expect(house.fatal).toHaveLength(1);
    expect((await house.send('GET', '/accounts')).status).toBe(503);
    expect(ledger.told.length).toBe(before);
  });

  test('that were damaged stop the start', async () => {
    const house = await open();
    await house.prepare(entryOf(ledger, 'debit', 'ana', 300));
    await house.kill();
    houses.pop();
    const bytes = house.disk.bytesOf(FILE);
    bytes[100]! ^= 1;
    house.disk.put(FILE, bytes);
    await expect(open({ disk: house.disk })).rejects.toThrow(DamageError);
  });

  test.each([
    ['committed and aborted', 300, ['committed', 'aborted']],
    ['committed though it failed', 1e9, ['committed']],
  ])('whose facts do not add up stop the start: %s', async (_, amount, states) => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', amount);
    await house.prepare(debit);
    await house.kill();
    houses.pop();
    const { Lines } = await import('../../src/bridge/lines.ts');
    const { lines } = Lines.open<object>(
      house.disk,
      DIRECTORY,
      'books.jsonl',
      () => {},
      () => {},
    );
    for (const state of states) await lines.append({ type: 'step', entry: debit.handle, state, moment: '' });
    await lines.close();
    await expect(open({ disk: house.disk })).rejects.toThrow('goes from prepared');
  });

  test('believe one ledger', async () => {
    const house = await open();
    await house.close();
    houses.pop();
    const other = await openLedger(2);
    await expect(openHouse(other, { disk: house.disk })).rejects.toThrow('believe the ledger');
    await other.close();
  });
});
