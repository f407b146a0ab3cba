/**
 * What the description says of each action: what its operation is called, what it takes and what it answers. The
 * compiler asks whoever adds an action for its row here; which routes there are, the routes themselves say.
 */
import { KINDS, Kind } from '../../core/kinds.ts';
import type { Action, RouteRow } from '../paths.ts';
import { BALANCE_PATHS, type Filtered, LIMIT_PATHS } from '../query.ts';
import { isSelected, pluralOf, singularOf } from './names.ts';

export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Name of the body's schema, and whether there must be one. */
  readonly body?: { readonly schema: string; readonly isRequired: boolean };
  /** What its list can be filtered by; null where by nothing. Absent where it is no list. */
  readonly filtered?: Filtered;
  /** Names of parameters beside those of the path and of lists. */
  readonly parameters?: readonly string[];
  /** Status and schema of what is answered; null for an empty answer, the name of a schema otherwise. */
  readonly answer: { readonly status: number; readonly schema: string | null; readonly description: string };
}

const body = (schema: string) => ({ schema, isRequired: true });
const ok = (schema: string, description: string, status = 200) => ({ status, schema, description });

/** What the record of a path is called: that of `/ledger` is the one that a request works in. */
function nameOf({ path, kind }: RouteRow): string {
  return isSelected(path) ? 'SelectedLedger' : singularOf(kind);
}

