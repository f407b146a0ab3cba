/** A disk that does not answer, over HTTP: who comes is told so, and what waits is answered when it is back. */
import { expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys } from '../support/client.ts';
import { turns } from '../support/turns.ts';

const keys = makeKeys();

test('a server whose disk does not answer is not ready, and says so to all but those who wait: /readyz was 200, and all waited', async () => {
  const desk = await Desk.open();
  const { engine, disk } = desk.house;
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  const isReady = () => desk.ask({ method: 'GET', path: '/readyz' }, false);
  expect((await post('wallets', { handle: 'a' })).status).toBe(201);
  disk.holdSyncs();
  let written: number | null = null;
  const writing = post('wallets', { handle: 'b' }).then(({ status }) => {
    written = status;
  });
  while (!engine.owesAnswers) await turns(1);
  const reading = desk.get('/v2/wallets/a');
  await turns(9);
  expect((await isReady()).status).toBe(200);
  for (let seconds = 0; seconds < 4; seconds++) engine.diskWait.look();
  const refused = [
    await isReady(),
    await desk.get('/v2/wallets/a'),
    await desk.get('/v2/head'),
    await post('wallets', { handle: 'c' }),
  ];
  for (const { status, headers, body } of refused) {
    expect([status, headers.get('retry-after'), body.data.reason]).toEqual([503, '1', 'api.unexpected-error']);
  }
  expect(written).toBe(null);
  disk.releaseSyncs();
  await writing;
  expect([written, (await reading).status]).toEqual([201, 200]);
  expect((await isReady()).status).toBe(200);
  expect((await desk.get('/v2/wallets/c')).status).toBe(404);
  expect((await post('wallets', { handle: 'c' })).status).toBe(201);
  await desk.close();
});
