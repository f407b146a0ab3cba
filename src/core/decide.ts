/**
 * decide: what a command comes to, against the state as it is, as entries for the journal or a refusal. Reads only;
 * all reasons to say no stand here, and `apply` below it cannot fail.
 *
 * The order of checks: the gate, existence, access, then what the record relates to, the ledger's own schemas, then
 * duplicates. Whoever may not come in does not learn what there is.
 */
import { type AccessAction, forbidden, isAllowed, mayEnter, NO_ROW, proofTarget, type Target } from './access/index.ts';
import { equalBytes, hex } from './bytes.ts';
import {
  type CheckCommand,
  type Command,
  type CreateCommand,
  commandData,
  type DeliveryCommand,
  type DropCommand,
  type LegCommand,
  type ProofCommand,
  type TokenCommand,
  type UpdateCommand,
} from './command.ts';
import { countKey, LEDGERS_KEPT, STATUSES_KEPT, STATUSES_MAX } from './counts.ts';
import { type CreateEntry, type Entry, EntryType, type ProofEntry, type TokenEntry } from './entry.ts';
import { findHandle, findLuid } from './finding.ts';
import { beginIntent, stepByCall, stepByProof, wordAwaited } from './intents.ts';
import { KINDS, Kind, kindRow } from './kinds.ts';
import { judgeLabels } from './labels.ts';
import { memberHandle } from './memberships.ts';
import { POLICIES_MAX } from './norms.ts';
import { ProofScene } from './quorum.ts';
import { isSameProof, namesOf, proofSize, type RecordView, readRow } from './records.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';
import { replayed } from './replays.ts';
import { sheetOf } from './sheet.ts';
import { DROPPED, type State } from './state.ts';
import { judgeStatus } from './status-policies.ts';
import { isTermInUse } from './terms.ts';
import { misfit } from './user-schemas.ts';

/** The handle under which the server itself appears as a signer in every ledger. */
export const SYSTEM_SIGNER = 'system';

/** Statuses of one ledger, counted for each kind: so that it takes but a share of them from the others. */
const VARIETY_MAX = 300;
/** Those the interface names are there for all. */
const OWN_STATUSES: readonly string[] = ['created', 'onboarded', 'connected', 'active'];
/** Characters of all proofs added to one version of a record: it is read as a whole, so its end must be in sight. */
const ADDED_SIZE_MAX = 4 * 1024 * 1024;
/**
 * The same for an intent, with those that it waits for: whoever may add proofs may have filled the rest of it, so that
 * those who are to agree one by one never could.
 */
const AWAITED_SIZE_MAX = 2 * ADDED_SIZE_MAX;
/**
 * And with the refusals of those who take back that they have agreed: each of them once, for nobody agrees any more by
 * then.
 */
const REFUSED_SIZE_MAX = 3 * ADDED_SIZE_MAX;
/** Of a proof that moves its intent, or is one of those it waits for, where there is no room for more. */
const MOVING_SIZE_MAX = 4096;

/** `now` is when clearing happens: the moment of the batch. */
export function decide(state: State, command: Command, now: number): Entry[] | Refusal {
  switch (command.op) {
    case 'create':
      return decideCreate(state, command, now);
    case 'update':
      return decideUpdate(state, command);
    case 'drop':
      return decideDrop(state, command);
    case 'proof':
      return decideProof(state, command, now);
    case 'token':
      return decideToken(state, command, now);
    case 'check':
      return decideCheck(state, command);
    case 'leg':
      return decideLeg(state, command, now);
    case 'delivery':
      return decideDelivery(state, command);
  }
}

function decideCreate(state: State, command: CreateCommand, now: number): Entry[] | Refusal {
  const { ledger, kind } = command;
  if (kind === Kind['circle-signer']) return decideMember(state, command);
  const handle = (kind === Kind.intent ? sheetOf(state, command) : commandData(command)).handle as string;
  const isMine = isAllowed(state, ledger, 'create', kind, NO_ROW, command.caller, command);
  if (!isMine) return forbidden('create', kind);
  const holder = findHandle(state, ledger, kind, handle);
  const no =
    sentAgain(state, command, handle, holder) ??
    unrelated(state, command) ??
    misfit(state, command) ??
    crowded(state, command, NO_ROW) ??
    duplicate(state, command, handle, holder);
  if (no !== null) return no;
  if (kind === Kind.intent) return [beginIntent(state, command, now)];
  const entry = createEntry(command, ledger, handle);
  if (command.companion === undefined) return [entry];
  return [entry, createEntry(command.companion, state.ledgers.length, SYSTEM_SIGNER)];
}

