/**
 * Which schema of a ledger's own a record must satisfy, and whether it does.
 *
 * Once a ledger has a schema for a kind, every record of the kind that is created or updated from then on names one in
 * `data.schema` by its handle. In some kinds that member is also a word of the interface's own (`access` in a policy,
 * `transfer` in an intent, `rest` in a bridge): there a word that is no schema's handle stays what it was, and only
 * records that name a schema are bound by it. Records of before stay as they are until they are changed.
 *
 * The core runs no JSON Schema itself: `state.compileSchema` is handed in, and asked only where something is decided.
 */

import { type CreateCommand, commandData, type UpdateCommand } from './command.ts';
import { findHandle } from './finding.ts';
import { Kind, kindRow } from './kinds.ts';
import { versionAt } from './records.ts';
import { type Fault, type Refusal, refuseShape } from './refusal.ts';
import type { State } from './state.ts';

/**
 * The schema of a schema record, by the record's data: what is wrong with it, or the check of values, which gives what
 * is wrong with one or null, and about how many bytes that check takes. A function of nothing but the texts and values
 * it is given, and of whether the schema is new: then it may be refused for what it takes to compile, which the books'
 * own never are.
 */
export type CompileSchema = (
  data: string,
  isNew?: boolean,
) => { errors: readonly Fault[] } | { check: CheckValue; held: number };
type CheckValue = (value: Record<string, unknown>) => readonly Fault[] | null;

/** Kinds whose `schema` has no meaning but this one. */
const BOUND: readonly Kind[] = [Kind.signer, Kind.symbol, Kind.wallet, Kind.anchor, Kind.circle];

/** Why a record of this content must not be stored, by the ledger's own schemas; or null. */
export function misfit(state: State, command: CreateCommand | UpdateCommand): Refusal | null {
  const { norms } = state;
  const { ledger, kind } = command;
  if (kind === Kind.schema) {
    const made = state.compileSchema(command.data, true);
    if ('errors' in made) return refuseShape(made.errors);
  }
  if (!norms.hasSchemas(ledger, kind)) return null;
  const value = commandData(command);
  const { schema } = value;
  const named = typeof schema === 'string' ? findHandle(state, ledger, Kind.schema, schema) : -1;
  if (named < 0 || norms.schemaKind(named) !== kind) {
    return BOUND.includes(kind) ? refuseShape([unnamed(kind, schema)]) : null;
  }
  const at = state.rows.at.get(named);
  const check = norms.remembered.get(ledger, at, () => {
    const { data } = versionAt(state, at).entry;
    const made = state.compileSchema(data);
    return 'check' in made ? { value: made.check, held: made.held } : { value: UNUSABLE, held: data.length };
  });
  const faults = check(value);
  return faults === null ? null : refuseShape(faults);
}

/** Books from other times may hold a schema that cannot be used any more: what cannot be checked is not let in. */
const UNUSABLE: CheckValue = () => [
  {
    instancePath: '/data/schema',
    schemaPath: '#',
    keyword: 'schema',
    params: {},
    message: 'names a schema that cannot be used any more',
  },
];

function unnamed(kind: Kind, schema: unknown): Fault {
  const { name } = kindRow(kind);
  if (schema === undefined) {
    const params = { missingProperty: 'schema' };
    const message = `must have required property 'schema': this ledger has schemas for the kind ${name}`;
    return { instancePath: '/data', schemaPath: '#/required', keyword: 'required', params, message };
  }
  const message = `must be the handle of a schema for the kind ${name}`;
  const schemaPath = '#/properties/schema/enum';
  return { instancePath: '/data/schema', schemaPath, keyword: 'enum', params: {}, message };
}
