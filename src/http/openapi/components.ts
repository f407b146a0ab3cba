/**
 * The schemas of the description. Those of requests are the very ones by which bodies are checked, only written out: a
 * shape that has a name here is referred to wherever the check uses it. Those of answers are put together from the same
 * data and the envelopes around it.
 *
 * Answers may have further members: a later version may tell more, and a client that was made from this description
 * must not break on it.
 */
import { METRICS } from '../../core/balances.ts';
import { INTENT_STATUSES } from '../../core/entry.ts';
import { KINDS, type Kind } from '../../core/kinds.ts';
import { REASONS } from '../errors.ts';
import { AnyClaim, CLAIMS, EffectAction, LabelValue, Route, Secure, Signal, StatusValue } from '../schema-kinds.ts';
import {
  Access,
  AccessRecord,
  AccessRule,
  Action,
  Address,
  Amount,
  Bearer,
  ClaimConditions,
  Digest,
  EventConditions,
  Handle,
  Hash,
  KindName,
  LedgerHandle,
  LimitAmount,
  Luid,
  Proof,
  Public,
  RecordConditions,
  Reference,
  Result,
  ServerUrl,
  Signer,
  Url,
} from '../schema-shapes.ts';
import {
  among,
  anyOf,
  array,
  boolean,
  integer,
  type Members,
  object,
  optional,
  type Schema,
  text,
} from '../schema-words.ts';
import type { BodySchemas } from '../schemas.ts';
import { pascal, ref, singularOf } from './names.ts';
import { DATA_MEMBERS, MEMBERS, SHAPES } from './shape-texts.ts';

const NAMED: Readonly<Record<string, Schema>> = {
  Address,
  Handle,
  LedgerHandle,
  PublicKey: Public,
  Signature: Result,
  Hash,
  Digest,
  Luid,
  Url,
  ServerUrl,
  Amount,
  LimitAmount,
  Reference,
  Proof,
  ClaimConditions,
  EventConditions,
  RecordConditions,
  KindName,
  Signal,
  AccessAction: Action,
  AccessRecord,
  SignerMatcher: Signer,
  BearerMatcher: Bearer,
  AccessRule,
  AccessRules: Access,
  WalletRoute: Route,
  BridgeSecurity: Secure,
  EffectAction,
  StatusValue,
  LabelValue,
  Claim: AnyClaim,
};

const claimName = (action: string): string => `${pascal(action)}Claim`;

/** All schemas by name. */
export function componentSchemas(bodies: BodySchemas): Record<string, Schema> {
  const named = new Map(Object.entries(NAMED));
  for (const [action, schema] of Object.entries(CLAIMS)) named.set(claimName(action), schema);
  bodies.byKind.forEach((body, kind) => {
    const name = singularOf(kind as Kind);
    const data = propertiesOf(body).data!;
    named.set(`${name}Body`, body).set(`${name}Data`, data);
    for (const branch of (data.anyOf as Schema[] | undefined) ?? []) named.set(branchName(name, branch), branch);
  });
  named.set('RecordBodyMeta', propertiesOf(bodies.byKind[0]!).meta!);
  named.set('DropBodyMeta', propertiesOf(bodies.drop).meta!);
  named.set('DropBody', bodies.drop).set('CircleSignerDropBody', bodies.dropMember).set('ActionBody', bodies.check);

  const names = new Map([...named].map(([name, schema]) => [schema, name]));
  const all = [...named, ...Object.entries(answerSchemas())].map(([name, schema]): [string, Schema] => {
    const written = name === 'Claim' ? anyClaim() : writtenOut(schema, names);
    return [name, withTexts(name, written)];
  });
  return Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return schema.properties as Record<string, Schema>;
}

/** The name of one shape of data that has several, told apart by its `schema`: AccessPolicyData. */
function branchName(kind: string, branch: Schema): string {
  return `${pascal(propertiesOf(branch).schema!.const as string)}${kind}Data`;
}

function anyClaim(): Schema {
  const actions = Object.keys(CLAIMS);
  const mapping = Object.fromEntries(actions.map((action) => [action, ref(claimName(action)).$ref]));
  return {
    oneOf: actions.map((action) => ref(claimName(action))),
    discriminator: { propertyName: 'action', mapping },
  };
}

// ---------------------------------------------------------------- writing out

/** The words of a schema that have schemas in them. */
interface Written extends Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/**
 * A schema that accepts the same, in keywords that other tools know: no patterns of member names, a type beside each
 * enumeration, a format for numbers that do not fit into 32 bits, objects of anything declared open.
 */
