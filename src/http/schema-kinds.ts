/**
 * The `data` of each kind of record, and of the bodies beside them, as closed objects.
 *
 * `parent` is nowhere required: an update or drop without it is a wrong parent, which is told as
 * `crypto.parent-hash-invalid` where the current hash is known, not as a wrong shape.
 */
import { Kind } from '../core/kinds.ts';
import {
  Access,
  AccessRecord,
  AccessRule,
  Action,
  Address,
  Amount,
  ClaimConditions,
  EventConditions,
  Free,
  Handle,
  Hash,
  HeaderName,
  HeaderValue,
  KIND_NAMES,
  KindName,
  KindOrAny,
  LedgerHandle,
  LimitAmount,
  Public,
  RecordConditions,
  Reference,
  SECRET_LENGTH_MAX,
  ServerUrl,
  Signers,
  Text,
  Url,
} from './schema-shapes.ts';
import {
  among,
  anyOf,
  array,
  boolean,
  closed,
  constant,
  integer,
  type Members,
  object,
  optional,
  type Schema,
  text,
} from './schema-words.ts';

const LIST_MAX = 1000;
const EXPIRY_MINUTES_MAX = 5_256_000;
const FACTORS = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** What `data` of every kind may carry beside its handle. */
const COMMON = {
  handle: Handle,
  schema: optional(Address),
  custom: optional(Free),
  access: optional(Access),
  parent: optional(Hash),
};

/** Any claim, where those of an intent are looked at as one list: which of CLAIMS it must be, its action says. */
export const AnyClaim: Schema = {};

/** Claims by action. A new action is one row. */
export const CLAIMS: Readonly<Record<string, Schema>> = {
  transfer: closed({
    action: constant('transfer'),
    source: Reference,
    target: Reference,
    symbol: Reference,
    amount: Amount,
  }),
  issue: closed({ action: constant('issue'), target: Reference, symbol: Reference, amount: Amount }),
  destroy: closed({ action: constant('destroy'), source: Reference, symbol: Reference, amount: Amount }),
  limit: closed({
    action: constant('limit'),
    wallet: Reference,
    symbol: Reference,
    metric: among(['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount']),
    amount: LimitAmount,
  }),
};

const KIND_SIGNALS = Object.keys(Kind).flatMap((kind) =>
  ['created', 'updated', 'proofs-added', 'dropped'].map((end) => `${kind}-${end}`),
);
/** The two of bridge entries are named by the public package; nothing sends them. */
export const SIGNALS = [
  ...KIND_SIGNALS,
  'balance-received',
  'wallet-limited',
  'bridge-entry-created',
  'bridge-entry-updated',
];

export const Signal = among(SIGNALS);

export const Route = closed({
  action: among(['forward', 'accept', 'debit', 'credit']),
  target: optional(Address),
  filter: optional(ClaimConditions),
});

/** By which members of claims their sides share a leg. */
const GroupBy = array(among(['source', 'target', 'symbol']), { maxItems: 3 });

const Secret = text({ maxLength: SECRET_LENGTH_MAX });
const CREDENTIALS = {
  schema: constant('oauth2'),
  clientId: text({ minLength: 1, maxLength: SECRET_LENGTH_MAX }),
  clientSecret: text({ minLength: 1, maxLength: SECRET_LENGTH_MAX }),
  scope: optional(Text),
  audience: optional(Text),
};
/**
 * What bridges are called with; rules of other schemas are kept, and passed over. A rule of credentials may say more
 * to other programs, but must say what it takes to get a token.
 */
export const Secure = anyOf([
  closed({ schema: constant('header'), key: HeaderName, value: HeaderValue }),
  object({ ...CREDENTIALS, tokenUrl: Url }),
  object({ ...CREDENTIALS, url: Url }),
  closed({ schema: Text, public: Text, secret: Secret }),
]);

export const EffectAction = anyOf([
  closed({ schema: constant('webhook'), endpoint: Url }),
  closed({ schema: Address, bridge: Address }),
]);

/*
 * What policies of statuses and labels hold in `values`.
 *
 * Status: `{status, from?, signer?}` or `{status, from?, quorum?}`: this status may be set on records of the kind (from
 * one of these statuses only, where `from` is there) by a key that `signer` fits (a matcher as in access rules, or
 * `{$in: […]}`; without one, any key); with a quorum once each of its lines, `{signer, count?}`, has `count` distinct
 * keys, 1 where it does not say, and no key counts twice.
 *
 * Label: `{label, unique?}` with `signer?` or `quorum?` as above, or the bare label, which any key may put on. It is
 * put on by a proof with `custom.labels: [label]` and taken away with `["-label"]`, by the same signers. `unique`: at
 * most one live record of the ledger and kind has it.
 *
 * Both count for the kind that `record` names, or all with `any`, and where there is a `filter`, for records it passes.
 */