function createEntry(command: CreateCommand, ledger: number, handle: string): CreateEntry {
  const { kind, luid, moment, hash, data, proofs, seal } = command;
  return { type: EntryType.create, ledger, kind, luid, handle, moment, hash, data, proofs, seal };
}

function decideUpdate(state: State, command: UpdateCommand): Entry[] | Refusal {
  const { ledger, kind, luid, moment, hash, data, proofs, seal } = command;
  const row = liveRow(state, command);
  const no = denied(state, command, 'update', kind, row) ?? strayed(state, command, row);
  if (no !== null) return no;
  const record = readRow(state, row);
  const handle = command.value.handle as string;
  if (kind === Kind.signer && record.entry.handle === SYSTEM_SIGNER) {
    return refuse('record.invalid', 'The system signer is kept by the server itself');
  }
  const late =
    luidMismatch(command) ??
    parentMismatch(command.value, record) ??
    unrelated(state, command) ??
    misfit(state, command) ??
    crowded(state, command, row) ??
    (handle === record.entry.handle ? null : renamed(state, command, record)) ??
    replayed(state, command, handle, row);
  if (late !== null) return late;
  return [{ type: EntryType.update, ledger, kind, luid, handle, moment, hash, data, proofs, seal, row }];
}

function decideDrop(state: State, command: DropCommand): Entry[] | Refusal {
  const { ledger, kind, luid, moment, hash, data, proofs } = command;
  const row = liveRow(state, command);
  const isMember = kind === Kind['circle-signer'];
  const no = isMember ? deniedRemoval(state, command, row) : denied(state, command, 'drop', kind, row);
  if (no !== null) return no;
  const record = readRow(state, row);
  const late =
    luidMismatch(command) ??
    handleMismatch(command, record) ??
    (isMember ? null : (parentMismatch(command.value, record) ?? inUse(state, ledger, kind, record))) ??
    replayed(state, command, command.value.handle);
  if (late !== null) return late;
  const { handle } = record.entry;
  return [{ type: EntryType.drop, ledger, kind, luid, handle, moment, row, hash, data, proofs }];
}

function decideProof(state: State, command: ProofCommand, now: number): Entry[] | Refusal {
  const { ledger, kind, luid, moment, proof } = command;
  const row = liveRow(state, command);
  const no = denied(state, command, 'create', proofTarget(kind), row) ?? command.unfit ?? null;
  if (no !== null) return no;
  const record = readRow(state, row);
  if (!equalBytes(record.entry.hash, command.hash)) {
    return refuse('crypto.signature-invalid', 'The record has changed since the proof was made');
  }
  // A repeated report changes nothing.
  if (record.entry.proofs.some((known) => isSameProof(known, proof))) return [];
  if (record.added.some((each) => each.type === EntryType.proof && isSameProof(each.proof, proof))) return [];
  const { handle } = record.entry;
  const again = replayed(state, { ledger, kind, hash: command.hash, proofs: [proof] }, handle, row);
  if (again !== null) return again;
  const scene = new ProofScene(state, ledger, kind, record);
  const custom = proof.custom === null ? {} : JSON.parse(proof.custom);
  const given = judgeStatus(scene, proof.public, custom);
  if (isRefusal(given)) return given;
  const labelled = judgeLabels(scene, proof.public, custom);
  if (isRefusal(labelled)) return labelled;
  const { status } = given;
  const noPlace = status === null ? null : placeless(state, scene.ledger, status);
  if (noPlace !== null) return noPlace;
  const entry: ProofEntry = { type: EntryType.proof, ledger, kind, luid, handle, moment, row, proof, status };
  if (labelled.labels !== undefined) entry.labels = labelled.labels;
  const step = kind === Kind.intent ? stepByProof(state, record, command, now) : null;
  if (step !== null && isRefusal(step)) return step;
  return filledUp(state, command, record, step !== null) ?? (step === null ? [entry] : [entry, step]);
}

/**
 * Refuses a status that the ledger may not make up any more. What other ledgers have given counts for nothing:
 * otherwise it could find out which those are.
 */
