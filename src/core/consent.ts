/**
 * What proofs say to an intent, by their custom: whose keys ask for it, who refuses, who says that a prepared one is to
 * be committed or aborted. Decides nothing: who may say so is for access rules (intents.ts).
 */
import { KeyMap } from './access/key-map.ts';
import { includesBytes } from './bytes.ts';
import { EntryType, type StoredProof } from './entry.ts';
import type { RecordView } from './records.ts';

/** The members of a proof's custom that speak to an intent. */
export interface Words {
  action?: unknown;
  status?: unknown;
  handle?: unknown;
  reason?: unknown;
  detail?: unknown;
  labels?: unknown;
}

/** `custom` is canonical JSON of an object, or null where the proof has none. */
export function wordsOf(custom: string | null): Words {
  return custom === null ? {} : (JSON.parse(custom) as Words);
}

/**
 * What a proof asks of a prepared intent; the status it would give is accepted for the action itself. A status of
 * something with a handle is that thing's: a report about a leg that this intent has not is no command. Who asks for
 * both asks for neither, nor does who says beside it that the intent is not to happen.
 */
export function commandOf({ action, status, handle }: Words): 'commit' | 'abort' | null {
  const said = handle === undefined ? status : undefined;
  const isCommit = action === 'commit' || said === 'committed';
  const isAbort = action === 'abort' || said === 'aborted';
  if (isCommit === isAbort) return null;
  if (isAbort) return 'abort';
  return isRefused({ status: said }) ? null : 'commit';
}

/** Whoever signs that an intent is not to happen, or did not, or speaks of something else, does not ask for it. */
export function isConsent(words: Words): boolean {
  return !isOfElse(words) && !isRefused(words);
}

/** And takes back that its key has asked for it. */
export function isRefusing(words: Words): boolean {
  return !isOfElse(words) && isRefused(words);
}

/** Of a leg, or of labels alone. */
function isOfElse(words: Words): boolean {
  return words.handle !== undefined || isOfLabels(words);
}

function isOfLabels({ action, status, labels }: Words): boolean {
  return labels !== undefined && action === undefined && status === undefined;
}

/**
 * A status that is no step towards the end an intent is to come to, `declined` say, agrees to nothing either, nor does
 * an action that is no part of it, `reject` say.
 */
function isRefused({ action, status }: Words): boolean {
  return (action !== undefined && !ASKING.includes(action)) || (status !== undefined && !AGREEING.includes(status));
}

const AGREEING: readonly unknown[] = ['created', 'pending', 'prepared', 'committed', 'completed'];
const ASKING: readonly unknown[] = ['create', 'sign', 'sign-intent', 'spend', 'issue', 'destroy', 'limit', 'commit'];

/** By older rules any action but `abort` asked for an intent, and so did labels. */
export function wasConsent({ action, status, handle }: Words): boolean {
  return handle === undefined && action !== 'abort' && (status === undefined || AGREEING.includes(status));
}

/** What proofs on records say, as long as somebody holds these: there may be thousands, and a megabyte in each. */
const saidBy = new WeakMap<StoredProof, 'else' | 'no' | 'yes'>();

function saidIn(proof: StoredProof): 'else' | 'no' | 'yes' {
  const known = saidBy.get(proof);
  if (known !== undefined) return known;
  const words = wordsOf(proof.custom);
  const said = isOfElse(words) ? 'else' : isRefused(words) ? 'no' : 'yes';
  saidBy.set(proof, said);
  return said;
}

/** Keys that ask for an intent that waits: of each the last word counts, and `key`, if any, has just asked. */
export function askingKeys({ entry, added }: RecordView, key: Uint8Array | null): Uint8Array[] {
  const asking: Uint8Array[] = [];
  const heard = new KeyMap<true>();
  const hear = (from: Uint8Array, isAsking: boolean) => {
    if (heard.get(from) !== undefined) return;
    heard.add(from, true);
    if (isAsking) asking.push(from);
  };
  if (key !== null) hear(key, true);
  for (let index = added.length - 1; index >= 0; index--) {
    const each = added[index]!;
    if (each.type !== EntryType.proof) continue;
    const said = saidIn(each.proof);
    // Who speaks of something else neither asks nor refuses.
    if (said !== 'else') hear(each.proof.public, said === 'yes');
  }
  for (const each of willingIn(entry.proofs)) hear(each, true);
  return asking;
}

/**
 * Keys that ask for an intent by the proofs it begins with. Nobody has signed in which order those are, so who refuses
 * by one of them asks by none.
 */
export function willingIn(proofs: readonly StoredProof[]): Uint8Array[] {
  const said = proofs.map(({ public: key, custom }) => ({ key, said: beginningOf(wordsOf(custom)) }));
  const keysOf = (word: 'yes' | 'no') => said.filter((each) => each.said === word).map(({ key }) => key);
  const refusing = keysOf('no');
  return keysOf('yes').filter((key) => !includesBytes(refusing, key));
}

/** What a bridge may report of its leg. */
export const REPORTS: readonly unknown[] = ['prepared', 'failed', 'committed', 'aborted'];

/**
 * What a proof that an intent begins with says of it: who sends the intent may have it from anywhere, also from the
 * same intent in another ledger, where it refused, or reported, or gave it labels, which says neither. Nothing else is
 * there yet that a handle could name.
 */
function beginningOf(words: Words): 'yes' | 'no' | 'neither' {
  if (isOfLabels(words) || (words.handle !== undefined && REPORTS.includes(words.status))) return 'neither';
  return isRefused(words) ? 'no' : 'yes';
}
