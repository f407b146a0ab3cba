/**
 * Paths to routes. One function takes a path apart; the tables say which methods it knows.
 */
import { KINDS, Kind, kindRow } from '../core/kinds.ts';
import { type Refusal, refuse, refuseMethod } from './errors.ts';

/** What a request asks for. `list`, `read` … are the same for every kind; the others belong to one. */
export type Action =
  | 'status'
  | 'head'
  | 'create'
  | 'list'
  | 'read'
  | 'update'
  | 'drop'
  | 'proof'
  | 'changes'
  | 'change'
  | 'balances'
  | 'limits'
  | 'anchors'
  | 'check'
  | 'assign'
  | 'members'
  | 'remove'
  | 'events'
  | 'deliveries'
  | 'retry'
  | 'activate';

export interface Route {
  action: Action;
  kind: Kind;
  /** Handle or luid, decoded; null in collections, and for `/ledger`, the selected one. */
  id: string | null;
  /** What stands behind the part: of `change` its number, of `remove` the signer; as sent, decoded. */
  tail: string;
}

const VERSION = 'v2';
const KIND_BY_PATH = new Map<string, Kind>(
  KINDS.flatMap(({ path }, kind) => (path === '' ? [] : [[path, kind as Kind] as const])),
);

/** Methods are any word a client likes, `constructor` too: a Map has none that was not put there. */
type Methods = ReadonlyMap<string, Action>;

function methods(known: Record<string, Action>): Methods {
  return new Map(Object.entries(known));
}

const ROOT = methods({ GET: 'status' });
/** What stands beside the kinds, and is of no ledger's record. */
const SINGLES = new Map([
  ['head', { methods: methods({ GET: 'head' }), kind: Kind.ledger }],
  ['events', { methods: methods({ GET: 'events' }), kind: Kind.effect }],
]);
const COLLECTION = methods({ GET: 'list', POST: 'create' });
const RECORD: readonly Methods[] = KINDS.map(({ update, drop }) =>
  methods({ GET: 'read', ...(update && { PUT: 'update' as const }), ...(drop && { DELETE: 'drop' as const }) }),
);

/** What stands behind a record: its part, and perhaps a tail, in braces where any text may stand there. */
interface Part {
  readonly name: string;
  readonly tail?: string;
  readonly methods: Methods;
  /** Of which kinds; all where it does not say. */
  readonly isOf?: (kind: Kind) => boolean;
}

const only = (one: Kind) => (kind: Kind) => kind === one;

const PARTS: readonly Part[] = [
  { name: 'proofs', methods: methods({ POST: 'proof' }) },
  { name: 'sign', methods: methods({ POST: 'proof' }), isOf: only(Kind.intent) },
  { name: 'drop', methods: methods({ POST: 'drop' }), isOf: (kind) => kindRow(kind).drop },
  { name: 'changes', methods: methods({ GET: 'changes' }) },
  { name: 'changes', tail: '{change}', methods: methods({ GET: 'change' }) },
  { name: 'access', tail: '!check', methods: methods({ POST: 'check' }) },
  { name: 'balances', methods: methods({ GET: 'balances' }), isOf: only(Kind.wallet) },
  { name: 'limits', methods: methods({ GET: 'limits' }), isOf: only(Kind.wallet) },
  { name: 'anchors', methods: methods({ GET: 'anchors' }), isOf: only(Kind.wallet) },
  { name: 'signers', methods: methods({ GET: 'members', POST: 'assign' }), isOf: only(Kind.circle) },
  { name: 'signers', tail: '{signer}', methods: methods({ DELETE: 'remove' }), isOf: only(Kind.circle) },
  { name: 'events', methods: methods({ GET: 'deliveries' }), isOf: only(Kind.effect) },
  { name: 'events', tail: 'retry', methods: methods({ POST: 'retry' }), isOf: only(Kind.effect) },
  { name: 'activate', methods: methods({ POST: 'activate' }), isOf: only(Kind.bridge) },
];

/** The methods of a part by what stands behind it: nothing, this tail, or any other. */
interface Tails {
  bare: Methods | null;
  any: Methods | null;
  readonly named: Map<string, Methods>;
}

const partsOf = (kind: Kind) => PARTS.filter(({ isOf }) => isOf?.(kind) ?? true);

/** By kind, then by the part's name. */
const TAILS: readonly ReadonlyMap<string, Tails>[] = KINDS.map((_, kind) => {
  const byName = new Map<string, Tails>();
  for (const { name, tail, methods } of partsOf(kind as Kind)) {
    const tails = byName.get(name) ?? { bare: null, any: null, named: new Map() };
    byName.set(name, tails);
    if (tail === undefined) tails.bare = methods;
    else if (tail.startsWith('{')) tails.any = methods;
    else tails.named.set(tail, methods);
  }
  return byName;
});

