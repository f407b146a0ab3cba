/** What a request with a token that is good only once holds in memory, until the disk knows that the token is used. */
import { expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { makeKeys, makeToken } from '../support/client.ts';
import { reasonOf } from '../support/kit.ts';
import { turns } from '../support/turns.ts';

const keys = makeKeys();

test('bodies that come with such tokens are let in a few at a time, as others are', async () => {
  const desk = await Desk.open();
  const { engine, disk } = desk.house;
  const iat = Math.floor(desk.world.now / 1000);
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat, exp: iat + 60 };
  const custom = { text: 'x'.repeat(500_000) };
  disk.holdSyncs();
  const replies = Array.from({ length: 40 }, (_, n) => {
    const authorization = `Bearer ${makeToken({ ...claims, jti: `once-${n}` }, keys)}`;
    return desk.post('wallets', { handle: `w-${n}`, custom }, keys, { authorization });
  });
  expect(engine.isOpen).toBe(false);
  await turns(100);
  expect(engine.isOpen, 'nor are more let in once their tokens are verified').toBe(false);
  disk.releaseSyncs();
  expect(new Set((await Promise.all(replies)).map(({ status }) => status))).toEqual(new Set([201]));
  expect(engine.stats.waited).toBeGreaterThan(20);
  expect([engine.waiting, engine.isOpen]).toEqual([0, true]);
  await desk.close();
});

test('such a token is good until its last second is over, and once until then', async () => {
  const desk = await Desk.open();
  const exp = Math.floor(desk.world.now / 1000) + 60;
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat: exp - 60, exp };
  const ask = async (jti: string) => {
    const authorization = `Bearer ${makeToken({ ...claims, jti }, keys)}`;
    return (await desk.ask({ method: 'GET', path: '/v2/wallets', headers: { authorization } })).status;
  };
  expect([await ask('early'), await ask('early')]).toEqual([200, 401]);
  desk.world.now = exp * 1000 + 999;
  expect([await ask('late'), await ask('late'), await ask('early')]).toEqual([200, 401, 401]);
  desk.world.now++;
  expect(await ask('too late')).toBe(401);
  await desk.close();
});

test('that such a token is used up is not told before the disk knows it', async () => {
  const desk = await Desk.open();
  const iat = Math.floor(desk.world.now / 1000);
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat, exp: iat + 60, jti: 'once' };
  const headers = { authorization: `Bearer ${makeToken(claims, keys)}` };
  const told: number[] = [];
  const ask = async () => void told.push((await desk.get('/v2/wallets', headers)).status);
  desk.house.disk.holdSyncs();
  const answers = [ask()];
  await turns();
  answers.push(ask());
  await turns();
  expect(told).toEqual([]);
  desk.house.disk.releaseSyncs();
  await Promise.all(answers);
  expect(told.sort()).toEqual([200, 401]);
  await desk.close();
});

test('reads with such tokens are written down, and so have no place where writes have none; others are served', async () => {
  const desk = await Desk.open({}, { inboxMax: 1 });
  const iat = Math.floor(desk.world.now / 1000);
  const once = (jti: string) => {
    const claims = { iss: 'me', sub: 'me', aud: 'main', iat, exp: iat + 60, jti };
    return { authorization: `Bearer ${makeToken(claims, keys)}` };
  };
  desk.house.disk.holdSyncs();
  const written = desk.post('wallets', { handle: 'w' }, keys);
  await turns();
  expect(desk.house.engine.overload()).not.toBeNull();
  expect(reasonOf(await desk.get('/v2/wallets/w', once('early')))).toEqual([429, 'api.rate-limit-exceeded']);
  const read = desk.get('/v2/wallets/w');
  desk.house.disk.releaseSyncs();
  expect([(await written).status, (await read).status]).toEqual([201, 200]);
  expect((await desk.get('/v2/wallets/w', once('early'))).status, 'nor was it used up').toBe(200);
  await desk.close();
});
