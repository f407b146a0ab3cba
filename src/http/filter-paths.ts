/**
 * Paths of filters in policies, routes and effects, held to what there is. One that leads nowhere is met by nothing,
 * and under `$ne` by everything: a policy with it would grant what it was to keep.
 *
 * The elements of a list are met by a path without an index, any of them, so an index is a member that none of them
 * has. Within `custom` anything may be there, a member of that name too.
 */
import { KINDS, Kind, type KindName } from '../core/kinds.ts';
import type { Fault } from '../core/refusal.ts';
import { ERRORS_MAX } from './schema-errors.ts';
import { AnyClaim, CLAIMS } from './schema-kinds.ts';
import { Proof, Reference } from './schema-shapes.ts';
import { anyOf, array, boolean, closed, integer, object, type Schema, text } from './schema-words.ts';

/** What is wrong with the filters in the data of a record of the right shape, or null. */
type CheckFilterPaths = (kind: Kind, data: object) => Fault[] | null;

interface Filtered {
  readonly filter?: object;
}

const OWN_FILTER = '#/properties/data/properties/filter';
const ROUTE_FILTER = '#/properties/data/properties/routes/items/properties/filter';
const INDEX = /(?:^|\.)\d+(?:\.|$)/;
const PATH_LENGTH_MAX = 128;

const texts = array(text());
/** All that the `meta` of records has. */
const META = closed({
  ...{ proofs: array(Proof), status: text(), moment: text(), owners: texts, labels: texts },
  ...{ thread: text(), routed: boolean },
});

/** `dataOf` is the shape of the data of each kind. */
export function filterPathCheck(dataOf: readonly Schema[]): CheckFilterPaths {
  const ofKind = (name: string) => dataOf[Kind[name as KindName]];
  const ofAny = anyOf(dataOf);
  const claim = closed({
    ...{ action: text(), amount: integer(), source: Reference, target: Reference, symbol: Reference },
    intent: ofKind('intent')!,
  });
  const records = KINDS.map(({ name }): [string, Schema] => {
    // With proofs it is told by its handle alone.
    return [name, anyOf([text(), closed({ data: ofKind(name)!, meta: META, hash: text(), luid: text() })])];
  });
  const event = closed({
    ...{ handle: text(), signal: text(), amount: integer(), metric: text(), proofs: array(Proof) },
    ...Object.fromEntries(records),
  });

  return (kind, data) => {
    if (kind === Kind.wallet) {
      const { routes = [] } = data as { readonly routes?: readonly Filtered[] };
      const faults = routes.flatMap((route, i) => faultsOf(claim, route, `/data/routes/${i}/filter`, ROUTE_FILTER));
      return faults.length === 0 ? null : faults.slice(0, ERRORS_MAX);
    }
    if (kind !== Kind.policy && kind !== Kind.effect) return null;
    const { record = '' } = data as { readonly record?: string };
    const seen = kind === Kind.effect ? event : object({ data: ofKind(record.replace(/-proof$/, '')) ?? ofAny });
    const faults = faultsOf(seen, data, '/data/filter', OWN_FILTER);
    return faults.length === 0 ? null : faults;
  };
}

/** The first path of the filter that leads nowhere. */
function faultsOf(seen: Schema, { filter = {} }: Filtered, instancePath: string, schemaPath: string): Fault[] {
  const wrong = Object.keys(filter).find((path) => !leads(seen, path.split('.')));
  if (wrong === undefined) return [];
  const path = wrong.slice(0, PATH_LENGTH_MAX);
  const hint = INDEX.test(wrong) ? ': elements of a list are asked for without an index, leave it out' : '';
  const message = `must not ask for ${path}, where nothing is that can be compared${hint}`;
  return [{ instancePath, schemaPath: `${schemaPath}/path`, keyword: 'path', params: { path }, message }];
}

/** The words of a schema that say what a value has in it. */
interface Shape {
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: object;
  readonly additionalProperties?: false;
}

/** Whether a value of this shape may have something at the path that filters compare: no object but by its handle. */
function leads(schema: Schema, path: readonly string[], from = 0): boolean {
  if (schema === AnyClaim) return Object.values(CLAIMS).some((claim) => leads(claim, path, from));
  const { anyOf, items, properties, patternProperties, additionalProperties } = schema as Shape;
  if (anyOf !== undefined) return anyOf.some((branch) => leads(branch, path, from));
  if (items !== undefined) return leads(items, path, from);
  if (properties === undefined) return from >= path.length;
  const name = path[from] ?? 'handle';
  if (Object.hasOwn(properties, name)) return leads(properties[name]!, path, from + 1);
  return additionalProperties !== false || patternProperties !== undefined;
}
