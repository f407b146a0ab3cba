/**
 * Access, a second time: the rules read as they stand, nothing compiled, nothing remembered, no line shared with the
 * core. Slow and plain, so that where the two differ it is the other one that has to explain itself.
 */

export interface RuleText {
  action?: string | { $in: string[] };
  record?: string;
  signer?: object;
  bearer?: object;
  policy?: string | { $in: string[] };
}

interface ModelSigner {
  handle: string;
  public: string;
  schema?: string;
  custom?: object;
}

export interface ModelPolicy {
  handle: string;
  schema: string;
  record: string;
  values: RuleText[];
  extend?: string | string[];
  filter?: Record<string, unknown>;
}

export interface ModelLedger {
  handle: string;
  access: RuleText[];
  policyBased: boolean;
  /** Base64 keys. */
  owners: string[];
  signers: ModelSigner[];
  /** Handles of signers, by the circle's. */
  circles: Record<string, string[]>;
  policies: ModelPolicy[];
}

export interface ModelRecord {
  kind: string;
  data: Record<string, unknown>;
  status: string;
  owners: string[];
}

export interface ModelBearer {
  iss: string;
  sub: string;
  aud: string;
  hsh: boolean;
  public: string;
}

export interface Question {
  server: RuleText[];
  /** Null where a ledger is being made. */
  ledger: ModelLedger | null;
  action: string;
  /** A kind, or `<kind>-proof`. */
  target: string;
  /** The record in question, or the one being made, or null for a question about a kind. */
  record: ModelRecord | null;
  isNew: boolean;
  keys: string[];
  bearer: ModelBearer | null;
}

/** A rule with the policies it came through. */
interface Found {
  rule: RuleText;
  through: ModelPolicy[];
}

export function allowed(question: Question): boolean {
  return gate(question) && granted(question);
}

/** To the rules of a ledger, about its own record, the tokens for others are nobody's. */
function heard(question: Question): Question {
  const { ledger, target, bearer } = question;
  const isOther = /^ledger(-proof)?$/.test(target) && bearer?.aud !== ledger?.handle;
  return isOther ? { ...question, bearer: null } : question;
}

export function gate(question: Question): boolean {
  const { ledger, server, target } = question;
  const kind = target.replace(/-proof$/, '');
  const opens = (list: Found[], place: string, by: Question) =>
    [target, kind].some((each) =>
      list.some((found) => grants(found, place, { ...by, action: 'access', target: each })),
    );
  if (!opens(plain(server), 'server', question)) return false;
  return ledger === null || opens(rulesOfLedger(ledger), 'ledger', heard(question));
}

export function granted(question: Question): boolean {
  const { ledger, server, target, record, isNew } = question;
  const kind = target.replace(/-proof$/, '');
  if (plain(server).some((found) => grants(found, 'server', question))) return true;
  if (ledger === null) return false;
  if (rulesOfLedger(ledger).some((found) => grants(found, 'ledger', heard(question)))) return true;
  if (record === null || isNew || record.kind !== kind || kind === 'ledger' || ledger.policyBased) return false;
  const own = expand((record.data.access ?? []) as RuleText[], ledger, []);
  return own.some((found) => grants(found, 'record', question));
}

const plain = (list: RuleText[]): Found[] => list.map((rule) => ({ rule, through: [] }));

function rulesOfLedger(ledger: ModelLedger): Found[] {
  if (!ledger.policyBased) return expand(ledger.access, ledger, []);
  return ledger.policies.flatMap((policy) => ofPolicy(policy, ledger, []));
}

function expand(list: RuleText[], ledger: ModelLedger, through: ModelPolicy[]): Found[] {
  return list.flatMap((rule) =>
    rule.policy === undefined ? [{ rule, through }] : named(rule.policy, ledger, through),
  );
}

function named(policy: string | string[] | { $in: string[] }, ledger: ModelLedger, through: ModelPolicy[]): Found[] {
  const handles = typeof policy === 'string' ? [policy] : Array.isArray(policy) ? policy : policy.$in;
  return handles.flatMap((handle) => {
    const found = ledger.policies.find((each) => each.handle === handle);
    return found === undefined ? [] : ofPolicy(found, ledger, through);
  });
}

function ofPolicy(policy: ModelPolicy, ledger: ModelLedger, through: ModelPolicy[]): Found[] {
  if (policy.schema !== 'access' || through.includes(policy)) return [];
  const way = [...through, policy];
  return [...expand(policy.values, ledger, way), ...named(policy.extend ?? [], ledger, way)];
}

