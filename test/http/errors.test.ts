/** Refusals: each reason has a row, and its body is a signed canonical record. */
import { describe, expect, test } from 'vitest';
import { refuse as coreRefuse } from '../../src/core/refusal.ts';
import {
  errorBody,
  headersOf,
  REASONS,
  type Reason,
  refuse,
  refuseBodySize,
  refuseMethod,
  refuseUnavailable,
  statusOf,
} from '../../src/http/errors.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigestHex, sha256Hex } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';

const sealer = new Sealer(createKeyPair());

describe('statuses', () => {
  test.each([
    ['api.body-malformed', 400],
    ['api.query-malformed', 400],
    ['auth.unauthorized', 401],
    ['auth.forbidden', 403],
    ['record.not-found', 404],
    ['api.route-not-found', 404],
    ['api.request-timeout', 408],
    ['record.duplicated', 409],
    ['record.schema-invalid', 422],
    ['record.relation-not-found', 422],
    ['record.invalid', 422],
    ['record.drop-rejected', 422],
    ['record.status-policy-violation', 422],
    ['crypto.hash-invalid', 422],
    ['crypto.parent-hash-invalid', 422],
    ['crypto.signature-invalid', 422],
    ['crypto.signature-missing', 422],
    ['api.no-tenant-allowed', 422],
    ['api.rate-limit-exceeded', 429],
    ['api.unexpected-error', 500],
  ])('%s is %i', (reason, status) => {
    expect(statusOf(refuse(reason as Reason, 'x'))).toBe(status);
    expect(Object.keys(REASONS)).toContain(reason);
  });

  test('every reason has a row above', () => expect(Object.keys(REASONS).length).toBe(20));

  test.each([
    ['a body too large', refuseBodySize(10), 413, 'api.body-malformed', []],
    ['another method', refuseMethod(['GET', 'PUT']), 405, 'api.route-not-found', [['allow', 'GET, PUT']]],
    ['a stopping server', refuseUnavailable('stopping'), 503, 'api.unexpected-error', [['retry-after', '1']]],
    ['a rate', refuse('api.rate-limit-exceeded', 'x'), 429, 'api.rate-limit-exceeded', [['retry-after', '1']]],
    ['what the core says', coreRefuse('auth.forbidden', 'x'), 403, 'auth.forbidden', []],
    ['a reason without a row', coreRefuse('core.whatever', 'x'), 500, 'core.whatever', []],
    ['a reason named like a prototype', coreRefuse('constructor', 'x'), 500, 'constructor', []],
  ])('%s', (_, refusal, status, reason, headers) => {
    expect([statusOf(refusal), refusal.reason, headersOf(refusal)]).toEqual([status, reason, headers]);
  });
});

test('a 401 says how somebody may say who they are', () => {
  expect(headersOf(refuse('auth.unauthorized', 'no'))).toEqual([['www-authenticate', 'Bearer']]);
  expect(headersOf(refuse('auth.forbidden', 'no'))).toEqual([]);
});

describe('bodies', () => {
  test('canonical, hashed over data, signed with the moment', () => {
    const text = errorBody(refuse('record.not-found', 'Wallet not found'), Date.UTC(2030, 0, 2), sealer);
    const body = JSON.parse(text);
    expect(text).toBe(canon(body));
    expect(body.data).toEqual({ reason: 'record.not-found', detail: 'Wallet not found' });
    expect(body.hash).toBe('1a43d0d416037c8a79cac2e46cd1c5c16be619c016fceb08bbd9874a81952860');
    const moment = '2030-01-02T00:00:00.000Z';
    const [{ result: _, ...proof }] = body.meta.proofs;
    expect(proof).toEqual({
      custom: { moment },
      digest: proofDigestHex(body.hash, canon({ moment })),
      method: 'ed25519-v2',
      public: sealer.publicText,
    });
    expect(body.meta).toEqual({ moment, proofs: [body.meta.proofs[0]] });
  });

  test('the same again in the same moment is the same, and nothing else is', () => {
    const [full, other] = [refuse('api.rate-limit-exceeded', 'full'), refuse('api.rate-limit-exceeded', 'other')];
    const another = new Sealer(createKeyPair());
    const text = errorBody(full, 1000, sealer);
    expect(errorBody(full, 1000, sealer)).toBe(text);
    for (const [refusal, moment, by] of [
      [other, 1000, sealer],
      [full, 1001, sealer],
      [full, 1000, another],
    ] as const) {
      expect(errorBody(refusal, moment, by)).not.toBe(text);
      expect(errorBody(full, 1000, sealer)).toBe(text);
    }
  });

  test('custom is in data and in the hash; status and headers are not', () => {
    const refusal = {
      ...refuse('record.duplicated', 'taken', { luid: '$wlt.x', hash: 'h' }),
      status: 409,
      headers: [],
    };
    const body = JSON.parse(errorBody(refusal, 0, sealer));
    expect(Object.keys(body.data)).toEqual(['custom', 'detail', 'reason']);
    expect(body.hash).toBe(sha256Hex(canon(body.data)));
  });
});
