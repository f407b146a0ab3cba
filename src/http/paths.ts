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
  number: string;
}

const VERSION = 'v2';
const KIND_BY_PATH = new Map<string, Kind>(
  KINDS.flatMap(({ path }, kind) => (path === '' ? [] : [[path, kind as Kind] as const])),
);

/** The route of a method and raw path; a refusal where the path is unknown, or known for other methods only. */
export function findRoute(method: string, path: string): Route | Refusal {
  const [root, version, ...raw] = path.split('/');
  if (raw.at(-1) === '') raw.pop();
  if (root !== '' || version !== VERSION) return unknownPath();
  const segments = decodeSegments(raw);
  if (segments === null) return refuse('api.query-malformed', 'The path is not percent-encoded UTF-8');
  const found = methodsOf(segments);
  if (found === null) return unknownPath();
  // Methods are any word a client likes, `constructor` too.
  const action = Object.hasOwn(found.methods, method) ? found.methods[method] : undefined;
  if (action === undefined) return refuseMethod(Object.keys(found.methods));
  return { action, kind: found.kind, id: found.id, number: found.number };
}

interface Methods {
  methods: Record<string, Action>;
  kind: Kind;
  id: string | null;
  number: string;
}

function methodsOf([collection, ...rest]: string[]): Methods | null {
  if (collection === undefined) return { methods: { GET: 'status' }, kind: Kind.ledger, id: null, number: '' };
  if (collection === 'head' && rest.length === 0) {
    return { methods: { GET: 'head' }, kind: Kind.ledger, id: null, number: '' };
  }
  // The selected ledger is a record like any other, without its id in the path.
  if (collection === 'ledger') return recordMethods(Kind.ledger, null, rest);
  if (collection === 'events') {
    return rest.length > 0 ? null : { methods: { GET: 'events' }, kind: Kind.effect, id: null, number: '' };
  }
  const kind = KIND_BY_PATH.get(collection);
  if (kind === undefined) return null;
  const [id, ...parts] = rest;
  if (id === undefined) return { methods: { GET: 'list', POST: 'create' }, kind, id: null, number: '' };
  return recordMethods(kind, id, parts);
}

function recordMethods(kind: Kind, id: string | null, [part, number, ...more]: string[]): Methods | null {
  if (more.length > 0) return null;
  const { update, drop } = kindRow(kind);
  const methods = (known: Record<string, Action>) => ({ methods: known, kind, id, number: number ?? '' });
  if (part === undefined) {
    return methods({
      GET: 'read',
      ...(update && { PUT: 'update' as const }),
      ...(drop && { DELETE: 'drop' as const }),
    });
  }
  if (part === 'changes') return methods({ GET: number === undefined ? 'changes' : 'change' });
  if (part === 'access') return number === '!check' ? methods({ POST: 'check' }) : null;
  if (part === 'signers' && kind === Kind.circle) {
    return methods(number === undefined ? { GET: 'members', POST: 'assign' } : { DELETE: 'remove' });
  }
  if (part === 'events' && kind === Kind.effect) {
    if (number === undefined) return methods({ GET: 'deliveries' });
    return number === 'retry' ? methods({ POST: 'retry' }) : null;
  }
  if (number !== undefined) return null;
  if (part === 'activate' && kind === Kind.bridge) return methods({ POST: 'activate' });
  if (part === 'proofs' || (part === 'sign' && kind === Kind.intent)) return methods({ POST: 'proof' });
  if (part === 'drop' && drop) return methods({ POST: 'drop' });
  if (kind === Kind.wallet && (part === 'balances' || part === 'limits' || part === 'anchors')) {
    return methods({ GET: part });
  }
  return null;
}

function decodeSegments(raw: string[]): string[] | null {
  try {
    return raw.map((segment) => (segment.includes('%') ? decodeURIComponent(segment) : segment));
  } catch {
    return null;
  }
}

function unknownPath(): Refusal {
  return refuse('api.route-not-found', 'There is nothing at this path');
}
