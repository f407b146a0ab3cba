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

const STATUS = methods({ GET: 'status' });
const HEAD = methods({ GET: 'head' });
const EVENTS = methods({ GET: 'events' });
const COLLECTION = methods({ GET: 'list', POST: 'create' });
const CHANGES = methods({ GET: 'changes' });
const CHANGE = methods({ GET: 'change' });
const CHECK = methods({ POST: 'check' });
const MEMBERS = methods({ GET: 'members', POST: 'assign' });
const MEMBER = methods({ DELETE: 'remove' });
const DELIVERIES = methods({ GET: 'deliveries' });
const RETRY = methods({ POST: 'retry' });
const ACTIVATE = methods({ POST: 'activate' });
const PROOFS = methods({ POST: 'proof' });
const DROP = methods({ POST: 'drop' });
const BALANCES = methods({ GET: 'balances' });
const LIMITS = methods({ GET: 'limits' });
const ANCHORS = methods({ GET: 'anchors' });
/** By kind. */
const RECORD: readonly Methods[] = KINDS.map(({ update, drop }) =>
  methods({ GET: 'read', ...(update && { PUT: 'update' as const }), ...(drop && { DELETE: 'drop' as const }) }),
);

/** The route of a method and raw path; a refusal where the path is unknown, or known for other methods only. */
export function findRoute(method: string, path: string): Route | Refusal {
  const [root, version, ...raw] = splitPath(path);
  if (root !== '' || version !== VERSION) return unknownPath();
  const segments = path.includes('%') ? raw.map(decode) : raw;
  const found = findPlace(segments);
  if (found === null) return unknownPath();
  const action = found.methods.get(method);
  if (action === undefined) return refuseMethod(allowed(found.methods));
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
  if (length === 0) return { methods: STATUS, kind: Kind.ledger, id: null, tail: '' };
  const collection = segments[0]!;
  const kind = KIND_BY_PATH.get(collection);
  if (kind !== undefined) {
    return length === 1 ? { methods: COLLECTION, kind, id: null, tail: '' } : findPart(kind, segments[1]!, segments, 2);
  }
  // The selected ledger is a record like any other, without its id in the path.
  if (collection === 'ledger') return findPart(Kind.ledger, null, segments, 1);
  if (length > 1) return null;
  if (collection === 'head') return { methods: HEAD, kind: Kind.ledger, id: null, tail: '' };
  if (collection === 'events') return { methods: EVENTS, kind: Kind.effect, id: null, tail: '' };
  return null;
}

/** A record, or the part of it that segment `at` names. */
function findPart(kind: Kind, id: string | null, segments: readonly string[], at: number): Place | null {
  if (segments.length === at) return { methods: RECORD[kind]!, kind, id, tail: '' };
  if (segments.length > at + 2) return null;
  const tail = segments[at + 1];
  const known = methodsOf(kind, segments[at]!, tail);
  return known === null ? null : { methods: known, kind, id, tail: tail ?? '' };
}

function methodsOf(kind: Kind, part: string, tail: string | undefined): Methods | null {
  if (part === 'changes') return tail === undefined ? CHANGES : CHANGE;
  if (part === 'access') return tail === '!check' ? CHECK : null;
  if (part === 'signers' && kind === Kind.circle) return tail === undefined ? MEMBERS : MEMBER;
  if (part === 'events' && kind === Kind.effect) {
    if (tail === undefined) return DELIVERIES;
    return tail === 'retry' ? RETRY : null;
  }
  if (tail !== undefined) return null;
  if (part === 'activate' && kind === Kind.bridge) return ACTIVATE;
  if (part === 'proofs' || (part === 'sign' && kind === Kind.intent)) return PROOFS;
  if (part === 'drop' && kindRow(kind).drop) return DROP;
  if (kind !== Kind.wallet) return null;
  if (part === 'balances') return BALANCES;
  if (part === 'limits') return LIMITS;
  return part === 'anchors' ? ANCHORS : null;
}

/** What is not percent-encoded UTF-8 stays as it was sent: it holds a `%`, which no path that there is and no id does. */
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
