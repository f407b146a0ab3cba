/**
 * Paths and methods are any words a client likes; none of them reaches what JavaScript keeps on every object.
 */
import { describe, expect, test } from 'vitest';
import { ADDRESS_MAX } from '../../src/core/address.ts';
import { KINDS } from '../../src/core/kinds.ts';
import { findRoute } from '../../src/http/paths.ts';

describe('methods nobody has', () => {
  const methods = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf', 'get', 'PATCH', ''];
  const paths = ['/v2', '/v2/wallets', '/v2/wallets/w', '/v2/wallets/w/proofs', '/v2/ledger', '/v2/circles/c/signers'];

  test.each(paths)('are refused on %s', (path) => {
    for (const method of methods) expect(findRoute(method, path), method).toMatchObject({ status: 405 });
  });
});

test('an intent alone is signed under that name too', () => {
  for (const { path, name } of KINDS.filter(({ path }) => path !== '')) {
    const signed = findRoute('POST', `/v2/${path}/r/sign`);
    if (name === 'intent') expect(signed).toEqual(findRoute('POST', '/v2/intents/r/proofs'));
    else expect(signed, name).toMatchObject({ reason: 'api.route-not-found' });
  }
});

test.each([
  'x/v2/wallets',
  '/v1/wallets',
  '/v2/wallets/w/changes/1/2',
  '/v2/constructor',
  '/v2/__proto__',
  '/v2/wallets/w/constructor',
  '/v2/wallets/w/toString',
])('there is nothing at %s', (path) => {
  expect(findRoute('GET', path)).toMatchObject({ reason: 'api.route-not-found' });
  expect(findRoute('constructor', path)).toMatchObject({ reason: 'api.route-not-found' });
});

test('a slash at the end counts for nothing, but an empty name is not answered with the list', () => {
  for (const path of ['/v2', '/v2/wallets/w', '/v2/wallets/w/balances', '/v2/ledger']) {
    expect(findRoute('GET', `${path}/`), path).toEqual(findRoute('GET', path));
  }
  for (const { path } of KINDS.filter(({ path }) => path !== '')) {
    expect(findRoute('GET', `/v2/${path}`), path).toMatchObject({ action: 'list' });
    expect(findRoute('GET', `/v2/${path}/`), path).toMatchObject({ reason: 'api.route-not-found' });
    expect(findRoute('POST', `/v2/${path}/`), path).toMatchObject({ action: 'create' });
  }
});

test('two ids as long as any, each of their characters encoded, are found; a longer path leads nowhere', () => {
  const id = '%61'.repeat(ADDRESS_MAX);
  const found = { action: 'remove', id: 'a'.repeat(ADDRESS_MAX), tail: 'a'.repeat(ADDRESS_MAX) };
  expect(findRoute('DELETE', `/v2/circles/${id}/signers/${id}`)).toMatchObject(found);
  const digits = (chars: number) => `/v2/wallets/w/changes/${'1'.repeat(chars)}`;
  expect(findRoute('GET', digits(1000))).toMatchObject({ action: 'change' });
  for (const method of ['GET', 'PATCH']) {
    expect(findRoute(method, digits(60_000))).toMatchObject({ reason: 'api.route-not-found' });
  }
});
