/**
 * Descriptions of shapes and of their members, where a schema alone does not tell. A test holds them to the schemas
 * there are.
 */
import { RULES_CHARS_MAX, RULES_OBJECTS_MAX } from '../rule-weight.ts';

interface ShapeText {
  readonly says: string;
  readonly example?: unknown;
}

const EXAMPLE_PUBLIC = 'Kay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc=';
const EXAMPLE_HASH = '4b7c0e4a1e9f5d2c8f4a3f0d8c1b6e7a9d2f3c4b5a6978869574635241302f1e';

const HEAVY = `All of them together are at most ${RULES_CHARS_MAX} characters as JSON, and ${RULES_OBJECTS_MAX} objects.`;

export const SHAPES: Readonly<Record<string, ShapeText>> = {
  Address: {
    says: 'A handle, unique in its ledger and kind: `[schema:]handle[@parent]`.',
    example: 'ana',
  },
  Handle: { says: 'What a record is called, unique in its ledger and kind: an address.', example: 'ana' },
  LedgerHandle: { says: 'The handle of a ledger.', example: 'main' },
  PublicKey: { says: 'An Ed25519 public key: base64 of 32 bytes.', example: EXAMPLE_PUBLIC },
  Signature: { says: 'An Ed25519 signature over the 32 bytes that the digest stands for: base64 of 64 bytes.' },
  Hash: { says: 'SHA-256 of the canonical JSON (RFC 8785) of `data`, in hex.', example: EXAMPLE_HASH },
  Digest: { says: 'A SHA-256 in lower-case hex.', example: EXAMPLE_HASH },
  Luid: { says: 'The name that the server gave a record; it never changes.', example: '$wlt.0-7hL2xPqRsT3uVwX' },
  Url: { says: 'An http or https URL.', example: 'https://shop.example/heard?of=ayni' },
  ServerUrl: {
    says: 'An http or https URL that paths are put behind, so it has no `?` and no `#`.',
    example: 'https://bank.example/ayni',
  },
  Amount: { says: 'A whole number: 250 of a symbol with `factor` 100 is 2.50.', example: 250 },
  LimitAmount: { says: 'A whole number, which may be negative.', example: -1000 },
  Reference: { says: 'A wallet or symbol by its handle: an object, perhaps with `custom`, or the bare handle.' },
  Proof: {
    says: 'One signature. `digest` is the SHA-256 of the text of `hash` with the canonical `custom` behind it, if there is one; `result` signs its 32 bytes.',
  },
  ClaimConditions: {
    says: 'Dotted paths into a claim, and behind `intent` into the data of its intent, each with the value wanted there or with operators on it. All must hold. A path that leads nowhere is refused; elements of a list are asked for without an index.',
    example: { 'symbol.handle': 'usd', amount: { $gte: 100 } },
  },
  EventConditions: {
    says: 'Dotted paths into the data of an event, each with the value wanted there or with operators on it. All must hold. A path that no event of the signal can have is refused; elements of a list are asked for without an index.',
    example: { 'wallet.data.custom.city': 'Quito' },
  },
  RecordConditions: {
    says: 'Dotted paths into a record, each with the value wanted there or with operators on it. All must hold. A path that no record of the kind can have is refused; elements of a list are asked for without an index.',
    example: { 'data.custom.city': 'Quito' },
  },
  KindName: { says: 'A kind of record.' },
  Signal: { says: 'What an event is about.' },
  AccessAction: { says: 'A right.' },
  AccessRecord: { says: 'What a right is about: a kind of record, or the proofs on it.' },
  SignerMatcher: { says: 'Which signers a rule means: those for whom every member holds.' },
  BearerMatcher: { says: 'Which tokens a rule means: those for which every member holds.' },
  AccessRule: {
    says: 'Who may do what: `action` on `record`, to whoever signed (`signer`) or sent a token (`bearer`) that fits; or the rules of a policy.',
    example: { action: 'read', record: 'any' },
  },
  AccessRules: { says: `Rules only add: what none of them grants is refused. ${HEAVY}` },
  WalletRoute: {
    says: 'What becomes of a claim that names the wallet, where `filter` holds. The first that does decides.',
  },
  BridgeSecurity: { says: 'How the server proves itself to the bridge: a header, or OAuth 2 client credentials.' },
  EffectAction: { says: 'Where events go: to a webhook or to a bridge.' },
  StatusValue: { says: 'Who may set which status by a proof.' },
  LabelValue: { says: 'Who may put which label on by a proof, and take it away.' },
  Claim: { says: 'One wish inside an intent; `action` says which.' },
  IssueClaim: { says: 'Makes value.' },
  TransferClaim: { says: 'Moves value from one wallet to another.' },
  DestroyClaim: { says: 'Takes value out.' },
  LimitClaim: { says: 'Sets a limit of what a wallet may hold, owe or move of a symbol.' },
  RecordBodyMeta: { says: 'The signatures of whoever sends the record. Other members are ignored.' },
  DropBodyMeta: { says: 'The signatures of whoever drops it, where the rules ask for any.' },
  DropBody: { says: 'A drop, signed. `data.parent` is the hash of the record as it is.' },
  CircleSignerDropBody: { says: 'Takes a signer out of a circle, signed.' },
  ActionBody: { says: 'What somebody wants to do, or asks whether they may, signed.' },
  AnswerMeta: { says: 'The signature of the server, and when it made it.' },
  RecordMeta: {
    says: 'What the server tells of a record: signatures on it, those of clients and its own, and where it stands.',
  },
  IntentMeta: {
    says: 'What the server tells of an intent. Why one was rejected is in the `custom` of the proof of status `failed`: `reason`, `detail`.',
  },
  RecordVersionMeta: { says: 'What the server tells of a version of a record.' },
  IntentVersionMeta: { says: 'What the server tells of a version of an intent: it has but one.' },
  Page: {
    says: 'Which page it is; `total` where it is known for nothing. A page with fewer records than `limit` is the last.',
  },
  EventPage: { says: 'Where the next question goes on: `after`, passed on as it is.' },
  Status: { says: 'How the server is.' },
  Head: {
    says: 'The end of the books: who keeps it can tell whether what came before was changed, for as long as the journal, or a backup, goes back to it.',
  },
  Balance: { says: 'What a wallet has of a symbol, free (`available`) or set aside (`reserved`).' },
  Limit: { says: 'What a wallet may have, owe or move of a symbol.' },
  Event: { says: 'Something that happened; `seq` is the entry it is told from.' },
  SentEvent: { says: 'The same, as effects tell it.' },
  EventContent: {
    says: 'By its `signal`: the record under the name of its kind as it was right then, with `-proofs-added` its handle and the proofs; of what moved or limits a balance, which that is.',
  },
  BridgeParty: { says: 'As the claims name it, else by its handle.' },
  BridgeEntry: {
    says: 'What a bridge is to prepare: its part in an intent, in the claims that `inputs` number. It reports by a proof added to the intent, whose `custom` is `{handle, status, moment}`.',
  },
  BridgeStep: { says: 'What becomes of an entry that a bridge was asked to prepare; it reports on that as well.' },
  Delivery: { says: 'What became of an event that an effect was to tell.' },
  GrantingRule: { says: 'A rule that grants what was asked, without whom it names.' },
  Accepted: { says: 'It is being tried again.' },
  SchemaError: { says: 'One thing that is wrong with a body, as ajv tells it.' },
  Error: {
    says: 'Why a request was not done: `reason` is for programs, `detail` for people. In `custom`, `errors` tells all that is wrong with a body, `proof` which proof is, `luid` and `hash` what is there already, and `expected` which hash the data has.',
  },
};

