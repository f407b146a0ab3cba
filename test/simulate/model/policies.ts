/**
 * The status and the labels that a proof gives a record, as the ledger's policies have it.
 */
import type { Books } from './books.ts';
import type { Rec } from './record.ts';

const STATUS = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}$/;

/** The status that a proof gives a record; null for none. */
export function statusWished(books: Books, record: Rec, wish: unknown): string | null | { no: string } {
  if (record.kind === 'intent' || typeof wish !== 'string') return null;
  const values = policyValues(books, record, 'status');
  if (values === null) return STATUS.test(wish) ? wish : null;
  const fits = values.some(
    ({ status, from }) => status === wish && (from === undefined || (from as string[]).includes(record.status)),
  );
  return fits ? wish : { no: 'record.status-policy-violation' };
}

/** The labels that a record has by a proof; undefined where it changes none. */
export function labelsWished(
  books: Books,
  record: Rec,
  words: unknown,
): { now: string[] } | { no: string } | undefined {
  const values = policyValues(books, record, 'labels');
  if (!Array.isArray(words) || values === null) return undefined;
  const labels = new Set(record.labels);
  for (const word of words as string[]) {
    const isOff = word.startsWith('-');
    const label = isOff ? word.slice(1) : word;
    const value = values.find((each) => (each as unknown) === label || each.label === label);
    if (value === undefined) return { no: 'record.status-policy-violation' };
    if (record.labels.includes(label) !== isOff) continue;
    const others = books.list(record.ledger, record.kind).filter((other) => other.labels.includes(label));
    if (!isOff && value.unique === true && others.length > 0) return { no: 'record.status-policy-violation' };
    if (isOff) labels.delete(label);
    else labels.add(label);
  }
  const now = [...labels].sort();
  return now.join() === [...record.labels].join() ? undefined : { now };
}

/** What the policies of a sort allow records of its kind, or null where there is none. */
function policyValues(books: Books, record: Rec, sort: string): Record<string, unknown>[] | null {
  const found = books.list(record.ledger, 'policy').filter(({ content: { value } }) => {
    return value.schema === sort && (value.record === record.kind || value.record === 'any');
  });
  return found.length === 0 ? null : found.flatMap(({ content }) => content.value.values as Record<string, unknown>[]);
}