function writtenOut(schema: Schema, names: ReadonlyMap<Schema, string>): Schema {
  const tell = (part: Schema): Schema => {
    const name = names.get(part);
    return name === undefined ? writtenOut(part, names) : ref(name);
  };
  const { properties, patternProperties, items, anyOf, ...rest } = schema as Written;
  const told: Record<string, unknown> = { ...rest };
  if (Array.isArray(schema.enum)) told.type = typeof schema.enum[0] === 'string' ? 'string' : 'integer';
  if (told.type === 'integer') told.format = 'int64';
  if (properties !== undefined && Object.keys(properties).length > 0) {
    told.properties = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, tell(part)]));
  }
  if (patternProperties !== undefined) {
    const [[names, part]] = Object.entries(patternProperties) as [[string, Schema]];
    Object.assign(told, { propertyNames: { pattern: names }, additionalProperties: tell(part) });
  } else if (told.type === 'object' && told.properties === undefined) told.additionalProperties ??= true;
  if (items !== undefined) told.items = tell(items);
  if (anyOf !== undefined) {
    told.anyOf = anyOf.map(tell);
    Object.assign(told, discriminated(anyOf, names));
  }
  return told;
}

/**
 * Adds a discriminator where each of several named shapes has a value of `schema` of its own: that tells which shape it
 * is.
 */
function discriminated(branches: readonly Schema[], names: ReadonlyMap<Schema, string>): Schema {
  const known = branches.map((branch) => [propertiesOf(branch)?.schema?.const, names.get(branch)] as const);
  if (known.some(([word, name]) => typeof word !== 'string' || name === undefined)) return {};
  const mapping = Object.fromEntries(known.map(([word, name]) => [word, ref(name!).$ref]));
  return { discriminator: { propertyName: 'schema', mapping } };
}

/** The schema with the descriptions of it and of its members (shape-texts.ts). */
function withTexts(name: string, schema: Schema): Schema {
  const { says: description, example } = SHAPES[name] ?? {};
  const members = name.endsWith('Data') ? { ...DATA_MEMBERS, ...MEMBERS[name] } : (MEMBERS[name] ?? {});
  const properties = schema.properties as Record<string, Schema> | undefined;
  const said = Object.entries(properties ?? {}).map(([member, part]): [string, Schema] => {
    const text = members[member];
    return [member, text === undefined ? part : { ...part, description: text }];
  });
  return {
    ...(description !== undefined && { description }),
    ...schema,
    ...(properties !== undefined && { properties: Object.fromEntries(said) }),
    ...(example !== undefined && { examples: [example] }),
  };
}

// ---------------------------------------------------------------- what is answered

/** For objects the names of whose members depend on what they are about. */
const OPEN = { additionalProperties: true };
const Moment = text({ format: 'date-time' });
const luidOf = (prefix: string) => text({ pattern: `^\\$${prefix}\\.[A-Za-z0-9_-]{17}$` });

/** An answer of the server, in its signed envelope. */
const answer = (data: Schema, more: Members = {}) => object({ data, hash: Hash, meta: ref('AnswerMeta'), ...more });

/** A row of a list that is no record: the list around it is signed. */
const row = (data: Schema, prefix: string, meta = object({ moment: Moment })) =>
  object({ data, hash: Hash, luid: luidOf(prefix), meta });

const list = (items: Schema, page = 'Page') => answer(array(items), { page: ref(page) });

/** What an event of each signal has: the record under the name of its kind, and what else there is. */
function eventContent(): Schema {
  const signals = (...those: string[]) => among(those);
  const of = (signal: Schema, members: Members) => object({ handle: text(), signal, ...members });
  const party = { wallet: ref('Wallet'), symbol: ref('Symbol'), intent: ref('Intent') };
  return anyOf([
    ...KINDS.flatMap(({ name }, kind) => [
      of(signals(...['created', 'updated', 'dropped'].map((end) => `${name}-${end}`)), {
        [name]: ref(singularOf(kind as Kind)),
      }),
      of(signals(`${name}-proofs-added`), { [name]: Address, proofs: array(Proof) }),
    ]),
    of(signals('balance-received'), { ...party, amount: Amount }),
    of(signals('wallet-limited'), { ...party, amount: LimitAmount, metric: among(METRICS) }),
  ]);
}