function grants({ rule, through }: Found, place: string, question: Question): boolean {
  const { action, target, keys, bearer, record } = question;
  const actions = typeof rule.action === 'object' ? rule.action.$in : [rule.action];
  const isProof = action === 'create' && target.endsWith('-proof');
  const signs = !isProof ? [] : target === 'intent-proof' ? ['sign', 'sign-intent'] : ['sign'];
  const isSigning = !actions.includes('any') && signs.some((name) => actions.includes(name));
  if (!actions.includes('any') && !isSigning && !actions.includes(action)) return false;
  // Who may sign may sign the records that the rule names, by whichever of both names.
  const kind = target.replace(/-proof$/, '');
  const isKind = (name: string | undefined) => isSigning && name === kind;
  if (!through.every(({ record: name }) => name === 'any' || name === target || isKind(name))) return false;
  if (!isKind(rule.record) && !speaksOf(rule, place, through.length > 0, action, target)) return false;
  if (action === 'read' && rule.signer !== undefined && rule.bearer === undefined) return false;
  if (rule.signer !== undefined && !keys.some((key) => isSigner(rule.signer!, key, question))) return false;
  if (rule.bearer !== undefined && (bearer === null || !isBearer(rule.bearer, bearer, question))) return false;
  const filters = through.flatMap((policy) => Object.entries(policy.filter ?? {}));
  if (filters.length === 0) return true;
  if (record === null) return action === 'access';
  return filters.every(([path, wish]) => passes(at(record, question.isNew, path), wish));
}

function speaksOf(rule: RuleText, place: string, isPolicy: boolean, action: string, target: string): boolean {
  if (rule.record === 'any' || rule.record === target) return true;
  if (rule.record !== undefined && rule.record !== 'server') return false;
  if (rule.record === undefined && isPolicy) return true;
  if (place === 'server') return action === 'access' || (action === 'create' && target === 'ledger');
  if (rule.record === 'server') return false;
  return place === 'record' || target === 'ledger' || target === 'ledger-proof';
}

// biome-ignore lint/suspicious/noExplicitAny: rules are read as they stand
type Text = any;

function isSigner(matcher: Text, key: string, question: Question): boolean {
  if (matcher.$in !== undefined) return matcher.$in.some((each: Text) => isSigner(each, key, question));
  const { ledger, record, isNew, keys } = question;
  if (matcher.public !== undefined && matcher.public !== key) return false;
  if (matcher.$ledger !== undefined && !ledger?.owners.includes(key)) return false;
  if (matcher.$record !== undefined) {
    const owners = isNew ? keys : (record?.owners ?? []);
    if (!owners.includes(key)) return false;
  }
  const { handle, schema, custom, $circle } = matcher;
  if ([handle, schema, custom, $circle].every((member) => member === undefined)) return true;
  return (ledger?.signers ?? []).some(
    (signer) =>
      signer.public === key &&
      (handle === undefined || signer.handle === handle) &&
      (schema === undefined || signer.schema === schema) &&
      (custom === undefined || holdsIn(custom, signer.custom)) &&
      ($circle === undefined || (ledger!.circles[$circle] ?? []).includes(signer.handle)),
  );
}

function isBearer(matcher: Text, bearer: ModelBearer, question: Question): boolean {
  if (matcher.$in !== undefined) return matcher.$in.some((each: Text) => isBearer(each, bearer, question));
  for (const claim of ['iss', 'sub', 'aud'] as const) {
    if (matcher[claim] !== undefined && matcher[claim] !== bearer[claim]) return false;
  }
  if (matcher.hsh === true && !bearer.hsh) return false;
  return matcher.$signer === undefined || isSigner(matcher.$signer, bearer.public, question);
}

function holdsIn(part: Text, whole: Text): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) {
    return JSON.stringify(part) === JSON.stringify(whole);
  }
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return false;
  return Object.keys(part).every((name) => Object.hasOwn(whole, name) && holdsIn(part[name], whole[name]));
}

function at(record: ModelRecord, isNew: boolean, path: string): unknown {
  const [root, ...rest] = path.split('.');
  let value: Text = root === 'data' ? record.data : root === 'meta' && !isNew ? { status: record.status } : undefined;
  for (const name of rest) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** Of operators, the ones that tests use: $ne and $in. */
function passes(value: unknown, wish: Text): boolean {
  if (typeof wish !== 'object') return value === wish;
  const asked = Object.entries(wish);
  const holds = ([operator, operand]: [string, unknown]) =>
    operator === '$ne' ? value !== operand : operator === '$in' ? (operand as Text[]).includes(value) : false;
  return asked.length > 0 && asked.every(holds);
}