function placeless(state: State, ledger: number, status: string): Refusal | null {
  const { statuses, counts, variety, lateVariety, ownStatuses } = state;
  const own = ownStatuses.get(ledger);
  if (OWN_STATUSES.includes(status) || own?.has(status) === true) return null;
  const number = statuses.indexOf(status);
  if (number >= 0 && KINDS.some((_, kind) => counts.has(countKey(ledger, kind as Kind, number)))) return null;
  const had = (variety.get(ledger) ?? 0) + (own?.size ?? 0);
  if (had >= VARIETY_MAX) {
    return refuse('record.invalid', `The ledger has as many statuses as it may make up: ${status} is none of them`);
  }
  if (number >= 0 || statuses.length < STATUSES_MAX) return null;
  if (ledger < LEDGERS_KEPT && (lateVariety.get(ledger) ?? 0) < STATUSES_KEPT) return null;
  return refuse(
    'record.invalid',
    `The server has as many statuses as its ledgers may make up, and this ledger those kept for it: ${status} is none of them`,
  );
}

/** A signer joins a circle. */
function decideMember(state: State, command: CreateCommand): Entry[] | Refusal {
  const { ledger } = command;
  const value = commandData(command);
  const circle = findHandle(state, ledger, Kind.circle, value.circle as string);
  const no = denied(state, { ...command, kind: Kind.circle }, 'assign-signer', Kind.circle, circle);
  if (no !== null) return no;
  const again = replayed(state, command, undefined);
  if (again !== null) return again;
  const signer = findHandle(state, ledger, Kind.signer, value.signer as string);
  if (signer < 0) return refuse('record.relation-not-found', `Signer ${value.signer} does not exist`);
  const handle = memberHandle(namesOf(state, circle).luid, namesOf(state, signer).luid);
  const holder = findHandle(state, ledger, command.kind, handle);
  const what = `Signer ${value.signer} is in circle ${value.circle} already`;
  return duplicate(state, command, handle, holder, what) ?? [createEntry(command, ledger, handle)];
}

/** Who may take a signer out of a circle is a matter of the circle. */
function deniedRemoval(state: State, command: DropCommand, row: number): Refusal | null {
  const { ledger, value } = command;
  const circle = findHandle(state, ledger, Kind.circle, String(value.circle));
  const no = denied(state, { ...command, kind: Kind.circle }, 'remove-signer', Kind.circle, circle);
  if (no !== null) return no;
  const isIn = row >= 0 && namesOf(state, row).handle.startsWith(namesOf(state, circle).luid);
  return isIn ? null : notFound(Kind['circle-signer']);
}

/**
 * A token that was used is used up, whatever becomes of the request it came with; a stranger's only where that is
 * taken, for what is signed beside it.
 */
function decideToken(state: State, command: TokenCommand, now: number): Entry[] | Refusal {
  const { ledger, kind, luid, moment, id, exp, beside } = command;
  if (state.tokens.has(id)) return USED_UP;
  if (state.tokens.isForgotten(exp)) return FORGOTTEN;
  if (!state.tokens.hasRoom(exp)) {
    return refuse('api.rate-limit-exceeded', 'More tokens that are good only once came than the server remembers');
  }
  const outcome = beside === undefined ? [] : decide(state, beside, now);
  if (isRefusal(outcome)) return outcome;
  const entry: TokenEntry = { type: EntryType.token, ledger, kind, luid, handle: id, moment, exp };
  return [entry];
}

/** What is told of a token that was used before. */
export const USED_UP = refuse('auth.unauthorized', 'token was used before');
const FORGOTTEN = refuse('auth.unauthorized', 'token is so old that it may have been used before');

function decideCheck(state: State, command: CheckCommand): Entry[] | Refusal {
  const { ledger, kind, caller } = command;
  const row = liveRow(state, command);
  if (!mayEnter(state, ledger, kind, row, caller)) return forbidden('access', kind);
  return row < 0 ? notFound(kind) : [];
}

/** Nothing where the intent, or its leg, has gone on meanwhile: then the call is no longer what it waits for. */
function decideLeg(state: State, command: LegCommand, now: number): Entry[] {
  const row = liveRow(state, command);
  const step = row < 0 ? null : stepByCall(state, readRow(state, row), command, now);
  return step === null ? [] : [step];
}

/** Nothing where the effect or bridge was dropped, or is told of nothing any more. */
function decideDelivery(state: State, command: DeliveryCommand): Entry[] {
  const { ledger, kind, luid, moment, receiver, seq, index, attempts, isDelivered, detail } = command;
  const row = liveRow(state, { ...command, luid: receiver });
  if (row < 0 || !state.feeds.has(row)) return [];
  const { handle } = namesOf(state, row);
  const event = { row, seq, index, attempts, isDelivered, detail };
  return [{ type: EntryType.delivery, ledger, kind, luid, handle, moment, ...event }];
}