function answerSchemas(): Record<string, Schema> {
  const proofs = array(Proof);
  const RECORD_META = { proofs, moment: Moment, owners: array(Public), labels: optional(array(text())) };
  const statuses = INTENT_STATUSES.filter((status) => status !== 'failed' && status !== 'error');
  const INTENT_META = { status: among(statuses), thread: text(), routed: optional(boolean) };
  const CHANGE_META = { change: integer({ minimum: 1 }), action: among(['create', 'update']) };
  const slot = { wallet: Address, symbol: Address };
  const schemas: Record<string, Schema> = {
    AnswerMeta: object({ proofs, moment: Moment }),
    RecordMeta: object({ ...RECORD_META, status: text() }),
    IntentMeta: object({ ...RECORD_META, ...INTENT_META }),
    RecordVersionMeta: object({ ...RECORD_META, status: text(), ...CHANGE_META }),
    IntentVersionMeta: object({ ...RECORD_META, ...INTENT_META, ...CHANGE_META }),
    Page: object({ index: integer({ minimum: 0 }), limit: integer({ minimum: 1 }), total: optional(integer()) }),
    EventPage: object({ after: text(), limit: integer({ minimum: 1 }) }),
    Status: answer(
      object({
        handle: text(),
        server: text(),
        semver: text(),
        ledger: LedgerHandle,
        status: text(),
        uptime: integer({ minimum: 0 }),
        dependencies: object({ db: text() }),
      }),
    ),
    Head: answer(object({ seq: integer({ minimum: 0 }), chain: Digest, moment: Moment })),
    Balance: row(object({ ...slot, schema: among(['available', 'reserved']), amount: LimitAmount }), 'wbl'),
    Limit: row(object({ ...slot, metric: among(METRICS), amount: LimitAmount }), 'wbl'),
    EventContent: eventContent(),
    SentEvent: answer(ref('EventContent')),
    Event: answer(ref('EventContent'), { seq: integer({ minimum: 1 }) }),
    BridgeParty: object({ handle: Address }, OPEN),
    BridgeEntry: answer(
      object({
        ...{ handle: text(), schema: among(['debit', 'credit']), amount: Amount, symbol: ref('BridgeParty') },
        ...{ source: optional(ref('BridgeParty')), target: optional(ref('BridgeParty')) },
        ...{ inputs: array(integer({ minimum: 0 })), intent: ref('Intent') },
      }),
    ),
    BridgeStep: answer(object({ handle: text(), action: among(['commit', 'abort']), intent: ref('Intent') })),
    Delivery: row(
      object({
        effect: Address,
        event: text(),
        seq: integer({ minimum: 1 }),
        signal: Signal,
        attempts: integer({ minimum: 0 }),
        detail: optional(text()),
      }),
      'evd',
      object({ moment: Moment, status: among(['pending', 'delivered', 'failed']) }),
    ),
    GrantingRule: object({
      action: anyOf([Action, object({ $in: array(Action) })]),
      record: optional(AccessRecord),
    }),
    Accepted: answer(object({ handle: Address, luid: Luid })),
    SchemaError: object({
      instancePath: text(),
      schemaPath: text(),
      keyword: text(),
      params: object({}),
      message: text(),
    }),
    Error: answer(
      object({
        reason: among(Object.keys(REASONS)),
        detail: text(),
        custom: optional(
          object({
            ...{ errors: optional(array(ref('SchemaError'))), proof: optional(integer({ minimum: 0 })) },
            ...{ luid: optional(Luid), hash: optional(Hash), expected: optional(Hash) },
          }),
        ),
      }),
    ),
    BalanceList: list(ref('Balance')),
    LimitList: list(ref('Limit')),
    EventList: list(ref('Event'), 'EventPage'),
    DeliveryList: list(ref('Delivery')),
    GrantingRuleList: answer(array(ref('GrantingRule'))),
    // The list of one wallet's anchors has no `page`.
    WalletAnchorList: answer(array(ref('Anchor'))),
  };
  for (const [number, { name, prefix, path }] of KINDS.entries()) {
    const kind = singularOf(number as Kind);
    const meta = name === 'intent' ? 'Intent' : 'Record';
    const data = ref(`${kind}Data`);
    schemas[kind] = object({ data, hash: Hash, luid: luidOf(prefix), meta: ref(`${meta}Meta`) });
    schemas[`${kind}List`] = list(ref(kind));
    if (path === '') continue;
    schemas[`${kind}Version`] = object({ data, hash: Hash, luid: luidOf(prefix), meta: ref(`${meta}VersionMeta`) });
    schemas[`${kind}VersionList`] = list(ref(`${kind}Version`));
  }
  return schemas;
}
