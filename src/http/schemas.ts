/**
 * The shape of every body, checked once at the door; past it the types are trusted.
 *
 * `data` is closed: an unknown member is refused, since what the ledger does not understand it must not
 * sign. What stands beside `data` is not: members of `meta` other than `proofs` are the server's own and
 * are ignored in a request.
 *
 * An empty list of proofs has the right shape. A body that nobody signed is a missing signature, not a
 * wrong form: `isUnsigned` tells.
 *
 * What always holds: a schema is compiled when the first body of its kind comes, so that a start does not wait for it;
 * prepareSchemas does it ahead. From then on, checking a body that is right compiles nothing, and errors are only
 * looked for once a body is known to be wrong.
 */
import { Format } from 'typebox/format';
import { Compile, type Validator } from 'typebox/schema';
import { Settings } from 'typebox/system';
import { Kind } from '../core/kinds.ts';
import type { Fault } from '../core/refusal.ts';
import { filterPathCheck } from './filter-paths.ts';
import { tellHeavy, tellHeavyList } from './rule-weight.ts';
import { ERRORS_MAX, tellErrors } from './schema-errors.ts';
import { CheckData, CircleSignerData, CLAIMS, DropData, kindSchemas } from './schema-kinds.ts';
import { Access, Hash, Luid, Proof } from './schema-shapes.ts';
import { tellLarge, tellWidth } from './schema-width.ts';
import { among, array, object, optional, type Schema } from './schema-words.ts';
import { checkSignalFilter } from './signal-filters.ts';

