/**
 * The small shapes that bodies are made of: addresses, keys, hashes, amounts, proofs, access rules.
 *
 * Patterns are single runs of one character class each, none beside another that could take the same characters: so
 * checking one is linear in the text, which may be as long as a body, since the longest is asked for last. The
 * canonical forms (unused base64 bits zero, lower-case digests) are what lets the ledger keep raw bytes
 * and give the very same text back.
 */
import { ACCESS_ACTIONS } from '../core/access/caller.ts';
import { ADDRESS_MAX, ADDRESS_PATTERN, DOTS, HANDLE_PATTERN, LEDGER_HANDLE_MAX } from '../core/address.ts';
import { CONDITION_OPERATORS } from '../core/conditions.ts';
import { KINDS } from '../core/kinds.ts';
import { HEADER_NAME_PATTERN, HEADER_VALUE_PATTERN } from '../effects/header-text.ts';
import { MEMBERS_MAX } from './schema-width.ts';
import {
  among,
  anyOf,
  array,
  boolean,
  closed,
  constant,
  integer,
  map,
  number,
  object,
  optional,
  type Schema,
  text,
} from './schema-words.ts';

const PUBLIC_PATTERN = '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$';
const RESULT_PATTERN = '^[A-Za-z0-9+/]{85}[AQgw]==$';
const HASH_PATTERN = '^[A-Fa-f0-9]{64}$';
const DIGEST_PATTERN = '^[a-f0-9]{64}$';
const LUID_PATTERN = '^\\$[a-z]{3}\\.[A-Za-z0-9_-]{17}$';
const URL_PATTERN = '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#][^\\s]*$';
/** A day, or a moment as records carry it. */
const MOMENT_PATTERN = '^\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z)?$';
/** Of one that paths are put behind. */
const SERVER_PATTERN = '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#][^\\s?#]*$';
export const HANDLE_MESSAGE = 'handle must consist of letters, digits, underscore, hyphen, plus and period';

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
  [MOMENT_PATTERN, 'must be a day, 2026-11-28, or a moment as records carry it, 2026-11-28T09:30:00.000Z'],
  [SERVER_PATTERN, 'must be an http or https URL without ? and #: paths are put behind it'],
  [HEADER_NAME_PATTERN, 'must be the name of a header, and of none that frames a message or says where it goes'],
  [HEADER_VALUE_PATTERN, 'must be what a header may hold: no line ends, and nothing beyond Latin-1'],
]);

const RULES_MAX = 1000;
const TEXT_MAX = 1024;
/** Of credentials. */
export const SECRET_LENGTH_MAX = 4096;

export const Address = text({ pattern: ADDRESS_PATTERN, maxLength: ADDRESS_MAX });
/** What something new may be called. */
export const Handle = text({ pattern: ADDRESS_PATTERN, maxLength: ADDRESS_MAX, not: among(DOTS) });
export const LedgerHandle = text({ pattern: HANDLE_PATTERN, maxLength: LEDGER_HANDLE_MAX, not: among(DOTS) });
export const Public = text({ pattern: PUBLIC_PATTERN });
export const Result = text({ pattern: RESULT_PATTERN });
export const Hash = text({ pattern: HASH_PATTERN });
export const Digest = text({ pattern: DIGEST_PATTERN });
export const Luid = text({ pattern: LUID_PATTERN });
export const Url = text({ pattern: URL_PATTERN, format: 'uri', maxLength: 2048 });
export const ServerUrl = text({ pattern: SERVER_PATTERN, format: 'uri', maxLength: 2048 });
export const HeaderName = text({ pattern: HEADER_NAME_PATTERN, maxLength: TEXT_MAX });
export const HeaderValue = text({ pattern: HEADER_VALUE_PATTERN, maxLength: SECRET_LENGTH_MAX });
export const Text = text({ maxLength: TEXT_MAX });
export const Amount = integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const LimitAmount = integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
/** An object of whatever the client likes. */
export const Free = object({});

/** A record named by another: `{handle, custom?}`, or the bare handle, as older clients send it. */
export const Reference = anyOf([closed({ handle: Address, custom: optional(Free) }), Address]);