function withArticle(kind: Kind): string {
  const { name } = KINDS[kind];
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** The words for which record it is: a ledger's own is selected by a header. */
function whichOf(route: RouteRow): string {
  return isSelected(route.path) ? 'the selected ledger' : withArticle(route.kind);
}

const INTENT_MADE =
  'The answer says `pending`, whatever comes of it; with `Prefer: wait=10` it says what came of it in that time. Whoever got no answer sends the very same again: 409 with its own `hash` says that it is in already.';

const SAID: Record<Action, (route: RouteRow) => Operation> = {
  status: () => ({
    id: 'readStatus',
    summary: 'How the server is, and which ledger the request is for',
    answer: ok('Status', 'The server, as it is.'),
  }),
  head: () => ({
    id: 'readHead',
    summary: 'The end of the books, signed',
    answer: ok('Head', 'The last entry on the disk and the hash of its frame.'),
  }),
  events: () => ({
    id: 'listEvents',
    summary: "The ledger's events, oldest first",
    description: 'A page without events is not the end: ask on from the `page.after` of the answer.',
    parameters: ['After', 'Wait', 'Signal', 'PageLimit'],
    answer: ok('EventList', 'Events, and where to go on.'),
  }),
  create: ({ kind }) => ({
    id: `create${singularOf(kind)}`,
    summary: `Make ${withArticle(kind)}${kind === Kind.intent ? ': its claims are cleared, all or nothing' : ''}`,
    ...(kind === Kind.intent && { description: INTENT_MADE, parameters: ['Prefer'] }),
    body: body(`${singularOf(kind)}Body`),
    answer: ok(singularOf(kind), 'It is made, and on the disk.', 201),
  }),
  list: ({ kind }) => ({
    id: `list${pluralOf(kind)}`,
    summary: `List ${KINDS[kind].path}, the newest first`,
    filtered: kind,
    answer: ok(`${singularOf(kind)}List`, 'Those on this page that the caller may read.'),
  }),
  read: (route) => ({
    id: `read${nameOf(route)}`,
    summary: `Read ${whichOf(route)}`,
    answer: ok(singularOf(route.kind), 'The record as it is.'),
  }),
  update: (route) => ({
    id: `update${nameOf(route)}`,
    summary: `Change ${whichOf(route)}`,
    description: 'The body has the whole new `data`, and in it as `parent` the hash of the version before.',
    body: body(`${singularOf(route.kind)}Body`),
    answer: ok(singularOf(route.kind), 'The new version.'),
  }),
  drop: ({ kind, method }) => ({
    id: `${method === 'DELETE' ? 'delete' : 'drop'}${singularOf(kind)}`,
    summary: `Drop ${withArticle(kind)}${method === 'DELETE' ? ', for clients that can send a body with DELETE' : ''}`,
    body: body('DropBody'),
    answer:
      kind === Kind.effect && method === 'DELETE'
        ? ok('Text', 'A line that says so.')
        : { status: 204, schema: null, description: 'It is dropped.' },
  }),
  proof: (route) => ({
    id: route.path.endsWith('/sign') ? `sign${nameOf(route)}` : `add${nameOf(route)}Proof`,
    summary: `Add a proof to ${whichOf(route)}: a signature, a status, labels`,
    description: 'The proof is over the hash of the record as it is, and is the whole body.',
    ...(route.kind === Kind.intent && { parameters: ['Prefer'] }),
    body: body('Proof'),
    answer: ok(singularOf(route.kind), 'The record with the proof.'),
  }),
  changes: (route) => ({
    id: `list${nameOf(route)}Versions`,
    summary: `The versions of ${whichOf(route)}, the newest first`,
    filtered: null,
    answer: ok(`${singularOf(route.kind)}VersionList`, 'Versions, each with its own proofs.'),
  }),
  change: (route) => ({
    id: `read${nameOf(route)}Version`,
    summary: `One version of ${whichOf(route)}`,
    answer: ok(`${singularOf(route.kind)}Version`, 'The version.'),
  }),
  check: (route) => ({
    id: `check${nameOf(route)}Access`,
    summary: `Whether whoever signs this may do something with ${whichOf(route)}`,
    description: 'It takes no right to read. The list is empty where nothing grants it.',
    body: body('ActionBody'),
    answer: ok('GrantingRuleList', 'The rules that grant it.'),
  }),
  balances: () => ({
    id: 'listWalletBalances',
    summary: 'What a wallet has',
    filtered: BALANCE_PATHS,
    answer: ok('BalanceList', 'A row for each symbol, and another one where some of it is set aside.'),
  }),
  limits: () => ({
    id: 'listWalletLimits',
    summary: 'What limits a wallet',
    filtered: LIMIT_PATHS,
    answer: ok('LimitList', 'A row for each limit that was set.'),
  }),
  anchors: () => ({
    id: 'listWalletAnchors',
    summary: 'The anchors of a wallet',
    filtered: Kind.anchor,
    answer: ok('WalletAnchorList', 'Its anchors.'),
  }),
  assign: () => ({
    id: 'assignCircleSigner',
    summary: 'Put a signer into a circle',
    body: body('CircleSignerBody'),
    answer: ok('CircleSigner', 'The membership.'),
  }),
  members: () => ({
    id: 'listCircleSigners',
    summary: 'Who is in a circle',
    filtered: null,
    answer: ok('CircleSignerList', 'Memberships.'),
  }),
  remove: () => ({
    id: 'removeCircleSigner',
    summary: 'Take a signer out of a circle',
    body: body('CircleSignerDropBody'),
    answer: { status: 204, schema: null, description: 'The signer is out.' },
  }),
  deliveries: () => ({
    id: 'listEffectDeliveries',
    summary: 'What became of the events of an effect',
    filtered: null,
    answer: ok('DeliveryList', 'Deliveries.'),
  }),
  retry: () => ({
    id: 'retryEffectEvents',
    summary: 'Try again to tell what was given up',
    description: 'Allowed by a token, or by a body that is signed.',
    body: { schema: 'ActionBody', isRequired: false },
    answer: ok('Accepted', 'It will be tried.', 202),
  }),
  activate: () => ({
    id: 'activateBridge',
    summary: 'Call a bridge again that was given up',
    description: 'Allowed by a token, or by a body that is signed.',
    body: { schema: 'ActionBody', isRequired: false },
    answer: ok('Accepted', 'It will be called.', 202),
  }),
};

export function operationOf(route: RouteRow): Operation {
  return SAID[route.action](route);
}

/**
 * The statuses with which it may be refused. What is read from a path, a query or a body can be wrong in ways of its
 * own; the rest may happen to any request.
 */
export function refusalsOf({ path, action }: RouteRow, operation: Operation): number[] {
  const { body, filtered } = operation;
  const statuses = [401, 404, 429, 500, 503];
  const isAsked = filtered !== undefined || action === 'events';
  if (action !== 'status' && action !== 'head') statuses.push(403, 408);
  if (body !== undefined || isAsked) statuses.push(400);
  if (body !== undefined || isAsked || path.includes('{id}')) statuses.push(422);
  if (body !== undefined) statuses.push(413);
  if (body?.isRequired === true && action !== 'check') statuses.push(409);
  return statuses.sort((one, other) => one - other);
}