// ---------------------------------------------------------------- reasons to say no

function liveRow(state: State, command: { ledger: number; kind: Kind; luid: string }): number {
  const row = findLuid(state, command.ledger, command.kind, command.luid);
  return row >= 0 && (state.rows.flags.get(row) & DROPPED) === 0 ? row : -1;
}

export function notFound(kind: Kind): Refusal {
  const { name } = kindRow(kind);
  return refuse('record.not-found', `${name[0]!.toUpperCase()}${name.slice(1).replace('-', ' ')} not found`);
}

/** The gate, then whether there is such a record, then whether this may be done to it. */
function denied(
  state: State,
  { ledger, kind, caller }: Pick<Command, 'ledger' | 'kind' | 'caller'>,
  action: AccessAction,
  target: Target,
  row: number,
): Refusal | null {
  const isMissing = row < 0 && mayEnter(state, ledger, target, row, caller);
  if (isMissing) return notFound(kind);
  return row >= 0 && isAllowed(state, ledger, action, target, row, caller) ? null : forbidden(action, target);
}

/**
 * Whoever may change only records that pass a policy's filter must not turn one into a record that does not: otherwise
 * a harmless record would be made first, and then changed into what may not be made.
 */
function strayed(state: State, command: UpdateCommand, row: number): Refusal | null {
  const { ledger, kind, caller } = command;
  return isAllowed(state, ledger, 'update', kind, row, caller, command) ? null : forbidden('update', kind);
}

/**
 * Refuses what is in already, or was. This comes before all that was decided since about what may come in: otherwise
 * whoever sends a payment again for want of an answer would take it for refused.
 */
function sentAgain(state: State, command: CreateCommand, handle: string, holder: number): Refusal | null {
  const isIn = holder >= 0 && equalBytes(readRow(state, holder).entry.hash, command.hash);
  return isIn ? duplicate(state, command, handle, holder) : replayed(state, command, handle);
}

/**
 * That the handle is taken, by the record in the row `holder`. Whoever may add proofs is shown the record whose hash
 * they know, so its hash is for who may read it, or has sent the same.
 */
function duplicate(
  state: State,
  command: CreateCommand | UpdateCommand,
  handle: string,
  holder: number,
  what = `A record with handle ${handle} already exists`,
): Refusal | null {
  if (holder < 0) return keptForHome(state, command, handle);
  const { ledger, kind, caller } = command;
  const { luid, hash } = readRow(state, holder).entry;
  const isTold = equalBytes(hash, command.hash) || isAllowed(state, ledger, 'read', kind, holder, caller);
  return refuse('record.duplicated', what, isTold ? { luid, hash: hex(hash) } : { luid });
}

/**
 * Refuses the handle that the default ledger had before it was renamed: whoever had it would be the default ledger of
 * the next start.
 */
function keptForHome({ home }: State, { kind, luid }: CreateCommand | UpdateCommand, handle: string): Refusal | null {
  if (kind !== Kind.ledger || home === null || handle !== home.handle || luid === home.luid) return null;
  return refuse('record.invalid', `The server's default ledger was ${handle}, and is looked for by that handle`);
}

/** Policies of one sort for one kind are all asked of every proof, so they are few. `row`: its own, or NO_ROW. */
function crowded(state: State, command: CreateCommand | UpdateCommand, row: number): Refusal | null {
  if (command.kind !== Kind.policy || !state.norms.isFull(command.ledger, commandData(command), row)) return null;
  return refuse('record.invalid', `A kind has at most ${POLICIES_MAX} policies of one sort`);
}

/** Records that a new or changed record names must exist. */
function unrelated(state: State, command: CreateCommand | UpdateCommand): Refusal | null {
  const { ledger, kind } = command;
  const missing = (role: string, related: Kind, handle: unknown): Refusal | null => {
    if (typeof handle !== 'string' || findHandle(state, ledger, related, handle) >= 0) return null;
    return refuse('record.relation-not-found', `${role} ${handle} does not exist`);
  };
  if (kind === Kind.wallet) {
    const { bridge, routes } = commandData(command);
    return missing('Bridge', Kind.bridge, bridge) ?? aimless(routes);
  }
  if (kind === Kind.anchor && state.ledgers[ledger]!.config['anchor.walletRequired'] !== false) {
    return missing('Wallet', Kind.wallet, commandData(command).wallet);
  }
  return null;
}

