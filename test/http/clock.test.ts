/** The machine's clock jumps. The books' moments never go back; tokens hold by the clock as it is. */
import { expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { makeKeys, makeToken } from '../support/client.ts';

const keys = makeKeys();
const DAY_MS = 86_400_000;

const seconds = (desk: Desk) => Math.floor(desk.world.now / 1000);

function header(desk: Desk, more: object = {}): Record<string, string> {
  const iat = seconds(desk);
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat, exp: iat + 60, ...more };
  return { authorization: `Bearer ${makeToken(claims, keys)}` };
}

async function get(desk: Desk, headers: Record<string, string>): Promise<number> {
  return (await desk.get('/v2/ledger', headers)).status;
}

test('a day ahead and back: what holds is taken, what is over is not, what was used stays used', async () => {
  const desk = await Desk.open();
  const once = header(desk, { jti: 'before' });
  expect(await get(desk, once)).toBe(200);
  const before = header(desk);

  desk.world.now += DAY_MS;
  await desk.post('wallets', { handle: 'ahead' }, keys);
  expect([await get(desk, before), await get(desk, header(desk)), await get(desk, header(desk, { jti: 'x' }))]).toEqual(
    [401, 200, 200],
  );
  const ahead = header(desk);

  desk.world.now -= DAY_MS;
  expect([await get(desk, before), await get(desk, header(desk)), await get(desk, ahead)]).toEqual([200, 200, 401]);
  const after = header(desk, { jti: 'after', exp: seconds(desk) + 61 });
  expect([await get(desk, after), await get(desk, after), await get(desk, once)]).toEqual([200, 401, 401]);
  await get(desk, header(desk, { jti: 'next', exp: seconds(desk) + 299 }));
  expect([await get(desk, after), await get(desk, once)]).toEqual([401, 401]);

  const { body } = await desk.post('wallets', { handle: 'back' }, keys);
  expect(Date.parse(body.meta.moment), 'moments never go back').toBeGreaterThanOrEqual(desk.world.now + DAY_MS);
  await desk.close();
});

test('a list that was signed while the clock was ahead is signed anew when it is right again', async () => {
  const desk = await Desk.open();
  await desk.post('wallets', { handle: 'w' }, keys);
  const momentOfList = async () => Date.parse((await desk.get('/v2/wallets')).body.meta.moment);
  desk.world.now += DAY_MS;
  expect(await momentOfList()).toBe(desk.world.now);
  desk.world.now -= DAY_MS - 5;
  expect(await momentOfList()).toBe(desk.world.now);
  await desk.close();
});
