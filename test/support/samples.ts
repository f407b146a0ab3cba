/**
 * One valid record body per kind, as small as the rules allow, with the wallets it leans on made first.
 */
import { type Json, makeKeys } from './client.ts';
import { type Kit, unique } from './kit.ts';

export interface Sample {
  path: string;
  prefix: string;
  status: string;
  /** May it be dropped. */
  drop: boolean;
  data(kit: Kit): Promise<Json>;
}

/** Nobody listens there. */
export const NOWHERE = 'http://127.0.0.1:9';

export const SAMPLES: Sample[] = [
  {
    path: 'signers',
    prefix: 'snr',
    status: 'created',
    drop: false,
    data: async () => ({ handle: unique('signer'), format: 'ed25519-raw', public: makeKeys().public }),
  },
  {
    path: 'symbols',
    prefix: 'sym',
    status: 'created',
    drop: false,
    data: async () => ({ handle: unique('symbol'), factor: 100 }),
  },
  { path: 'wallets', prefix: 'wlt', status: 'created', drop: true, data: async () => ({ handle: unique('wallet') }) },
  {
    path: 'anchors',
    prefix: 'anc',
    status: 'created',
    drop: true,
    data: async (kit) => ({
      handle: unique('anchor'),
      wallet: await kit.wallet(),
      target: await kit.wallet(),
      symbol: await kit.symbol(),
    }),
  },
  {
    path: 'effects',
    prefix: 'eff',
    status: 'active',
    drop: true,
    data: async () => ({
      handle: unique('effect'),
      signal: 'policy-dropped',
      filter: { 'policy.data.handle': 'nobody' },
      action: { schema: 'webhook', endpoint: `${NOWHERE}/hook` },
    }),
  },
  {
    path: 'bridges',
    prefix: 'brg',
    status: 'created',
    drop: true,
    data: async () => ({ handle: unique('bridge'), schema: 'rest', config: { server: NOWHERE } }),
  },
  { path: 'circles', prefix: 'crc', status: 'created', drop: true, data: async () => ({ handle: unique('circle') }) },
  {
    path: 'policies',
    prefix: 'plc',
    status: 'created',
    drop: true,
    data: async () => ({ handle: unique('policy'), schema: 'access', record: 'wallet', values: [{ action: 'any' }] }),
  },
  {
    path: 'schemas',
    prefix: 'sch',
    status: 'created',
    drop: false,
    data: async () => ({
      handle: unique('schema'),
      // A kind whose records need not name a schema: the tests that share a server go on making wallets without.
      record: 'effect',
      format: 'json-schema',
      schema: { type: 'object' },
    }),
  },
];