/** Every route but one that accepts leads somewhere; where to may be made later. */
function aimless(routes: unknown): Refusal | null {
  if (!Array.isArray(routes)) return null;
  const lost = routes.findIndex(({ action, target }) => action !== 'accept' && target === undefined);
  return lost < 0 ? null : refuse('record.invalid', `Route ${lost} has no target`);
}

/**
 * That the record takes no more proofs. One that moves its intent is never one too many: an intent, and each of its
 * legs, passes each state once.
 */
function filledUp(state: State, { kind, proof }: ProofCommand, record: RecordView, isMoving: boolean): Refusal | null {
  const size = proofSize(proof);
  const isShort = size <= MOVING_SIZE_MAX;
  if (isMoving && isShort) return null;
  let all = size;
  for (const each of record.added) if (each.type === EntryType.proof) all += proofSize(each.proof);
  if (all <= ADDED_SIZE_MAX) return null;
  const isIntent = kind === Kind.intent;
  const word = isIntent && isShort && all <= REFUSED_SIZE_MAX ? wordAwaited(state, record, proof) : null;
  if (word === 'no' || (word === 'yes' && all <= AWAITED_SIZE_MAX)) return null;
  const end = isIntent ? '' : '; a new version begins without them';
  return refuse('record.invalid', `The record has as many proofs as it can take${end}`);
}

function luidMismatch({ luid, luidSent }: UpdateCommand | DropCommand): Refusal | null {
  if (luidSent === undefined || luidSent === luid) return null;
  return refuse('record.invalid', 'The luid is not that of the record');
}

/** A change that gives another handle is no drop: whoever saw one that was refused could send it as that. */
function handleMismatch({ handleSent }: DropCommand, record: RecordView): Refusal | null {
  if (handleSent === undefined || handleSent === record.entry.handle) return null;
  return refuse('record.invalid', 'The handle is not that of the record');
}

function parentMismatch(value: Record<string, unknown>, record: RecordView): Refusal | null {
  const { parent } = value;
  if (typeof parent === 'string' && parent.toLowerCase() === hex(record.entry.hash)) return null;
  return refuse('crypto.parent-hash-invalid', 'The parent is not the hash of the current version of the record');
}

/** A wallet goes only when it is empty and unnamed, a bridge only when no wallet needs it. */
function inUse(state: State, ledger: number, kind: Kind, record: RecordView): Refusal | null {
  const { handle } = record.entry;
  const no = (why: string) => refuse('record.drop-rejected', `${why}, so ${handle} cannot be dropped`);
  if (kind === Kind.wallet) {
    if (state.open.isAbout(record.row)) return no('A prepared intent speaks of the wallet');
    for (let slot = state.rows.firstSlot.get(record.row); slot !== 0; slot = state.balances.next(slot - 1)) {
      if (state.balances.available(slot - 1) !== 0) return no('The wallet has a balance');
      if (state.balances.isHeld(slot - 1)) return no('A prepared intent speaks of the wallet');
    }
  }
  const namer = whoNames(state, ledger, kind, handle);
  if (namer !== null) return no(namer);
  if (kind === Kind.bridge && state.open.isTakingPart(record.row)) return no('Intents on their way need the bridge');
  return null;
}

/** Why the record cannot have its new handle. */
function renamed(state: State, command: UpdateCommand, record: RecordView): Refusal | null {
  const { ledger, kind, value } = command;
  const handle = value.handle as string;
  const holder = findHandle(state, ledger, kind, handle);
  return duplicate(state, command, handle, holder) ?? named(state, command, record);
}

/** What names a record by its handle would speak of nobody after a rename, and of whoever takes the handle next. */
function named(state: State, { ledger, kind }: UpdateCommand, { entry: { handle } }: RecordView): Refusal | null {
  const namer = whoNames(state, ledger, kind, handle);
  return namer === null ? null : refuse('record.invalid', `${namer}, so ${handle} cannot be renamed`);
}

/** Which records name this one so that they would be wrong without it, in words; null where none do. */
function whoNames(state: State, ledger: number, kind: Kind, handle: string): string | null {
  const isNamed = (by: Kind, member: string) => isTermInUse(state, ledger, by, member, handle);
  if (kind === Kind.wallet && (isNamed(Kind.anchor, 'wallet') || isNamed(Kind.anchor, 'target'))) {
    return 'An anchor names the wallet';
  }
  return kind === Kind.bridge && isNamed(Kind.wallet, 'bridge') ? 'A wallet needs the bridge' : null;
}
