/**
 * Writes: a body becomes a command, and what came of it, once on disk, becomes the answer.
 */
import { isAllowed, mayEnter, NO_ROW, proofTarget } from '../core/access/index.ts';
import type { CreateCommand, DropCommand, ProofCommand, UpdateCommand } from '../core/command.ts';
import { notFound } from '../core/decide.ts';
import { type Entry, EntryType, type IntentEntry, isFinal, statusAfter } from '../core/entry.ts';
import { findRecord } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { createdCustom, isoMoment, sealCustom, updatedCustom } from '../core/proofs.ts';
import { readRow, type VersionEntry } from '../core/records.ts';
import { isRefusal, refuseShape } from '../core/refusal.ts';
import { drawUp } from '../core/sheet.ts';
import { ledgerCommand } from '../genesis.ts';
import { proofDigest, proofDigestHex } from '../proof/digest.ts';
import { encodeBase64 } from '../proof/keys.ts';
import { proofText } from '../proof/sealer.ts';
import { hexOf, isRouted, labelsText, outcomeText, ownersText, recordText, threadIn } from '../render.ts';
import { type Call, callerOf, guarded, ledgerOf, luidOf, NO_BYTES, refuseDurable, rowOf, walk } from './call.ts';
import {
  type CheckedProofs,
  type Content,
  keysOf,
  openBody,
  openProofs,
  type ProofBody,
  proofAsSent,
  proofTexts,
} from './door.ts';
import { type Header, type Refusal, refuse } from './errors.ts';
import { refuseToKeep } from './json.ts';
import { makeLateProofs } from './read-proofs.ts';
import { sendAsItWas, sendRow, sendToSender } from './reads.ts';
import type { Unanswered, Write } from './submit.ts';
import type { UsualContent } from './usual.ts';

export function createRecord(call: Call): Write | Refusal {
  const { house, route } = call;
  const { kind } = route;
  if (kind === Kind.ledger) return createLedger(call);
  const content = takeUsual(call) ?? openBody(house, kind, 'create', call.body);
  if (isRefusal(content)) return content;
  const { engine } = house;
  const moment = engine.now();
  const luid = engine.newLuid(kind, moment);
  const status = kind === Kind.intent ? 'pending' : 'created';
  const { value, data, hash, proofs, checks, places } = content;
  const caller = callerOf(call, keysOf(content));
  const ledger = ledgerOf(call);
  const sheet = 'brief' in content ? drawUp(house.state, ledger, content.brief) : null;
  // Member by member: V8 takes several times as long to spread what is handed over into a literal.
  const command: CreateCommand = {
    op: 'create',
    luid,
    seal: NO_BYTES,
    ledger,
    kind,
    moment,
    caller,
    value,
    sheet,
    data,
    hash,
    proofs,
  };
  const { hashHex, text } = content;
  const digest = proofDigestHex(hashHex, createdCustom(luid, moment, status));
  const texts: Texts = { data, hashHex, proofs, text };
  const seals = Buffer.from(digest, 'hex');
  const submission: Unanswered = { command, checks, places, seals };
  // Where the server's own proofs are left out, those behind them would be told by other numbers.
  const makesBody = kind === Kind.intent && places === undefined;
  const again = makesBody ? () => bodyText(texts) : undefined;
  const wait = kind === Kind.intent ? waitAsked(call) : null;
  if (wait !== null) return { ...awaited(call, submission, texts, digest, wait), bodyText: again };
  const done = ([entry]: Entry[]) => answerCreated(call, texts, entry as VersionEntry, digest);
  return { submission, done, bodyText: again };
}

/**
 * An intent whose client waits for its end. Most come to it at once: what proves it is signed while the disk takes it.
 */
function awaited(call: Call, submission: Unanswered, texts: Texts, digest: string, wait: number): Write {
  let coming: Promise<void> | null = null;
  const ahead = ([entry]: Entry[]) => {
    coming = proofsAhead(call, entry as IntentEntry);
  };
  const done = ([entry]: Entry[]) => {
    const answer = () => answerFinal(call, texts, entry as IntentEntry, digest, wait);
    if (coming === null) answer();
    else coming.then(() => guarded(call, answer));
  };
  return { submission: { ...submission, ahead }, done };
}

/** A mistake in it must not be the batch's: without them the answer makes its proofs itself. */
function proofsAhead({ house }: Call, entry: IntentEntry): Promise<void> | null {
  try {
    if (!isFinal(statusAfter(entry.outcome))) return null;
    return makeLateProofs(house, [{ entry, added: [], before: 0 }]);
  } catch (error) {
    house.defect(error as Error);
    return null;
  }
}

/** It is taken once: who is sent back comes again with a text, and is read as any other. */
function takeUsual(call: Call): UsualContent | null {
  const { usual } = call;
  call.usual = null;
  return usual;
}

/** Content without its value, which takes several times as much and is let go where nobody asks for it. */
type Texts = Pick<Content, 'data' | 'hashHex' | 'proofs' | 'text'>;

