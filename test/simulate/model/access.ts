/**
 * Who may: the rules of the server, of a ledger and of a record itself, asked for those who signed, whose token came with
 * the request, and the circles they are in.
 */
import { canon } from '../../../src/proof/canon.ts';
import { bearerMark, type Wish } from '../wish.ts';
import type { Books } from './books.ts';
import { keysOf, type Rec } from './record.ts';

interface Rule {
  action: string | { $in: string[] };
  record?: string;
  signer?: { public: string } | { $circle: string };
  bearer?: { $signer: { public: string } };
}

type Place = 'record' | 'ledger' | 'server';

const SERVER_RULES: readonly Rule[] = [{ action: { $in: ['access', 'create'] } }];

/** The gate and the action, for those who signed. */
export function isAllowed(
  books: Books,
  ledger: number,
  action: string,
  target: string,
  record: Rec | null,
  keys: readonly string[],
): boolean {
  const rules = ledgerRules(books, ledger, target, record);
  const kind = target.replace(/-proof$/, '');
  const opens = (rule: Rule) =>
    speaks(rule, 'access', target, 'ledger', keys) || speaks(rule, 'access', kind, 'ledger', keys);
  if (rules !== null && !rules.some(opens)) return false;
  return isGranted(books, ledger, action, target, record, keys);
}

/** The action alone. */
export function isGranted(
  books: Books,
  ledger: number,
  action: string,
  target: string,
  record: Rec | null,
  keys: readonly string[],
): boolean {
  const rules = ledgerRules(books, ledger, target, record) ?? [];
  if (rules.some((rule) => speaks(rule, action, target, 'ledger', keys))) return true;
  if (SERVER_RULES.some((rule) => speaks(rule, action, target, 'server', keys))) return true;
  const own = record === null || record.kind === 'ledger' ? [] : rulesIn(record);
  const known = withCircles(books, ledger, own, keys);
  return own.some((rule) => speaks(rule, action, target, 'record', known));
}

/** The rules that a question finds, as they may be shown: the ledger's, then those of the record it is asked of. */
export function rulesFor(
  books: Books,
  { ledger, kind, content: { value, proofs } }: Wish & { op: 'check' },
  record: Rec,
  bearer: readonly string[],
): string[] {
  const { action, record: about = kind } = value as { action: string; record?: string };
  const target = about === 'any' ? kind : about;
  const keys = [...keysOf(proofs), ...bearer];
  const inLedger = rulesIn(books.ledgerRecord(ledger)).filter((rule) => speaks(rule, action, target, 'ledger', keys));
  const isOwn = target === kind || (kind !== 'ledger' && target === `${kind}-proof`);
  const known = withCircles(books, ledger, rulesIn(record), keys);
  const own = isOwn ? rulesIn(record).filter((rule) => speaks(rule, action, target, 'record', known)) : [];
  return [...inLedger, ...own].map(({ signer: _, bearer: __, ...shown }) => canon(shown));
}

/** Keys, and the circles that signers are in who have them, where any of the rules asks for one. */
function withCircles(books: Books, ledger: number, rules: readonly Rule[], keys: readonly string[]): readonly string[] {
  if (!rules.some(({ signer }) => signer !== undefined && '$circle' in signer)) return keys;
  const signers = books.list(ledger, 'signer').filter(({ content }) => keys.includes(content.value.public as string));
  const circles = books
    .list(ledger, 'circle')
    .filter(({ luid }) => signers.some((signer) => books.find(ledger, 'circle-signer', luid + signer.luid) !== null));
  return [...keys, ...circles.map(({ handle }) => circleMark(handle))];
}

/** Null for a ledger that is only being made. */
function ledgerRules(books: Books, ledger: number, target: string, record: Rec | null): readonly Rule[] | null {
  if (target.startsWith('ledger')) return record === null ? null : rulesIn(record);
  return rulesIn(books.ledgerRecord(ledger));
}

function speaks(rule: Rule, action: string, target: string, place: Place, keys: readonly string[]): boolean {
  const actions = typeof rule.action === 'string' ? [rule.action] : rule.action.$in;
  if (!actions.includes('any') && !actions.includes(action)) return false;
  if (rule.record === undefined) {
    const isOwn = place === 'record' || (place === 'ledger' && target === 'ledger');
    if (!isOwn && !(place === 'server' && (action === 'access' || target === 'ledger'))) return false;
  } else if (rule.record !== 'any' && rule.record !== target) return false;
  if (rule.bearer !== undefined && !keys.includes(bearerMark(rule.bearer.$signer.public))) return false;
  // Nothing that is read is signed.
  const { signer } = rule;
  if (signer === undefined) return true;
  return action !== 'read' && keys.includes('$circle' in signer ? circleMark(signer.$circle) : signer.public);
}

/** Among the keys of a caller: a circle that the signer of one of them is in. */
function circleMark(handle: string): string {
  return `circle ${handle}`;
}

function rulesIn({ content }: Rec): readonly Rule[] {
  return (content.value.access ?? []) as Rule[];
}
