/**
 * The `data` of each kind of record, and of the bodies beside them, as closed objects.
 *
 * `parent` is nowhere required: an update or drop without it is a wrong parent, which is told as
 * `crypto.parent-hash-invalid` where the current hash is known, not as a wrong shape.
 */
import Type, { type TSchema } from 'typebox';
import { Kind } from '../core/kinds.ts';
import { LabelValue, StatusValue } from './schema-policies.ts';
import {
  Access,
  AccessRecord,
  AccessRule,
  Action,
  Address,
  Amount,
  Conditions,
  closed,
  Free,
  Hash,
  KindName,
  KindOrAny,
  LedgerHandle,
  LimitAmount,
  Public,
  Reference,
  Text,
  Url,
} from './schema-shapes.ts';

const LIST_MAX = 1000;
const SECRET_LENGTH_MAX = 4096;
const EXPIRY_MINUTES_MAX = 5_256_000;
const FACTORS = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** What `data` of every kind may carry beside its handle. */
const COMMON = {
  handle: Address,
  schema: Type.Optional(Address),
  custom: Type.Optional(Free),
  access: Type.Optional(Access),
  parent: Type.Optional(Hash),
};

/** Claims by action. A new action is one row. */
export const CLAIMS: Readonly<Record<string, TSchema>> = {
  transfer: closed({
    action: Type.Literal('transfer'),
    source: Reference,
    target: Reference,
    symbol: Reference,
    amount: Amount,
  }),
  issue: closed({ action: Type.Literal('issue'), target: Reference, symbol: Reference, amount: Amount }),
  destroy: closed({ action: Type.Literal('destroy'), source: Reference, symbol: Reference, amount: Amount }),
  limit: closed({
    action: Type.Literal('limit'),
    wallet: Reference,
    symbol: Reference,
    metric: Type.Enum(['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount']),
    amount: LimitAmount,
  }),
};

const KIND_SIGNALS = Object.keys(Kind).flatMap((kind) =>
  ['created', 'updated', 'proofs-added', 'dropped'].map((end) => `${kind}-${end}`),
);
/** The two of bridge entries are named by the public package; nothing sends them. */
const SIGNALS = [...KIND_SIGNALS, 'balance-received', 'wallet-limited', 'bridge-entry-created', 'bridge-entry-updated'];

const Route = closed({
  action: Type.Enum(['forward', 'accept', 'debit', 'credit']),
  target: Type.Optional(Address),
  filter: Type.Optional(Conditions),
});

/** By which members of claims their sides share a leg. */
const GroupBy = Type.Array(Type.Enum(['source', 'target', 'symbol']), { maxItems: 3 });

const Secret = Type.String({ maxLength: SECRET_LENGTH_MAX });
const CREDENTIALS = {
  schema: Type.Literal('oauth2'),
  clientId: Type.String({ minLength: 1, maxLength: SECRET_LENGTH_MAX }),
  clientSecret: Type.String({ minLength: 1, maxLength: SECRET_LENGTH_MAX }),
  scope: Type.Optional(Text),
  audience: Type.Optional(Text),
};
/**
 * What bridges are called with; rules of other schemas are kept, and passed over. A rule of credentials may say more
 * to other programs, but must say what it takes to get a token.
 */
const Secure = Type.Union([
  closed({ schema: Type.Literal('header'), key: Text, value: Secret }),
  Type.Object({ ...CREDENTIALS, tokenUrl: Url }),
  Type.Object({ ...CREDENTIALS, url: Url }),
  closed({ schema: Text, public: Text, secret: Secret }),
]);

const EffectAction = Type.Union([
  closed({ schema: Address, bridge: Address }),
  closed({ schema: Type.Literal('webhook'), endpoint: Url }),
]);

const policy = (schema: string, record: TSchema, value: TSchema) =>
  closed({
    ...COMMON,
    schema: Type.Literal(schema),
    record,
    values: Type.Array(value, { maxItems: LIST_MAX }),
    extend: Type.Optional(Type.Union([Address, Type.Array(Address, { maxItems: LIST_MAX })])),
    filter: Type.Optional(Free),
  });

/** data of `POST /circles/{id}/signers`, and of taking the signer out again. */
export const CircleSignerData = closed({ circle: Address, signer: Address, custom: Type.Optional(Free) });

/**
 * data by kind, for create and update alike. `claimsMax` bounds an intent's claims; each claim's own
 * shape stands in CLAIMS and is checked apart, because one look at its action finds the right one.
 */
export function kindSchemas(claimsMax: number): Readonly<Record<Kind, TSchema>> {
  return {
    [Kind.ledger]: closed({
      ...COMMON,
      handle: LedgerHandle,
      signer: Type.Optional(Address),
      config: Type.Optional(
        closed({
          'intent.expiryThresholdMinutes': Type.Optional(Type.Integer({ minimum: 1, maximum: EXPIRY_MINUTES_MAX })),
          'anchor.walletRequired': Type.Optional(Type.Boolean()),
          'access.strategy': Type.Optional(Type.Enum(['record-based', 'policy-based'])),
        }),
      ),
    }),
    [Kind.signer]: closed({
      ...COMMON,
      public: Public,
      format: Type.Literal('ed25519-raw'),
      secret: Type.Optional(Type.String({ maxLength: SECRET_LENGTH_MAX })),
    }),
    [Kind.symbol]: closed({ ...COMMON, factor: Type.Enum(FACTORS) }),
    [Kind.wallet]: closed({
      ...COMMON,
      bridge: Type.Optional(Address),
      routes: Type.Optional(Type.Array(Route, { maxItems: LIST_MAX })),
    }),
    [Kind.anchor]: closed({ ...COMMON, wallet: Address, target: Address, symbol: Type.Optional(Address) }),
    [Kind.intent]: closed({
      ...COMMON,
      claims: Type.Array(Type.Unknown(), { minItems: 1, maxItems: claimsMax }),
      config: Type.Optional(closed({ commit: Type.Optional(Type.Enum(['auto', 'manual'])) })),
      origin: Type.Optional(Address),
    }),
    [Kind.effect]: closed({
      ...COMMON,
      signal: Type.Enum(SIGNALS),
      filter: Type.Optional(Conditions),
      action: EffectAction,
    }),
    [Kind.bridge]: closed({
      ...COMMON,
      config: Type.Object({
        server: Url,
        'debits.claims.groupBy': Type.Optional(GroupBy),
        'credits.claims.groupBy': Type.Optional(GroupBy),
      }),
      secure: Type.Optional(Type.Array(Secure, { maxItems: LIST_MAX })),
      traits: Type.Optional(Type.Array(Text, { maxItems: LIST_MAX })),
    }),
    [Kind.circle]: closed(COMMON),
    [Kind.policy]: Type.Union([
      policy('access', AccessRecord, AccessRule),
      policy('status', KindOrAny, StatusValue),
      policy('labels', KindOrAny, LabelValue),
    ]),
    [Kind.schema]: closed({ ...COMMON, record: KindName, format: Type.Literal('json-schema'), schema: Free }),
    [Kind['circle-signer']]: CircleSignerData,
  };
}

/** data of a drop. The address says which record, so `handle` is only accepted, not needed. */
export const DropData = closed({ parent: Type.Optional(Hash), handle: Type.Optional(Address) });

/** data of `POST …/access/!check`. */
export const CheckData = closed({ action: Action, record: Type.Optional(AccessRecord) });