/** So long a path leads nowhere: two ids of the longest, with each of their characters percent-encoded, fit into it. */
const PATH_CHARS_MAX = 2048;

/** The route of a method and raw path; a refusal where the path is unknown, or known for other methods only. */
export function findRoute(method: string, path: string): Route | Refusal {
  if (path.length > PATH_CHARS_MAX) return unknownPath();
  const [root, version, ...raw] = splitPath(path);
  if (root !== '' || version !== VERSION) return unknownPath();
  const segments = path.includes('%') ? raw.map(decode) : raw;
  const found = findPlace(segments);
  if (found === null) return unknownPath();
  const action = found.methods.get(method);
  if (action === undefined) return refuseMethod(allowed(found.methods));
  // A record asked for by an empty name: the list would pass for it.
  if (action === 'list' && path.endsWith('/')) return unknownPath();
  return { action, kind: found.kind, id: found.id, tail: found.tail };
}

/** All that is answered there: HEAD as GET is, and whoever asks for the methods. */
function allowed(known: Methods): string[] {
  const methods = [...known.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'];
}

/** What stands between the slashes; one at the end counts for nothing. */
function splitPath(path: string): string[] {
  const segments: string[] = [];
  let from = 0;
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', from)) {
    segments.push(path.slice(from, slash));
    from = slash + 1;
  }
  if (from < path.length) segments.push(path.slice(from));
  return segments;
}

/** A path that there is. */
interface Place extends Omit<Route, 'action'> {
  methods: Methods;
}

function findPlace(segments: readonly string[]): Place | null {
  const { length } = segments;
  if (length === 0) return { methods: ROOT, kind: Kind.ledger, id: null, tail: '' };
  const collection = segments[0]!;
  const kind = KIND_BY_PATH.get(collection);
  if (kind !== undefined) {
    return length === 1 ? { methods: COLLECTION, kind, id: null, tail: '' } : findPart(kind, segments[1]!, segments, 2);
  }
  // The selected ledger is a record like any other, without its id in the path.
  if (collection === SELECTED) return findPart(Kind.ledger, null, segments, 1);
  const single = length > 1 ? undefined : SINGLES.get(collection);
  return single === undefined ? null : { ...single, id: null, tail: '' };
}

const SELECTED = 'ledger';

/** A record, or the part of it that segment `at` names. */
function findPart(kind: Kind, id: string | null, segments: readonly string[], at: number): Place | null {
  if (segments.length === at) return { methods: RECORD[kind]!, kind, id, tail: '' };
  if (segments.length > at + 2) return null;
  const tail = segments[at + 1];
  const tails = TAILS[kind]!.get(segments[at]!);
  const known = tails === undefined ? null : tail === undefined ? tails.bare : (tails.named.get(tail) ?? tails.any);
  return known === null ? null : { methods: known, kind, id, tail: tail ?? '' };
}

/** A route as it is told to those who ask which there are. */
export interface RouteRow {
  /** Below /v2; in braces what a request puts there. */
  readonly path: string;
  readonly method: string;
  readonly action: Action;
  readonly kind: Kind;
}

/** Every route that findRoute finds, HEAD and OPTIONS apart. */
export function allRoutes(): RouteRow[] {
  const rows: RouteRow[] = [];
  const add = (path: string, kind: Kind, known: Methods) => {
    for (const [method, action] of known) rows.push({ path, method, action, kind });
  };
  const addRecord = (path: string, kind: Kind) => {
    add(path, kind, RECORD[kind]!);
    for (const { name, tail, methods } of partsOf(kind)) {
      add(`${path}/${name}${tail === undefined ? '' : `/${tail}`}`, kind, methods);
    }
  };
  add('/', Kind.ledger, ROOT);
  for (const [path, { kind, methods }] of SINGLES) add(`/${path}`, kind, methods);
  addRecord(`/${SELECTED}`, Kind.ledger);
  for (const [path, kind] of KIND_BY_PATH) {
    add(`/${path}`, kind, COLLECTION);
    addRecord(`/${path}/{id}`, kind);
  }
  return rows;
}

/**
 * What is not percent-encoded UTF-8 stays as it was sent: it holds a `%`, which no path that there is and no id does.
 */
function decode(segment: string): string {
  try {
    return segment.includes('%') ? decodeURIComponent(segment) : segment;
  } catch {
    return segment;
  }
}

function unknownPath(): Refusal {
  return refuse('api.route-not-found', 'There is nothing at this path');
}
