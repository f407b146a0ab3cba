/**
 * Status policies: who may set which status on records of a kind, by a proof whose custom names it.
 *
 * A kind without them takes any status from any proof. Once there is one, only what some value lists may be said: this
 * status, from these statuses, by these signers. Values only add; where several are about one status, any of them will
 * do. With a quorum the proofs stand on the record, and the status changes with the one that completes it; counted are
 * the proofs on the record's present version since its status last changed. An intent's status is never set this way.
 */
import { EntryType, type StoredProof } from './entry.ts';
import { Kind, kindRow } from './kinds.ts';
import {
  compileSeats,
  fits,
  isReached,
  notLet,
  type ProofScene,
  policiesFor,
  type QuorumJson,
  rulesAbout,
  shownWord,
  type WordRule,
} from './quorum.ts';
import type { Refusal } from './refusal.ts';

interface StatusJson extends QuorumJson {
  status: string;
  from?: string[];
}

interface StatusRule extends WordRule {
  from: readonly string[] | null;
}

/** What a text must be to be a status: what handles are made of. */
const STATUS = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}$/;
const STATUS_MAX = 32;

/** The status that a proof of this key and custom gives, null where it gives none, or why it must not be said. */
export function judgeStatus(
  scene: ProofScene,
  key: Uint8Array,
  custom: Record<string, unknown>,
): { status: string | null } | Refusal {
  const { kind, record } = scene;
  const wish = custom.status;
  if (kind === Kind.intent || typeof wish !== 'string') return NO_STATUS;
  const policies = policiesFor(scene, 'status', compile);
  if (policies === null) return STATUS.test(wish) ? { status: wish } : NO_STATUS;
  const listed = rulesAbout(policies, wish);
  const shown = shownWord(wish);
  const no = (why: string) => notLet(scene, why);
  if (listed.length === 0) return no(`No policy lets ${shown} be the status of a record of kind ${kindRow(kind).name}`);
  const next = listed.filter(({ from }) => from === null || from.includes(record.status));
  if (next.length === 0) return no(`No policy lets ${shown} follow ${record.status}`);
  const own = next.filter(({ seats }) => fits(seats, key, scene));
  if (own.length === 0) return no(`No policy lets this signer set ${shown}`);
  const keys = [...keysFor(scene, wish), key];
  return { status: own.some(({ seats }) => isReached(seats, keys, scene)) ? wish : null };
}

const NO_STATUS = { status: null };

function compile(json: StatusJson): StatusRule {
  return { word: json.status, seats: compileSeats(json), from: json.from ?? null };
}

/** Keys that said this status since it last changed. Who says again what it is already takes nobody's word away. */
function keysFor(scene: ProofScene, status: string): Uint8Array[] {
  let keys: Uint8Array[] = [];
  let last: string | null = null;
  for (const entry of scene.record.added) {
    if (entry.type !== EntryType.proof) continue;
    if (entry.status !== null) {
      if (keys.length > 0 && entry.status !== (last ?? scene.begun.status)) keys = [];
      last = entry.status;
    } else if (statusIn(entry.proof) === status) keys.push(entry.proof.public);
  }
  return keys;
}

/**
 * The statuses that proofs on records say, as long as somebody holds these: there may be thousands, and a megabyte in
 * each.
 */
const saidBy = new WeakMap<StoredProof, string | null>();

/** Null where it says none. */
function statusIn(proof: StoredProof): string | null {
  const known = saidBy.get(proof);
  if (known !== undefined) return known;
  const { status } = proof.custom === null ? {} : (JSON.parse(proof.custom) as { status?: unknown });
  // A longer one is none, and is not kept.
  const said = typeof status === 'string' && status.length <= STATUS_MAX ? status : null;
  saidBy.set(proof, said);
  return said;
}
