/**
 * The small shapes that bodies are made of: addresses, keys, hashes, amounts, proofs, access rules.
 *
 * Patterns are single runs of one character class each, so that checking one is linear in the text. The
 * canonical forms (unused base64 bits zero, lower-case digests) are what lets the ledger keep raw bytes
 * and give the very same text back.
 */
import Type, { type TSchema } from 'typebox';
import { ACCESS_ACTIONS } from '../core/access/caller.ts';
import { ADDRESS_MAX, ADDRESS_PATTERN, HANDLE_PATTERN, LEDGER_HANDLE_MAX } from '../core/address.ts';
import { CONDITION_OPERATORS } from '../core/conditions.ts';
import { KINDS } from '../core/kinds.ts';
import { MEMBERS_MAX } from './schema-width.ts';

const PUBLIC_PATTERN = '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$';
const RESULT_PATTERN = '^[A-Za-z0-9+/]{85}[AQgw]==$';
const HASH_PATTERN = '^[A-Fa-f0-9]{64}$';
const DIGEST_PATTERN = '^[a-f0-9]{64}$';
const LUID_PATTERN = '^\\$[a-z]{3}\\.[A-Za-z0-9_-]{17}$';
const URL_PATTERN = '^https?://[^\\s/?#]+[^\\s]*$';
const HANDLE_MESSAGE = 'handle must consist of letters, digits, underscore, hyphen, plus and period';

/** What is said where a text does not match, by the pattern. */
export const PATTERN_MESSAGES: ReadonlyMap<string, string> = new Map([
  [ADDRESS_PATTERN, HANDLE_MESSAGE],
  [HANDLE_PATTERN, HANDLE_MESSAGE],
  [PUBLIC_PATTERN, 'must be the base64 form of 32 bytes'],
  [RESULT_PATTERN, 'must be the base64 form of 64 bytes'],
  [HASH_PATTERN, 'must be 64 hexadecimal digits'],
  [DIGEST_PATTERN, 'must be 64 lower-case hexadecimal digits'],
  [LUID_PATTERN, 'must be a luid'],
  [URL_PATTERN, 'must be an http or https URL'],
]);

const RULES_MAX = 1000;
const TEXT_MAX = 1024;

/** A closed object. Members wrapped in Type.Optional may be left out, all others are required. */
export function closed<T extends Record<string, TSchema>>(members: T) {
  return Type.Object(members, { additionalProperties: false });
}

export const Address = Type.String({ pattern: ADDRESS_PATTERN, maxLength: ADDRESS_MAX });
export const LedgerHandle = Type.String({ pattern: HANDLE_PATTERN, maxLength: LEDGER_HANDLE_MAX });
export const Public = Type.String({ pattern: PUBLIC_PATTERN });
export const Result = Type.String({ pattern: RESULT_PATTERN });
export const Hash = Type.String({ pattern: HASH_PATTERN });
export const Digest = Type.String({ pattern: DIGEST_PATTERN });
export const Luid = Type.String({ pattern: LUID_PATTERN });
export const Url = Type.String({ pattern: URL_PATTERN, maxLength: 2048 });
export const Text = Type.String({ maxLength: TEXT_MAX });
export const Amount = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const LimitAmount = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
/** An object of whatever the client likes. */
export const Free = Type.Object({});

/** A record named by another: `{handle, custom?}`, or the bare handle, as older clients send it. */
export const Reference = Type.Union([closed({ handle: Address, custom: Type.Optional(Free) }), Address]);

/** One signature. Closed, because a proof comes back member for member and the ledger keeps only these. */
export const Proof = closed({
  method: Type.Literal('ed25519-v2'),
  public: Public,
  digest: Digest,
  result: Result,
  custom: Type.Optional(Free),
});

const CONDITION_VALUES_MAX = 1000;
const ConditionScalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const ConditionList = Type.Array(ConditionScalar, { maxItems: CONDITION_VALUES_MAX });

/** Dotted paths, each with the value wanted there or operators on it (core/conditions.ts). */
export const Conditions = Type.Record(
  Type.String(),
  Type.Union([
    ConditionScalar,
    Type.Object(
      Object.fromEntries(
        CONDITION_OPERATORS.map((name) => [
          name,
          Type.Optional(name === '$in' || name === '$nin' ? ConditionList : ConditionScalar),
        ]),
      ),
      { additionalProperties: false, minProperties: 1 },
    ),
  ]),
  { maxProperties: MEMBERS_MAX },
);

/** A schema, or `{$in: [schema, …]}`. */
function oneOrIn(schema: TSchema) {
  return Type.Union([schema, closed({ $in: Type.Array(schema, { maxItems: RULES_MAX }) })]);
}

/** `sign` and `sign-intent` are what the public package calls rights that a proof needs. */
const ACTIONS = ['any', ...ACCESS_ACTIONS];

const KIND_NAMES = KINDS.map((kind) => kind.name);
/** `server` is what the public package calls the server's own rights. */
const ACCESS_RECORDS = ['any', 'server', ...KIND_NAMES, ...KIND_NAMES.map((name) => `${name}-proof`)];

export const Action = Type.Enum(ACTIONS);
export const AccessRecord = Type.Enum(ACCESS_RECORDS);
export const KindName = Type.Enum(KIND_NAMES);
export const KindOrAny = Type.Enum(['any', ...KIND_NAMES]);

const Signer = closed({
  handle: Type.Optional(Address),
  public: Type.Optional(Public),
  format: Type.Optional(Type.Literal('ed25519-raw')),
  custom: Type.Optional(Free),
  schema: Type.Optional(Address),
  $circle: Type.Optional(Address),
  $record: Type.Optional(Type.Literal('owner')),
  $ledger: Type.Optional(Type.Literal('owner')),
});

/** Whom a rule or a quorum means. */
export const Signers = oneOrIn(Signer);

const Bearer = closed({
  iss: Type.Optional(Text),
  sub: Type.Optional(Text),
  aud: Type.Optional(Text),
  hsh: Type.Optional(Type.Boolean()),
  $signer: Type.Optional(oneOrIn(Signer)),
});

/** Who may do what; evaluated in the core. */
export const AccessRule = Type.Union([
  closed({
    action: oneOrIn(Action),
    record: Type.Optional(AccessRecord),
    signer: Type.Optional(oneOrIn(Signer)),
    bearer: Type.Optional(oneOrIn(Bearer)),
  }),
  closed({ policy: oneOrIn(Address) }),
]);

export const Access = Type.Array(AccessRule, { maxItems: RULES_MAX });
