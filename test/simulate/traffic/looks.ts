/**
 * Requests that change nothing in the books: reads, lists by any conditions, events, questions about access, and word
 * that somebody else's system is there again.
 */
import type { KindName } from '../../../src/core/kinds.ts';
import { membersAt, PATHS } from '../answers.ts';
import { contentOf, type Filter, type Look, type Operator, recordBody, type Wish } from '../wish.ts';
import type { Clients, Draft } from './clients.ts';

const READ: readonly KindName[] = [
  'intent',
  'intent',
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'circle',
  'signer',
  'ledger',
];

export class LookTraffic {
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  look(ledger: number): Draft {
    const { dice } = this.#clients;
    if (dice.chance(0.35)) return this.#list(ledger);
    if (dice.chance(0.2)) return this.#events(ledger);
    if (dice.chance(0.1))
      return { method: 'GET', path: '/v2/head', ledger, wish: { op: 'head', ledger, kind: 'ledger' } };
    const kind = dice.pick(READ);
    const record = kind === 'ledger' ? this.#clients.books.ledgerRecord(ledger) : this.#clients.any(ledger, kind);
    const id = record === null || dice.chance(0.06) ? this.#clients.nameOfNobody() : this.#clients.idOf(record);
    const home = kind === 'ledger' ? 0 : ledger;
    const path = `/v2/${PATHS[kind]}/${id}`;
    if (kind === 'wallet' && dice.chance(0.6)) {
      const op = dice.chance(0.7) ? 'balances' : 'limits';
      return { method: 'GET', path: `${path}/${op}`, query: 'page.limit=100', ledger, wish: { op, ledger, kind, id } };
    }
    if (dice.chance(0.15))
      return { method: 'GET', path: `${path}/changes`, ledger, wish: { op: 'changes', ledger: home, kind, id } };
    return { method: 'GET', path, ledger, wish: { op: 'read', ledger: home, kind, id } };
  }

  #list(ledger: number): Draft {
    const { dice } = this.#clients;
    const kind = dice.pick(LISTED);
    const count = dice.weigh([
      [0, 3],
      [1, 6],
      [2, 3],
      [3, 1],
    ]);
    const all = Array.from({ length: count }, () => this.#filter(ledger, kind));
    // Two lists of values for one path would be one; a wallet and its handle are one path.
    const pathOf = (filter: (typeof all)[number]) => filter.path.replace(/\.handle$/, '');
    const filters = all.filter((filter, n) => {
      const isSame = (other: typeof filter) => pathOf(other) === pathOf(filter) && other.operator === filter.operator;
      return all.findIndex(isSame) === n;
    });
    const isOldestFirst = dice.chance(0.3);
    const [index, limit] = [dice.chance(0.2) ? dice.below(3) : 0, dice.pick([1, 3, 20])];
    const parts = [`page.limit=${limit}`, ...filters.flatMap((filter, n) => this.#filterParts(filter, n))];
    if (index > 0) parts.push(`page.index=${index}`);
    if (isOldestFirst) parts.push('sort.meta.moment=1');
    const wish: Look = { op: 'list', ledger, kind, filters, isOldestFirst, index, limit };
    return { method: 'GET', path: `/v2/${PATHS[kind]}`, query: parts.join('&'), ledger, wish };
  }

  /** A condition, mostly on something that some record has. */
  #filter(ledger: number, kind: KindName): Filter {
    const { dice } = this.#clients;
    const path = dice.pick([...COMMON_PATHS, ...(FILTER_PATHS[kind] ?? [])]);
    const operator = dice.weigh(OPERATORS);
    if (operator === 'regex') return { path, operator, values: [dice.pick(PATTERNS)] };
    const value = () => {
      const record = dice.chance(0.8) ? this.#clients.any(ledger, kind) : null;
      const known = record === null ? [] : membersAt(record, path).filter((member) => member !== undefined);
      return known.length === 0 ? dice.pick(ODD_VALUES) : String(dice.pick(known));
    };
    const isList = operator === 'in' || operator === 'nin';
    const values = Array.from({ length: isList ? dice.between(1, 3) : 1 }, value);
    // The one place where any text is not a value.
    const isMoment = path === 'meta.moment';
    return { path, operator, values: isMoment ? values.map((text) => momentOf(text)) : values };
  }

  /** The same condition in one of the ways in which clients write it. */
  #filterParts({ path, operator, values }: Filter, number: number): string[] {
    const { dice } = this.#clients;
    const texts = values.map((value) => encodeURIComponent(value));
    if (operator === 'in' || operator === 'nin')
      return texts.map((text, n) => `filter.${path}.$${operator}.${n}=${text}`);
    const suffix = operator === 'eq' ? '' : `$${operator}`;
    const [dotted, brackets] = suffix === '' ? [path, path] : [`${path}.${suffix}`, `${path}][${suffix}`];
    const [text] = texts as [string];
    if (number === 0 && dice.chance(0.2)) {
      const json = { [path]: suffix === '' ? values[0] : { [suffix]: values[0] } };
      return [`filter=${encodeURIComponent(JSON.stringify(json))}`];
    }
    return [dice.pick([`${dotted}=${text}`, `filter.${dotted}=${text}`, `filter[${brackets}]=${text}`])];
  }