/** Members of the data of records. */
export const DATA_MEMBERS: Readonly<Record<string, string>> = {
  handle: 'Its name, unique in its ledger and kind.',
  schema: "Which of the ledger's schemas the record keeps to.",
  custom: 'Whatever is yours.',
  access: 'Who may do what with this record, beside what its ledger grants.',
  parent: 'In an update: the hash of the version before.',
};

/** Members that all policies have. */
const POLICY = {
  record: 'The kind of record it is about.',
  extend: 'Policies whose values count here too.',
  filter: 'For records alone that pass this.',
};

/** Members of the meta of all records. */
const META = {
  proofs: 'In the order in which they came.',
  owners: 'The keys that signed it when it was made.',
  labels: 'Put on by proofs.',
};

/** By name of the schema. */
export const MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  LedgerData: {
    access: 'Who may do what in the ledger: without rules nobody may ever come in.',
    config: 'Its settings; their names have dots in them.',
    signer: 'Handle of the signer that the ledger is of.',
  },
  SignerData: {
    public: 'Its key.',
    format: 'What kind of key it is.',
    secret: 'The secret key, encrypted by whoever keeps it there.',
  },
  SymbolData: { factor: 'How many of the smallest unit make one: 100 where amounts are cents.' },
  WalletData: {
    bridge: 'Handle of the bridge whose accounts it stands for.',
    routes: 'What becomes of claims that name it.',
  },
  AnchorData: {
    wallet: 'Handle of the wallet it belongs to.',
    target: 'Handle of the wallet it leads to.',
    symbol: 'For which symbol.',
  },
  IntentData: {
    claims: 'All of them happen, or none.',
    config: 'With `commit: "manual"` it waits, prepared, for a proof whose `custom.action` is `commit` or `abort`.',
    origin: 'The intent whose route made this one.',
  },
  EffectData: {
    signal: 'Which events it tells.',
    filter: 'Those alone for which this holds: paths into the data of the event.',
    action: 'To whom.',
  },
  BridgeData: {
    config: 'Where it is, and how claims are put together.',
    secure: 'How the server proves itself to it.',
    traits: 'With `statuses` it hears of every step of its intents.',
  },
  AccessPolicyData: {
    ...POLICY,
    schema: 'Its values are access rules.',
    values: `The rules. ${HEAVY}`,
    extend: 'Policies whose rules count here too.',
  },
  StatusPolicyData: { ...POLICY, schema: 'Its values say who may set which status.', values: `The statuses. ${HEAVY}` },
  LabelsPolicyData: { ...POLICY, schema: 'Its values say who may set which label.', values: `The labels. ${HEAVY}` },
  SchemaData: {
    record: 'The kind of record whose data must satisfy it.',
    format: 'What kind of schema it is.',
    schema: 'The JSON Schema.',
  },
  CircleSignerData: { circle: 'Handle of the circle.', signer: 'Handle of the signer.' },
  Proof: {
    custom:
      'What is signed beside the hash. Of the proofs of the server: `moment`, `status`, `luid`, and with the status `failed` `reason` and `detail`.',
  },
  RecordMeta: {
    ...META,
    moment: 'When its data was last changed.',
    status: '`created`, for effects `active`, or what a proof has set.',
  },
  IntentMeta: {
    ...META,
    moment: 'When it came.',
    status: '`completed` is done and `rejected` not done, for ever; all others are on their way.',
    thread: 'The same for all intents that happen together.',
    routed: 'Routes had a say in it.',
  },
};
