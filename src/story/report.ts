/**
 * What was found, in words and in pieces that a page puts beside each other. Every text in it that comes from the file
 * is as `plain` makes it, and is text: whoever shows it makes no markup of it.
 */
import { canon } from '../proof/canon.ts';
import { isObject, type Json } from './json.ts';
import { expect } from './not-proven.ts';
import { brief, plain, pretty, type Shown } from './shown.ts';
import type { Signed, SignedProof } from './signed.ts';

/** The first three are the codes 0, 2 and 1 of check-story.py; what nobody has looked at is none of them. */
export type Verdict = 'proven' | 'signed' | 'wrong' | 'unchecked';

export interface Report {
  verdict: Verdict;
  /** One sentence; of a story that of check-story.py. */
  said: string;
  /** What follows from it, and what does not. */
  notes: string[];
  /** Nothing where anything is wrong: what is not so is not shown. */
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
  /** Whose word it is. */
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

/** A member of what a proof says, where that is a text. */
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