Settings.Set({ maxErrors: 4 * ERRORS_MAX });
// What a call can be made to: a port beyond 65535 has the pattern's form. What has not even that is told by the pattern
// alone.
Format.Set('uri', (url) => !/^https?:\/\/[^\s/?#]/i.test(url) || URL.canParse(url));

/** `proof` is a bare proof, `check` a body beside the records. */
export type Operation = 'create' | 'update' | 'drop' | 'proof' | 'check';

export interface SchemaLimits {
  readonly claimsMax: number;
  readonly proofsMax: number;
}

/** The errors of a body, or null for one that has the right shape. `kind` is of no matter to a proof. */
export type ValidateBody = (kind: Kind, operation: Operation, value: unknown) => Fault[] | null;

interface EffectData {
  readonly signal: string;
  readonly filter?: object;
}

/** A schema that is compiled by whoever needs it first. */
type Compiled = () => Validator;

/** Schemas that are still to be compiled, of every check there is. */
const UNCOMPILED = new Set<Compiled>();

export type BodySchemas = ReturnType<typeof bodySchemas>;

/** The schema of every body, as it is checked and as it is told. */
export function bodySchemas({ claimsMax, proofsMax }: SchemaLimits) {
  const proofs = array(Proof, { maxItems: proofsMax });
  const [signedMeta, dropMeta] = [object({ proofs }), object({ proofs: optional(proofs) })];
  const signed = (data: Schema, meta = signedMeta) => object({ hash: Hash, luid: optional(Luid), data, meta });
  // By their numbers: members that are named by numbers come in the order of these.
  const dataByKind = Object.values(kindSchemas(claimsMax));
  return {
    dataByKind,
    /** Of create and update. */
    byKind: dataByKind.map((data) => signed(data)),
    drop: signed(DropData, dropMeta),
    /** Of taking a signer out of a circle. */
    dropMember: signed(CircleSignerData, dropMeta),
    proof: Proof,
    check: signed(CheckData),
    proofs,
  };
}

/**
 * A check of bodies; it compiles each schema when it first needs it, some milliseconds. `isOfBooks`: of what is in
 * books, where filters may lead nowhere, and rules be longer together. Earlier builds let them in, and what was decided
 * by them stands.
 */
export function compileSchemas(limits: SchemaLimits, isOfBooks = false): ValidateBody {
  const schemas = bodySchemas(limits);
  const filterPaths = filterPathCheck(schemas.dataByKind);
  const byKind = schemas.byKind.map(compiled);
  const dropMember = compiled(schemas.dropMember);
  const others = { drop: compiled(schemas.drop), proof: compiled(schemas.proof), check: compiled(schemas.check) };

  const ownProofs = compiled(schemas.proofs);
  const check = (schema: Compiled, value: unknown) => errorsOf(schema, value, (body) => withoutRight(body, ownProofs));

  const filterErrors = (kind: Kind, data: object) => {
    const errors = kind === Kind.effect ? checkSignalFilter(data as EffectData) : null;
    return errors ?? (isOfBooks ? null : filterPaths(kind, data));
  };

  return (kind, operation, value) => {
    if (operation === 'drop' && kind === Kind['circle-signer']) return check(dropMember, value);
    if (operation !== 'create' && operation !== 'update') return check(others[operation], value);
    const errors = check(byKind[kind]!, value);
    if (errors === null && !isOfBooks) {
      const heavy = tellHeavy(kind, (value as { data: object }).data);
      if (heavy !== null) return [heavy];
    }
    if (errors === null && kind !== Kind.intent) return filterErrors(kind, (value as { data: object }).data);
    if (kind !== Kind.intent || (errors !== null && !hasClaims(value))) return errors;
    const wrong = checkClaims((value as { data: { claims: unknown[] } }).data.claims);
    return errors === null ? wrong : [...errors, ...(wrong ?? [])].slice(0, ERRORS_MAX);
  };
}

/** Whether a value is a list of access rules as a record may have one. */
export function isAccess(value: unknown): boolean {
  return RULES().Check(value) && tellHeavyList(value, 'access') === null;
}

/** What is wrong with a list of access rules, or null. */
export function accessErrors(value: unknown): Fault[] | null {
  return errorsOf(RULES, value);
}

/** Whether a body of the right shape has no proof at all: 422 `crypto.signature-missing` where one is needed. */
export function isUnsigned(body: { readonly meta: { readonly proofs?: readonly unknown[] } }): boolean {
  return body.meta.proofs === undefined || body.meta.proofs.length === 0;
}

function compiled(schema: Schema): Compiled {
  let validator: Validator | null = null;
  const get = () => {
    if (validator === null) {
      validator = Compile(schema);
      UNCOMPILED.delete(get);
    }
    return validator;
  };
  UNCOMPILED.add(get);
  return get;
}

/**
 * Compiles what nobody has needed yet, so that no body has to wait for that. It awaits `pause` before each schema:
 * others get their turn between.
 */
export async function prepareSchemas(pause: () => Promise<void>): Promise<void> {
  for (const schema of UNCOMPILED) {
    await pause();
    schema();
  }
}

/** What is wrong with a value, or null; of a wrong one, only what `narrow` leaves is looked through. */
function errorsOf(schema: Compiled, value: unknown, narrow = (wrong: unknown) => wrong): Fault[] | null {
  const width = tellWidth(value);
  if (width !== null) return [width];
  if (schema().Check(value)) return null;
  const wrong = narrow(value);
  const large = tellLarge(wrong);
  return large === null ? tellErrors(schema().Errors(wrong)[1]) : [large];
}

/**
 * The body without the access rules and the proofs that are right: who looks for what is wrong goes through all there
 * is, and would mostly go through these. Both may be empty.
 */
function withoutRight(value: unknown, proofs: Compiled): unknown {
  const body = value as { data?: { access?: unknown }; meta?: { proofs?: unknown } } | null;
  const isRight = (schema: Compiled, part: unknown) => part !== undefined && schema().Check(part);
  let less = body;
  if (isRight(RULES, body?.data?.access)) less = { ...less, data: { ...less?.data, access: [] } };
  if (isRight(proofs, body?.meta?.proofs)) less = { ...less, meta: { ...less?.meta, proofs: [] } };
  return less;
}

const RULES = compiled(Access);
const CLAIM_SCHEMAS = new Map(Object.entries(CLAIMS).map(([action, schema]) => [action, compiled(schema)]));
/** What is wrong with a claim of no known action. */
const ANY_CLAIM = compiled(object({ action: among([...CLAIM_SCHEMAS.keys()]) }));

/** Whether the claims can be looked at although something else is wrong: then all errors are told at once. */
function hasClaims(value: unknown): boolean {
  const data = (value as { data?: { claims?: unknown } } | null)?.data;
  return typeof data === 'object' && data !== null && Array.isArray(data.claims);
}

function checkClaims(claims: readonly unknown[]): Fault[] | null {
  const errors: Fault[] = [];
  for (let i = 0; i < claims.length && errors.length < ERRORS_MAX; i++) {
    const validator = claimValidator(claims[i]);
    if (validator.Check(claims[i])) continue;
    const at = `/data/claims/${i}`;
    const width = tellWidth(claims[i], at);
    errors.push(...(width === null ? tellErrors(validator.Errors(claims[i])[1], at) : [width]));
  }
  return errors.length === 0 ? null : errors.slice(0, ERRORS_MAX);
}

function claimValidator(claim: unknown): Validator {
  const action = (claim as { action?: unknown } | null)?.action;
  return ((typeof action === 'string' && CLAIM_SCHEMAS.get(action)) || ANY_CLAIM)();
}
