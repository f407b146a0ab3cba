/**
 * Bodies to try the interface with: signed, so that a server with an open ledger takes them as they stand. All of them
 * by one key, which anybody can make: it is for trying, and nothing that it may do is worth anything.
 */
import { Kind } from '../../core/kinds.ts';
import { canon } from '../../proof/canon.ts';
import { sha256Hex } from '../../proof/digest.ts';
import { keyPairFromSecret } from '../../proof/keys.ts';
import { Sealer } from '../../proof/sealer.ts';
import type { RouteRow } from '../paths.ts';
import { isSelected } from './names.ts';

type Data = Readonly<Record<string, unknown>>;

const SECRET_BYTES = 32;
const signer = new Sealer(keyPairFromSecret(new Uint8Array(SECRET_BYTES).fill(1)));

const person = (handle: string) => ({ handle });
const usd = { handle: 'usd' };

/** An example record of each kind. What one of them names is made by those before it. */
export const EXAMPLES: Readonly<Record<Kind, Data>> = {
  [Kind.ledger]: { handle: 'shop', access: [{ action: 'any', record: 'any' }] },
  [Kind.signer]: { handle: 'ana-key', format: 'ed25519-raw', public: signer.publicText },
  [Kind.symbol]: { handle: 'usd', factor: 100 },
  [Kind.wallet]: { handle: 'ana', custom: { name: 'Ana' } },
  [Kind.anchor]: { handle: 'ana-phone', wallet: 'ana', target: 'luz' },
  [Kind.intent]: {
    handle: 'rent-2026-01',
    claims: [
      { action: 'issue', target: person('ana'), symbol: usd, amount: 1000 },
      { action: 'transfer', source: person('ana'), target: person('luz'), symbol: usd, amount: 250 },
    ],
  },
  [Kind.effect]: {
    handle: 'tell-me',
    signal: 'intent-updated',
    filter: { 'intent.meta.status': 'rejected' },
    action: { schema: 'webhook', endpoint: 'https://app.example/events' },
  },
  [Kind.bridge]: { handle: 'bank', config: { server: 'https://bank.example/ayni' } },
  [Kind.circle]: { handle: 'tellers' },
  [Kind.policy]: {
    handle: 'tellers-read',
    schema: 'access',
    record: 'wallet',
    values: [{ action: 'read', bearer: { $signer: { $circle: 'tellers' } } }],
  },
  [Kind.schema]: { handle: 'hook', record: 'effect', format: 'json-schema', schema: { type: 'object' } },
  [Kind['circle-signer']]: { circle: 'tellers', signer: 'ana-key' },
};

const hashOf = (data: Data): string => sha256Hex(canon(data));

function proofOf(data: Data, custom: Data): unknown {
  return JSON.parse(signer.proof(hashOf(data), canon(custom)));
}

function signed(data: Data): Data {
  return { hash: hashOf(data), data, meta: { proofs: [proofOf(data, { status: 'created' })] } };
}

/** Example bodies of a route, by name; none where they would depend on the ledger. */
export function bodyExamples({ action, kind, path }: RouteRow): Readonly<Record<string, Data>> {
  const data = EXAMPLES[kind];
  const name = String(data.handle);
  switch (action) {
    case 'create': {
      // Beside the wallet of the examples, that of the payee.
      const all = kind === Kind.wallet ? [data, { handle: 'luz' }] : [data];
      return Object.fromEntries(all.map((each) => [String(each.handle), signed(each)]));
    }
    case 'update':
      return isSelected(path) ? {} : { [name]: signed({ ...data, custom: { note: 'changed' }, parent: hashOf(data) }) };
    case 'drop':
      return { [name]: signed({ parent: hashOf(data) }) };
    case 'proof':
      return isSelected(path) ? {} : { [name]: proofOf(data, SAID_OF[kind] ?? { comment: 'seen' }) as Data };
    case 'check':
      return { read: signed({ action: 'read' }) };
    case 'retry':
      return { retry: signed({ action: 'retry-event' }) };
    case 'activate':
      return { activate: signed({ action: 'activate' }) };
    case 'assign':
    case 'remove':
      return { member: signed(EXAMPLES[Kind['circle-signer']]) };
    default:
      return {};
  }
}

/** What a proof says, where it says something of its own. */
const SAID_OF: Partial<Record<Kind, Data>> = { [Kind.intent]: { action: 'commit' } };
