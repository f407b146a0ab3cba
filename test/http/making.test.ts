/** Long answers: however many are asked for at once, few of them lie in memory, whatever they wait for. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { makeKeys, record } from '../support/client.ts';

const keys = makeKeys();
const VERSIONS = 10;
const VERSION_BYTES = 900_000;
const MiB = 1024 * 1024;
let desk: Desk;

/** A wallet with long versions, and others as long. */
beforeAll(async () => {
  desk = await Desk.open();
  const custom = { text: 'x'.repeat(VERSION_BYTES) };
  let parent = '';
  for (let n = 0; n < VERSIONS; n++) {
    const body = record({ handle: 'w', custom: { ...custom, n }, ...(n > 0 && { parent }) }, keys);
    const reply = await desk.send(n === 0 ? 'POST' : 'PUT', n === 0 ? '/v2/wallets' : '/v2/wallets/w', body);
    parent = reply.body.hash;
    await desk.send('POST', '/v2/wallets', record({ handle: `other-${n}`, custom }, keys));
  }
});
afterAll(() => desk.close());

async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    if (turns > 1000) throw new Error('it does not come to that');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('while the disk takes its time', () => {
  test.each([
    ['histories', '/v2/wallets/w/changes', 10],
    ['lists', '/v2/wallets?page.limit=10', 10],
    ['records', '/v2/wallets/w', 90],
  ])('few %s are made, and all are answered afterwards', async (what, path, count) => {
    const { making, house } = desk;
    const { stats } = house.engine;
    const { batches } = stats;
    house.disk.holdSyncs();
    const written = desk.send('POST', '/v2/anchors', record({ handle: what, wallet: 'w', target: 'w' }, keys));
    await turnsUntil(() => stats.batches > batches);
    const replies = Array.from({ length: count }, () => desk.ask({ method: 'GET', path }, false));
    await turnsUntil(() => !making.hasRoom);
    let turns = 0;
    await turnsUntil(() => ++turns > 20);
    expect(making.made).toBeLessThan(75 * MiB);
    house.disk.releaseSyncs();
    for (const reply of replies) expect((await reply).status).toBe(200);
    expect((await written).status).toBe(201);
    expect(making.made).toBe(0);
  });
});