/** A body that says the same to the door. */
function bodyText({ data, hashHex, text }: Texts): string {
  return `{"hash":"${hashHex}","data":${data},"meta":{"proofs":[${text}]}}`;
}

/** What every command takes from a body that passed the door. */
export function contentCommand(call: Call, content: Content, moment: number) {
  const { value, data, hash, proofs } = content;
  return {
    ledger: ledgerOf(call),
    kind: call.route.kind,
    moment,
    caller: callerOf(call, keysOf(content)),
    value,
    data,
    hash,
    proofs,
  };
}

function createLedger(call: Call): Write | Refusal {
  const { house } = call;
  const content = openBody(house, Kind.ledger, 'create', call.body);
  if (isRefusal(content)) return content;
  const caller = callerOf(call, keysOf(content));
  const { command, seals } = ledgerCommand(house.engine, house.server, content, caller);
  const { checks, places } = content;
  const done = ([entry]: Entry[]) => {
    const created = entry as VersionEntry;
    answerCreated(call, content, created, proofDigestHex(content.hashHex, sealCustom(created)));
  };
  return { submission: { command, checks, places, seals }, done };
}

/**
 * The answer to a create is put together from what the request brought; nothing is read back. `digest` is that of the
 * server's proof, as it was signed.
 */
function answerCreated(call: Call, content: Texts, entry: VersionEntry, digest: string): void {
  const status = entry.type === EntryType.intent ? 'pending' : entry.kind === Kind.effect ? 'active' : 'created';
  call.reply.send(201, createdText(call, content, entry, digest, status));
}

/** The record that was just made. */
export function createdText(
  call: Call,
  content: Texts,
  entry: VersionEntry,
  digest: string,
  status: string,
  late = '',
  routed = false,
): string {
  const sealed = proofText(call.house.sealer.publicText, digest, encodeBase64(entry.seal), sealCustom(entry));
  return recordText({
    data: content.data,
    hash: content.hashHex,
    luid: entry.luid,
    moment: isoMoment(entry.moment),
    owners: ownersText(keysOf(content)),
    proofs: `${content.text},${sealed}${late}`,
    status,
    thread: threadIn(entry),
    isRouted: routed,
  });
}

/** With `Prefer: wait`: the intent in its final status, or as far as it came in the time asked for. */
function answerFinal(call: Call, content: Texts, entry: IntentEntry, digest: string, wait: number): void {
  const { house } = call;
  const status = statusAfter(entry.outcome);
  if (isFinal(status)) {
    const version = { entry, added: [], before: 0 };
    const late = `,${outcomeText(entry.outcome, version, content.hashHex, house.sealer)}`;
    return call.reply.send(
      201,
      createdText(call, content, entry, digest, status, late, isRouted(version)),
      preferenceApplied(wait),
    );
  }
  const { ledger } = call;
  const row = findRecord(house.state, ledger, Kind.intent, entry.luid);
  const caller = callerOf(call, keysOf(content));
  // Who may send intents and read none hears how their own ended, which others may have said things of meanwhile; and
  // who may not even come in any more, nothing of what became of it.
  const tell = () => {
    const headers = preferenceApplied(wait);
    if (isAllowed(house.state, ledger, 'read', Kind.intent, row, caller)) return sendRow(call, 201, row, headers);
    sendToSender(call, row, headers, () => mayEnter(house.state, ledger, Kind.intent, row, caller));
  };
  onceFinal(call, row, entry.luid, wait, tell);
}

/**
 * Calls `tell` once the intent in this row is final, or after so many seconds; at once, `tellNow` where that is
 * another.
 */
function onceFinal(call: Call, row: number, luid: string, wait: number, tell: () => void, tellNow = tell): void {
  const { house, reply } = call;
  // With the rest of its thread it may have come to its end in the same batch.
  if (!house.state.open.has(row)) return tellNow();
  reply.sort = 'wait';
  // Thousands may wait for the same one: they take turns, and those who come later find it signed and made.
  const tellInTurn = () => {
    tell();
    return true;
  };
  reply.whenGone(house.waiters.watch(luid, wait * 1000, () => walk(call, tellInTurn, undefined, 'owed')));
}

function preferenceApplied(wait: number): Header[] {
  return [['preference-applied', `wait=${wait}`]];
}

/** The seconds of `Prefer: wait=…`, or null. */
function waitAsked(call: Call): number | null {
  const prefer = call.request.header('prefer');
  if (prefer === '') return null;
  const found = /(?:^|[,;\s])wait\s*=\s*"?(\d+)"?(?=$|[,;\s])/i.exec(prefer);
  return found === null ? null : Math.min(Number(found[1]), call.house.preferWaitSecondsMax);
}

