/**
 * What was found: a verdict in words, and the parts that a page shows. Every text in it that comes from the file has
 * gone through `plain` (shown.ts), and is to be shown as text, never as markup.
 */
import { canon } from '../proof/canon.ts';
import { isObject, type Json } from './json.ts';
import { expect } from './not-proven.ts';
import { brief, plain, pretty, type Shown } from './shown.ts';
import type { Signed, SignedProof } from './signed.ts';

/** The first three are the exit codes 0, 2 and 1 of check-story.py, in this order; `unchecked` has none there. */
export type Verdict = 'proven' | 'signed' | 'wrong' | 'unchecked';

export interface Report {
  verdict: Verdict;
  /** One sentence; for a story the one that check-story.py prints. */
  said: string;
  /** What follows from it, and what does not. */
  notes: string[];
  /** Empty where anything is wrong: what is not proven is not shown. */
  parts: Part[];
}

export interface Part {
  title: string;
  facts: Fact[];
  data: Shown;
  proofs: ProofRow[];
  /** Proofs that hold, and are not among these rows. */
  proofsLeftOut: number;
}

export interface Fact {
  name: string;
  value: string;
  /** Who vouches for it. */
  by: string;
}

export interface ProofRow {
  by: string;
  /** By the signer's own clock. */
  moment: string;
  status: string;
  /** All that it says beside the hash. */
  says: string;
}

export const BY_NOBODY = 'nobody has signed this: the word of whoever gave you the text';
export const BY_SERVER = 'signed by the server';
export const BY_CHAIN = 'proven';

const DATA_CHARS_MAX = 100_000;
const VALUE_CHARS_MAX = 2_000;
const PROOFS_SHOWN_MAX = 200;
const FACTS_MAX = 100;

export function partOf(title: string, signed: Signed, facts: Fact[], server: string): Part {
  expect(facts.length <= FACTS_MAX, `it has more than ${FACTS_MAX} members beside its data, as nobody writes it`);
  const proofs = signed.proofs.slice(0, PROOFS_SHOWN_MAX).map((proof) => rowOf(proof, server));
  return {
    title: brief(title, VALUE_CHARS_MAX),
    facts,
    data: pretty(signed.data, DATA_CHARS_MAX),
    proofs,
    proofsLeftOut: signed.proofs.length - proofs.length,
  };
}

function rowOf(proof: SignedProof, server: string): ProofRow {
  return {
    by: proof.public === server ? 'the server' : `the key ${proof.public}`,
    moment: saidOf(proof, 'moment'),
    status: saidOf(proof, 'status'),
    says: proof.customText === null ? '' : brief(proof.customText, VALUE_CHARS_MAX),
  };
}

/** A member of a proof's `custom`, '' where that is no text. */
export function saidOf({ custom }: SignedProof, name: string): string {
  const value = isObject(custom) ? custom[name] : undefined;
  return typeof value === 'string' ? brief(value, VALUE_CHARS_MAX) : '';
}

export function factOf(name: string, value: Json, by: string): Fact {
  const text = typeof value === 'string' ? value : canon(value);
  return { name: brief(name, VALUE_CHARS_MAX), value: brief(text, VALUE_CHARS_MAX), by };
}

const KIND_NAMES: ReadonlyMap<string, string> = new Map([
  ['ldg', 'ledger'],
  ['snr', 'signer'],
  ['sym', 'symbol'],
  ['wlt', 'wallet'],
  ['anc', 'anchor'],
  ['int', 'intent'],
  ['eff', 'effect'],
  ['brg', 'bridge'],
  ['crc', 'circle'],
  ['csn', 'signer of a circle'],
  ['plc', 'policy'],
  ['sch', 'schema'],
]);

/** What to call a record: its kind, as far as its luid tells, and its handle. */
export function titleOf(luid: Json | undefined, data: Json): string {
  const kind = typeof luid === 'string' ? KIND_NAMES.get(luid.slice(1, 4)) : undefined;
  const handle = isObject(data) && typeof data.handle === 'string' ? ` ${plain(data.handle)}` : '';
  return `${kind ?? 'record'}${handle}`;
}