  /** What happened lately in a ledger; now and then somebody waits for more. */
  #events(ledger: number): Draft {
    const { dice } = this.#clients;
    const { seq } = this.#clients.books;
    const after = Math.max(0, seq - dice.below(dice.pick([3, 60])) + (dice.chance(0.1) ? dice.below(4) : 0));
    const skip = dice.chance(0.2) ? dice.between(1, 3) : 0;
    const signal = dice.chance(0.5) ? '' : dice.pick(SIGNALS);
    const limit = dice.pick([1, 4, 20]);
    const parts = [`after=${after}${skip > 0 ? `.${skip}` : ''}`, `page.limit=${limit}`];
    if (signal !== '') parts.push(`signal=${signal}`);
    if (dice.chance(0.3)) parts.push(`wait=${dice.between(1, 4)}`);
    const wish: Look = { op: 'events', ledger, kind: 'effect', after, skip, signal, limit };
    return { method: 'GET', path: '/v2/events', query: parts.join('&'), ledger, wish };
  }

  /** May I? */
  check(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const kind = dice.pick<KindName>(['wallet', 'intent', 'symbol', 'bridge', 'circle']);
    const record = this.#clients.any(ledger, kind);
    if (record === null) return null;
    const about = dice.weigh<string | null>([
      [null, 4],
      ['any', 1],
      [kind, 2],
      [dice.pick(['wallet', 'intent', 'wallet-proof', 'anchor']), 2],
    ]);
    const action = dice.pick(['access', 'create', 'read', 'update', 'spend', 'issue', 'limit', 'commit', 'activate']);
    const content = contentOf({ action, ...(about !== null && { record: about }) }, this.#clients.keys(ledger));
    const id = this.#clients.idOf(record);
    const wish: Wish = { op: 'check', ledger, kind, id, content };
    return { method: 'POST', path: `/v2/${PATHS[kind]}/${id}/access/!check`, ledger, wish, body: recordBody(content) };
  }

  /** Somebody says that the other side is there again. */
  wake(ledger: number): Draft | null {
    const isBridge = this.#clients.dice.chance(0.5);
    const kind = isBridge ? 'bridge' : 'effect';
    const record = this.#clients.any(ledger, kind);
    if (record === null) return null;
    const id = this.#clients.idOf(record);
    const op = isBridge ? 'activate' : 'retry-event';
    const path = `/v2/${PATHS[kind]}/${id}/${isBridge ? 'activate' : 'events/retry'}`;
    return { method: 'POST', path, ledger, wish: { op, ledger, kind, id } };
  }
}

const LISTED: readonly KindName[] = [
  'intent',
  'intent',
  'intent',
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'circle',
  'signer',
  'bridge',
];
const COMMON_PATHS = ['data.handle', 'data.schema', 'meta.status', 'meta.moment', 'meta.labels', 'data.custom.n'];
const FILTER_PATHS: Partial<Record<KindName, readonly string[]>> = {
  anchor: ['data.wallet', 'data.target', 'data.symbol'],
  signer: ['data.public'],
  effect: ['data.signal'],
  intent: [
    'meta.thread',
    'data.claims.action',
    'data.claims.amount',
    'data.claims.metric',
    'data.claims.source.handle',
    'data.claims.source',
    'data.claims.target.handle',
    'data.claims.wallet.handle',
    'data.claims.symbol.handle',
  ],
};
const OPERATORS: readonly (readonly [Operator, number])[] = [
  ['eq', 10],
  ['ne', 2],
  ['in', 3],
  ['nin', 1],
  ['gt', 1],
  ['gte', 1],
  ['lt', 1],
  ['lte', 1],
  ['regex', 1],
];
const PATTERNS = ['^w', '[0-3]$', 'bank', '^i-1', 'e.*d$'];
const ODD_VALUES = ['nobody', '0', '7', '-1', '30', 'w9', 'gold', 'completed', 'created', 'bank', 'transfer', 'usd'];
const SIGNALS = [
  'balance-received',
  'intent-updated',
  'intent-created',
  'wallet-created',
  'wallet-proofs-added',
  'wallet-limited',
  'anchor-dropped',
];

function momentOf(text: string): string {
  return /^\d{4}-/.test(text) ? text : '2030-01-02T12:00:01.000Z';
}