export function updateRecord(call: Call): Write | Refusal {
  const { house, route } = call;
  const { kind } = route;
  const content = openBody(house, kind, 'update', call.body);
  if (isRefusal(content)) return content;
  const luid = luidOf(call);
  const { data, hashHex, checks, places } = content;
  const moment = house.engine.now();
  const shared = contentCommand(call, content, moment);
  const command: UpdateCommand = { op: 'update', luid, luidSent: content.luid, seal: NO_BYTES, ...shared };
  const seals = proofDigest(hashHex, updatedCustom(luid, moment));
  const done = ([entry]: Entry[]) => {
    const updated = entry as VersionEntry;
    // Owners and status stay those of the record; the row is still as this batch left it.
    const record = readRow(house.state, (updated as { row: number } & VersionEntry).row);
    const text = recordText({
      data,
      hash: hashHex,
      luid,
      lead: labelsText(record.labels),
      moment: isoMoment(moment),
      owners: ownersText(record.owners),
      proofs: `${content.text},${house.sealer.sealed(hashHex, sealCustom(updated), updated.seal)}`,
      status: record.status,
      thread: null,
    });
    call.reply.send(200, text);
  };
  return { submission: { command, checks, places, seals }, done };
}

export function dropRecord(call: Call): Write | Refusal {
  const { house, route, request, reply } = call;
  const { kind } = route;
  const content = openBody(house, kind, 'drop', call.body);
  if (isRefusal(content)) return content;
  const luid = luidOf(call);
  const shared = contentCommand(call, content, house.engine.now());
  const handleSent = content.value.handle as string | undefined;
  const command: DropCommand = { op: 'drop', luid, luidSent: content.luid, handleSent, ...shared };
  const { checks, places } = content;
  const done = ([entry]: Entry[]) => {
    if (kind === Kind.effect && request.method === 'DELETE')
      reply.send(200, JSON.stringify(`Effect ${entry!.handle} dropped`));
    else reply.send(204, '');
  };
  return { submission: { command, checks, places, seals: NO_BYTES }, done };
}

export function addProof(call: Call): Write | Refusal | null {
  const { house, route } = call;
  const errors = house.validate(route.kind, 'proof', call.body);
  if (errors !== null) return refuseShape(errors);
  const row = rowOf(call);
  const body = call.body as ProofBody;
  const opened = openProof(call, row, body);
  if (!isRefusal(opened)) {
    const { entry, proofs, checks } = opened;
    return proofWrite(call, row, { hash: entry.hash, proof: proofs[0]! }, checks);
  }
  if (isToldOfProofs(call, row)) {
    refuseDurable(call, opened);
    return null;
  }
  const { proof, checks } = proofAsSent(body);
  return proofWrite(call, row, { hash: NO_BYTES, proof, unfit: opened }, checks);
}

/** The proof, checked up to its signature, and the record it is over; or why it cannot be added. */
function openProof(
  { house, route }: Call,
  row: number,
  body: ProofBody,
): (CheckedProofs & { entry: VersionEntry }) | Refusal {
  if (row < 0) return notFound(route.kind);
  if (body.public === house.sealer.publicText) return refuse('auth.forbidden', 'The server alone adds its own proofs');
  const { entry } = readRow(house.state, row);
  const checked = openProofs([proofTexts(body)], hexOf(entry.hash));
  if (isRefusal(checked)) return checked;
  return refuseToKeep(checked.text, house.bodyBytesMax) ?? { ...checked, entry };
}

/**
 * Whether what is wrong with a proof is told at once: to whom may add proofs whoever signs them. It depends on what the
 * record says, or that there is none, so to the others it is told as all else is, once a signature is verified and its
 * key may do it. Else they could try guesses.
 */
function isToldOfProofs(call: Call, row: number): boolean {
  const { house, route } = call;
  const [target, caller] = [proofTarget(route.kind), callerOf(call, [])];
  if (row < 0) return mayEnter(house.state, ledgerOf(call), target, NO_ROW, caller);
  return isAllowed(house.state, ledgerOf(call), 'create', target, row, caller);
}

function proofWrite(
  call: Call,
  row: number,
  what: Pick<ProofCommand, 'hash' | 'proof' | 'unfit'>,
  checks: Uint8Array,
): Write {
  const { house, route } = call;
  const command: ProofCommand = {
    op: 'proof',
    ledger: ledgerOf(call),
    kind: route.kind,
    moment: house.engine.now(),
    caller: callerOf(call, [what.proof.public]),
    luid: luidOf(call),
    ...what,
  };
  const wait = route.kind === Kind.intent ? waitAsked(call) : null;
  const done = (entries: Entry[]) => {
    const { ledger, kind, caller, luid, hash, proof } = command;
    const mayRead = () => isAllowed(house.state, ledger, 'read', kind, row, caller);
    const tellAsItWas = () => sendAsItWas(call, row, hash, proof);
    // A proof that stands on the record may be sent by whoever has read or recorded it, as often as they like: without
    // the right to read it is no way to hear what became of the record since, nor where that right is gone meanwhile.
    if (entries.length === 0 && !mayRead()) return tellAsItWas();
    if (wait === null) return sendRow(call, 200, row);
    const send = () => sendRow(call, 200, row, preferenceApplied(wait));
    onceFinal(call, row, luid, wait, () => (mayRead() ? send() : tellAsItWas()), send);
  };
  return { submission: { command, checks, seals: NO_BYTES }, done };
}