/** Distinct keys that one line of a quorum may ask for, lines of a quorum, statuses it may follow. */
const COUNT_MAX = 16;
const LINES_MAX = 8;
const FROM_MAX = 100;

const Status = text({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.+-]*$', maxLength: 32 });
/** Does not begin with the sign that takes it away. */
const Label = text({ pattern: '^[A-Za-z0-9_+.:][A-Za-z0-9_+.:-]*$', maxLength: 64 });

const Quorum = array(closed({ signer: Signers, count: optional(integer({ minimum: 1, maximum: COUNT_MAX })) }), {
  minItems: 1,
  maxItems: LINES_MAX,
});

const byQuorum = (members: Members) =>
  anyOf([closed({ ...members, signer: optional(Signers) }), closed({ ...members, quorum: optional(Quorum) })]);

export const StatusValue = byQuorum({
  status: Status,
  from: optional(array(Status, { minItems: 1, maxItems: FROM_MAX })),
});

export const LabelValue = anyOf([byQuorum({ label: Label, unique: optional(boolean) }), Label]);

const policy = (schema: string, record: Schema, value: Schema) =>
  closed({
    ...COMMON,
    schema: constant(schema),
    record,
    values: array(value, { maxItems: LIST_MAX }),
    extend: optional(anyOf([Address, array(Address, { maxItems: LIST_MAX })])),
    // One that cannot be read is met by no record: a status policy with it would leave all of them free.
    filter: optional(RecordConditions),
  });

/** data of `POST /circles/{id}/signers`, and of taking the signer out again. */
export const CircleSignerData = closed({ circle: Address, signer: Address, custom: optional(Free) });

/**
 * data by kind, for create and update alike. `claimsMax` bounds an intent's claims; each claim's own
 * shape stands in CLAIMS and is checked apart, because one look at its action finds the right one.
 */
export function kindSchemas(claimsMax: number): Readonly<Record<Kind, Schema>> {
  return {
    [Kind.ledger]: closed({
      ...COMMON,
      handle: LedgerHandle,
      signer: optional(Address),
      config: optional(
        closed({
          'intent.expiryThresholdMinutes': optional(integer({ minimum: 1, maximum: EXPIRY_MINUTES_MAX })),
          'anchor.walletRequired': optional(boolean),
          'access.strategy': optional(among(['record-based', 'policy-based'])),
        }),
      ),
    }),
    [Kind.signer]: closed({
      ...COMMON,
      public: Public,
      format: constant('ed25519-raw'),
      secret: optional(text({ maxLength: SECRET_LENGTH_MAX })),
    }),
    [Kind.symbol]: closed({ ...COMMON, factor: among(FACTORS) }),
    [Kind.wallet]: closed({
      ...COMMON,
      bridge: optional(Address),
      routes: optional(array(Route, { maxItems: LIST_MAX })),
    }),
    [Kind.anchor]: closed({ ...COMMON, wallet: Address, target: Address, symbol: optional(Address) }),
    [Kind.intent]: closed({
      ...COMMON,
      claims: array(AnyClaim, { minItems: 1, maxItems: claimsMax }),
      config: optional(closed({ commit: optional(among(['auto', 'manual'])) })),
      origin: optional(Address),
    }),
    [Kind.effect]: closed({
      ...COMMON,
      signal: Signal,
      filter: optional(EventConditions),
      action: EffectAction,
    }),
    [Kind.bridge]: closed({
      ...COMMON,
      config: object({
        server: ServerUrl,
        'debits.claims.groupBy': optional(GroupBy),
        'credits.claims.groupBy': optional(GroupBy),
      }),
      secure: optional(array(Secure, { maxItems: LIST_MAX })),
      traits: optional(array(Text, { maxItems: LIST_MAX })),
    }),
    [Kind.circle]: closed(COMMON),
    [Kind.policy]: anyOf([
      policy('access', AccessRecord, AccessRule),
      // What an intent's status is follows from what becomes of it: nobody gives it one, and no policy would be asked.
      policy('status', among(['any', ...KIND_NAMES.filter((name) => name !== 'intent')]), StatusValue),
      policy('labels', KindOrAny, LabelValue),
    ]),
    [Kind.schema]: closed({ ...COMMON, record: KindName, format: constant('json-schema'), schema: Free }),
    [Kind['circle-signer']]: CircleSignerData,
  };
}

/** data of a drop. The address says which record, so `handle` is not needed; where it is there, it is that record's. */
export const DropData = closed({ parent: optional(Hash), handle: optional(Address) });

/** data of `POST …/access/!check`. */
export const CheckData = closed({ action: Action, record: optional(AccessRecord) });
