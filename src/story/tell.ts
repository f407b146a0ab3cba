/**
 * The versions of a record that follow from its entries, each with its meta, its data, and its proofs in order: what a
 * server that has these entries shows. render.ts does this for a server; here it is done again from nothing but what a
 * story has.
 */
import { canon } from '../proof/canon.ts';
import { hexOf, isoOf, sha256 } from './bytes.ts';
import { type ToldEntry, type ToldOutcome, type ToldProof, Type } from './entries.ts';
import { isObject, parseJson } from './json.ts';
import { expect } from './not-proven.ts';

export interface ToldVersion {
  /** All of its meta but the proofs. */
  meta: Record<string, unknown>;
  /** Canonical. */
  data: string;
  proofs: ToldProof[];
}

/** `server`: its public key, base64. At least one entry. */
export function tell(entries: readonly ToldEntry[], server: string): ToldVersion[] {
  const first = entries[0]!;
  const versions: ToldVersion[] = [];
  let meta: Record<string, unknown> = {
    status: first.luid.startsWith('$eff') ? 'active' : 'created',
    owners: [...new Set(first.proofs.map((proof) => proof.public))],
  };
  let legs: readonly boolean[] = [];
  for (const entry of entries) {
    const { type, outcome } = entry;
    const isBegin = type === Type.intent || type === Type.create;
    expect(isBegin === (entry === first), 'a record that does not begin once');
    if (namesParent(entry)) expect(parentOf(entry) === hashOf(versions.at(-1)!), 'a version that is left out');
    // Its proofs speak of the drop.
    if (type === Type.drop) continue;
    if (isBegin || type === Type.update) {
      meta = { ...meta, ...metaAtFirst(entry) };
      versions.push({ meta, data: entry.data!, proofs: [...entry.proofs, sealOf(entry, server)] });
    } else versions.at(-1)!.proofs.push(...entry.proofs);
    if (entry.status !== null) meta.status = entry.status;
    if (entry.labels !== null) delete meta.labels;
    if (entry.labels !== null && entry.labels.length > 0) meta.labels = entry.labels;
    if (outcome === null) continue;
    if (legs.length === 0) legs = outcome.links?.legs ?? [];
    if (outcome.links?.isRouted === true) meta.routed = true;
    const passed = outcome.steps.filter((step) => step !== 'failed' && step !== 'error');
    if (passed.length > 0) meta.status = passed.at(-1);
    const customs = customsOf(entry, outcome, legs);
    versions.at(-1)!.proofs.push(...customs.map((custom) => ({ public: server, result: null, custom })));
  }
  return versions;
}

/**
 * Whether its data has the hash of the version before it. Data by which a signer leaves a circle has only the signer.
 */
function namesParent({ type, luid }: ToldEntry): boolean {
  return type === Type.update || (type === Type.drop && !luid.startsWith('$csn'));
}

function parentOf({ data }: ToldEntry): string | null {
  const value = parseJson(data!);
  return isObject(value) && typeof value.parent === 'string' ? value.parent.toLowerCase() : null;
}

function hashOf({ data }: ToldVersion): string {
  return hexOf(sha256(data));
}

/** What a new version changes in the record's meta. */
function metaAtFirst({ type, luid, moment, thread }: ToldEntry): Record<string, unknown> {
  const meta = { moment: isoOf(moment) };
  if (type !== Type.intent) return meta;
  return { ...meta, status: 'pending', thread, ...(thread === luid.slice(5) ? {} : { routed: true }) };
}

/** The server's proof that a version came in. */
function sealOf({ type, luid, moment, seal }: ToldEntry, server: string): ToldProof {
  const sealed = { luid, moment: isoOf(moment) };
  const status = type === Type.intent ? 'pending' : 'created';
  return { public: server, result: seal, custom: canon(type === Type.update ? sealed : { ...sealed, status }) };
}

/** The customs of the server's proofs of an outcome. Since 0.3.0 they also name the intent. */
function customsOf({ luid, isEarly }: ToldEntry, outcome: ToldOutcome, legs: readonly boolean[]): string[] {
  const { links, detail, reason } = outcome;
  return outcome.steps.map((status) => {
    const custom: Record<string, unknown> = { moment: isoOf(outcome.moment), status };
    if (!isEarly) custom.luid = luid;
    if (status !== 'failed' && status !== 'error') return canon(custom);
    Object.assign(custom, { detail, reason });
    if (links !== null && links.failId !== '') custom.failId = links.failId;
    if (links !== null && links.leg > 0) custom.handle = handleOfLeg(luid, links.leg - 1, legs);
    return canon(custom);
  });
}

function handleOfLeg(luid: string, leg: number, legs: readonly boolean[]): string {
  const isCredit = legs[leg];
  expect(isCredit !== undefined, 'an entry that speaks of what is not there');
  return `${isCredit ? 'cre' : 'deb'}_${luid.slice(5)}.${leg}`;
}
