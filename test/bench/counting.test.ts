/** A bench that counts what is not in the books, or takes a refusal for a quick answer, lies: of each load the books are asked. */
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { countingEntries, fillBooks, findMiscount, findRejected } from '../../bench/load/books.ts';
import { driveClosedLoop, driveOpenLoop, hasWrk, type LoadFigures } from '../../bench/load/drive.ts';
import { measureOneByOne } from '../../bench/load/one-by-one.ts';
import { prepareRequests } from '../../bench/load/requests.ts';
import { connect } from '../../src/cli/client.ts';
import { makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { serverOfTest } from '../support/of-test.ts';
import { slow } from '../support/slow.ts';

const PLAN = { parts: 1, intents: 8, claims: 1, wallets: 4 };

/** A server with the books of a load, and that load. */
async function loadOfTest(run: string) {
  const server = await serverOfTest();
  const client = connect(server.url);
  await fillBooks(client, PLAN.wallets);
  const directory = freshDirectory();
  const [part] = await prepareRequests(directory, { run, ...PLAN });
  return { server, client, directory, part: part! };
}

test.each<[string, number, string | null]>([
  ['fewer entries than answers 201', 2, 'the books have 2'],
  ['what was under way when the generator ended', 4, null],
])('%s', (_, entries, expected) => {
  const lie = findMiscount(entries, [{ accepted: 2 }, { accepted: 1 }]);
  if (expected === null) expect(lie).toBeNull();
  else expect(lie).toContain(expected);
});

test('each answer 201 of a load is an entry; a generator that counts one more is found out', async () => {
  const { server, client, part } = await loadOfTest('counted');
  const send = () => driveOpenLoop(server.port, part, 1000, 2, 1);
  const load = await countingEntries(client, send);
  expect([load.accepted, load.lost]).toEqual([8, 0]);
  // The second time they are there already.
  const again = await countingEntries(client, send);
  expect([again.accepted, again.refused]).toEqual([0, { 409: 8 }]);
  const inflated = async (): Promise<LoadFigures> => ({ ...again, accepted: 1 });
  await expect(countingEntries(client, inflated)).rejects.toThrow('1 intents were acknowledged, the books have 0');
});

test('an intent that is answered 201 and then rejected is no transfer', async () => {
  const { client } = await loadOfTest('rejected');
  expect(await findRejected(client)).toEqual([]);
  const owner = makeKeys();
  const poor = record({ handle: 'poor' }, owner);
  expect((await client.post('/wallets', poor)).status).toBe(201);
  const claim = { action: 'transfer', amount: 1, symbol: { handle: 'usd' }, source: { handle: 'poor' } };
  const data = { handle: 'unpaid', claims: [{ ...claim, target: { handle: 'wallet-000000' } }] };
  expect((await client.post('/intents', record({ ...data, config: { commit: 'auto' } }, owner))).status).toBe(201);
  expect(await findRejected(client)).toEqual([expect.stringContaining('unpaid: rejected')]);
});

slow('refusals have no latency: they come quicker than what is done', async () => {
  const { server, directory, part } = await loadOfTest('refused');
  const once = () => measureOneByOne(server.port, part, directory, 1, PLAN.intents, 0);
  expect(await once()).toMatchObject({ accepted: 8, failed: 0, p50: expect.toSatisfy((ms: number) => ms > 0) });
  expect(await once()).toMatchObject({ accepted: 0, failed: 8, p50: Number.NaN, p99: Number.NaN });
  if (!hasWrk()) return;
  const load = await driveClosedLoop(server.port, [part], 1, 2);
  expect(load.accepted).toBe(0);
  // Unless the machine stood still for that long.
  if (load.refused.other !== undefined) expect([load.p50, load.p99]).toEqual([Number.NaN, Number.NaN]);
});

test('a lone client whose connection is lost has no figures', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).on('data', () => socket.destroy()));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = freshDirectory();
  const [part] = await prepareRequests(directory, { run: 'lost', ...PLAN });
  const { port } = server.address() as AddressInfo;
  await expect(measureOneByOne(port, part!, directory, 1, PLAN.intents, 0)).rejects.toThrow('lost');
});
