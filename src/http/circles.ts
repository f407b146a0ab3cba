/**
 * Signers join circles and leave them. A membership is a signed record `{circle, signer}`, reached through its circle.
 */
import type { CreateCommand, DropCommand } from '../core/command.ts';
import { findHandle, findRecord } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { isLuid } from '../core/luid.ts';
import { isOfCircle, memberHandle } from '../core/memberships.ts';
import { createdCustom } from '../core/proofs.ts';
import { namesOf, readRow, type VersionEntry } from '../core/records.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { proofDigestHex } from '../proof/digest.ts';
import { type Call, NO_BYTES, refuseDurable } from './call.ts';
import { type Content, openBody } from './door.ts';
import { refuse } from './errors.ts';
import { readableRow } from './may.ts';
import { parseQuery } from './query.ts';
import { sendListing } from './reads.ts';
import type { Write } from './submit.ts';
import { contentCommand, createdText } from './writes.ts';

const MEMBER = Kind['circle-signer'];

export function assignSigner(call: Call): Write | Refusal {
  const content = openMember(call, 'create');
  if (isRefusal(content)) return content;
  const { engine } = call.house;
  const { hashHex, checks, places } = content;
  const moment = engine.now();
  const luid = engine.newLuid(MEMBER, moment);
  const shared = contentCommand(call, content, moment);
  const command: CreateCommand = { op: 'create', luid, sheet: null, seal: NO_BYTES, ...shared, kind: MEMBER };
  const digest = proofDigestHex(hashHex, createdCustom(luid, moment, 'created'));
  return {
    submission: { command, checks, places, seals: Buffer.from(digest, 'hex') },
    done: ([entry]) => call.reply.send(200, createdText(call, content, entry as VersionEntry, digest, 'created')),
  };
}

export function removeSigner(call: Call): Write | Refusal {
  const content = openMember(call, 'drop');
  if (isRefusal(content)) return content;
  const { value, checks, places } = content;
  const { house, route } = call;
  const signer = value.signer as string;
  if (!isLuid(route.tail) && route.tail !== signer) {
    return refuse('record.invalid', 'The signer is not that of the path');
  }
  const isThat = isNamed(call, Kind.signer, route.tail, signer);
  const luid = isThat ? memberLuid(call, value.circle as string, signer) : '';
  const shared = contentCommand(call, content, house.engine.now());
  const command: DropCommand = { op: 'drop', luid, luidSent: content.luid, ...shared, kind: MEMBER };
  return { submission: { command, checks, places, seals: NO_BYTES }, done: () => call.reply.send(204, '') };
}

/** The members of a circle, for whoever may read it. */
export function listSigners(call: Call): void {
  const { house, request } = call;
  const row = readableRow(call);
  if (row < 0) return;
  const query = parseQuery(request.query, null, house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { luid } = namesOf(house.state, row);
  const isVisible = (member: number) => isOfCircle(house.state, member, luid);
  sendListing(call, MEMBER, query, () => isVisible, { circle: luid });
}

/**
 * The body, checked up to its signatures. Whose a luid in the path is is told once those are verified, as that there is
 * no such circle: else whoever may not come in could try names for it.
 */
function openMember(call: Call, operation: 'create' | 'drop'): Content | Refusal {
  const { house, route } = call;
  const content = openBody(house, MEMBER, operation, call.body);
  const id = route.id!;
  if (isRefusal(content)) return content;
  if (!isLuid(id) && id !== content.value.circle) {
    return refuse('record.invalid', 'The circle is not that of the path');
  }
  if (isNamed(call, Kind.circle, id, content.value.circle as string)) return content;
  return { ...content, value: { ...content.value, circle: NOBODYS } };
}

/** No record has it. */
const NOBODYS = '';

/** Whether a path's id, handle or luid, is that of the record with this handle. */
function isNamed({ house: { state }, ledger }: Call, kind: Kind, id: string, handle: string): boolean {
  if (!isLuid(id)) return id === handle;
  const row = findRecord(state, ledger, kind, id);
  return row >= 0 && readRow(state, row).entry.handle === handle;
}

/** The luid of the membership, empty where there is none: what is told of it waits until signatures are verified. */
function memberLuid({ house: { state }, ledger }: Call, circle: string, signer: string): string {
  const rows = [findHandle(state, ledger, Kind.circle, circle), findHandle(state, ledger, Kind.signer, signer)];
  if (rows.some((row) => row < 0)) return '';
  const [circleLuid, signerLuid] = rows.map((row) => readRow(state, row).entry.luid);
  const row = findHandle(state, ledger, MEMBER, memberHandle(circleLuid!, signerLuid!));
  return row < 0 ? '' : readRow(state, row).entry.luid;
}