/** One signature. Closed, because a proof comes back member for member and the ledger keeps only these. */
export const Proof = closed({
  method: constant('ed25519-v2'),
  public: Public,
  digest: Digest,
  result: Result,
  custom: optional(Free),
});

export const KIND_NAMES = KINDS.map((kind) => kind.name);

const CONDITION_VALUES_MAX = 1000;

/** A value that is wanted, or operators on such values. */
function conditionOn(scalar: Schema): Schema {
  const list = array(scalar, { maxItems: CONDITION_VALUES_MAX });
  const operand = (name: string) => optional(name === '$in' || name === '$nin' ? list : scalar);
  const operators = Object.fromEntries(CONDITION_OPERATORS.map((name) => [name, operand(name)]));
  return anyOf([scalar, closed(operators, { minProperties: 1 })]);
}

const Condition = conditionOn(anyOf([text(), number, boolean]));
/**
 * What is kept is compared as it is, letter by letter: another form of a moment, or a number, would let everything
 * pass, or nothing.
 */
const MomentCondition = conditionOn(text({ pattern: MOMENT_PATTERN }));

/**
 * Dotted paths of this pattern, each with the value wanted there or operators on it (core/conditions.ts). One that
 * leads nowhere would be met by no record: a policy would leave all of them free, a route pass on to the next.
 */
const conditions = (paths: string, moments: readonly string[] = []) => {
  const known = Object.fromEntries(moments.map((path) => [path, optional(MomentCondition)]));
  return map(paths, Condition, known, { maxProperties: MEMBERS_MAX });
};

/** Members behind others: none of them is without a name. */
const BEHIND = '(?:\\.[^.]+)+';
/** Into a record. */
export const RecordConditions = conditions(`^(?:data${BEHIND}|meta\\.(?:status|moment|labels))$`, ['meta.moment']);
const INTENT_MEMBERS = 'handle|schema|claims|custom|config|access|origin';
/** Into a claim, and the data of the intent that it is of. */
export const ClaimConditions = conditions(
  `^(?:action|amount|(?:source|target|symbol)(?:\\.handle|\\.custom${BEHIND})?|intent\\.(?:${INTENT_MEMBERS})(?:${BEHIND})?)$`,
);
/** Into the data of an event: what it is, and records. */
export const EventConditions = conditions(
  `^(?:handle|signal|amount|metric|proofs${BEHIND}|(?:${KIND_NAMES.join('|')})(?:\\.(?:data|meta)${BEHIND}|\\.(?:hash|luid))?)$`,
  KIND_NAMES.map((name) => `${name}.meta.moment`),
);

function oneOrIn(schema: Schema) {
  return anyOf([schema, closed({ $in: array(schema, { maxItems: RULES_MAX }) })]);
}

/** `sign` and `sign-intent` are what the public package calls rights that a proof needs. */
const ACTIONS = ['any', ...ACCESS_ACTIONS];

/** `server` is what the public package calls the server's own rights. */
const ACCESS_RECORDS = ['any', 'server', ...KIND_NAMES, ...KIND_NAMES.map((name) => `${name}-proof`)];

export const Action = among(ACTIONS);
export const AccessRecord = among(ACCESS_RECORDS);
export const KindName = among(KIND_NAMES);
export const KindOrAny = among(['any', ...KIND_NAMES]);

export const Signer = closed({
  handle: optional(Address),
  public: optional(Public),
  format: optional(constant('ed25519-raw')),
  custom: optional(Free),
  schema: optional(Address),
  $circle: optional(Address),
  $record: optional(constant('owner')),
  $ledger: optional(constant('owner')),
});

/** Whom a rule or a quorum means. */
export const Signers = oneOrIn(Signer);

export const Bearer = closed({
  iss: optional(Text),
  sub: optional(Text),
  aud: optional(Text),
  hsh: optional(boolean),
  $signer: optional(oneOrIn(Signer)),
});

/** Who may do what; evaluated in the core. */
export const AccessRule = anyOf([
  closed({
    action: oneOrIn(Action),
    record: optional(AccessRecord),
    signer: optional(oneOrIn(Signer)),
    bearer: optional(oneOrIn(Bearer)),
  }),
  closed({ policy: oneOrIn(Address) }),
]);

export const Access = array(AccessRule, { maxItems: RULES_MAX });
