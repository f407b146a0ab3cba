/**
 * decide: what a command comes to, against the state as it is, as entries for the journal or a refusal. Reads only;
 * all reasons to say no stand here, and `apply` below it cannot fail.
 *
 * The order of checks: access, then existence, then what the record relates to, then duplicates.
 */
import { type AccessAction, isAllowed } from './access.ts';
import { equalBytes, hex } from './bytes.ts';
import type { Command, CreateCommand, DropCommand, ProofCommand, UpdateCommand } from './command.ts';
import { type CreateEntry, type DropEntry, type Entry, EntryType, type ProofEntry } from './entry.ts';
import { beginIntent, stepByProof } from './intents.ts';
import { Kind, kindRow } from './kinds.ts';
import { type Refusal, refuse } from './refusal.ts';
import { DROPPED, findHandle, findLuid, type RecordView, readRow, type State } from './state.ts';
import { isTermInUse } from './terms.ts';

/** The handle under which the server itself appears as a signer in every ledger. */
export const SYSTEM_SIGNER = 'system';

/** Different status texts over all ledgers; each is one byte in a record's row. */
const STATUSES_MAX = 200;

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
  }
}

function decideCreate(state: State, command: CreateCommand, now: number): Entry[] | Refusal {
  const { ledger, kind } = command;
  const handle = command.value.handle as string;
  const no = denied(state, command, 'create', -1) ?? unrelated(state, command) ?? duplicate(state, command, handle);
  if (no !== null) return no;
  if (kind === Kind.intent) return [beginIntent(state, command, handle, now)];
  const entry = createEntry(command, ledger);
  if (command.companion === undefined) return [entry];
  return [entry, createEntry(command.companion, state.ledgers.length)];
}

function createEntry(command: CreateCommand, ledger: number): CreateEntry {
  const { kind, luid, moment, hash, data, proofs, seal } = command;
  const handle = command.value.handle as string;
  return { type: EntryType.create, ledger, kind, luid, handle, moment, hash, data, proofs, seal };
}

function decideUpdate(state: State, command: UpdateCommand): Entry[] | Refusal {
  const { ledger, kind, luid, moment, hash, data, proofs, seal } = command;
  const row = liveRow(state, command);
  if (row < 0) return notFound(kind);
  const no = denied(state, command, 'update', row);
  if (no !== null) return no;
  const record = readRow(state, row);
  const handle = command.value.handle as string;
  if (kind === Kind.signer && record.entry.handle === SYSTEM_SIGNER) {
    return refuse('record.invalid', 'The system signer is kept by the server itself');
  }
  const late =
    parentMismatch(command.value, record) ??
    unrelated(state, command) ??
    (handle === record.entry.handle ? null : duplicate(state, command, handle));
  if (late !== null) return late;
  return [{ type: EntryType.update, ledger, kind, luid, handle, moment, hash, data, proofs, seal, row }];
}

function decideDrop(state: State, command: DropCommand): Entry[] | Refusal {
  const { ledger, kind, luid, moment, hash, data, proofs } = command;
  const row = liveRow(state, command);
  if (row < 0) return notFound(kind);
  const no = denied(state, command, 'drop', row);
  if (no !== null) return no;
  const record = readRow(state, row);
  const late = parentMismatch(command.value, record) ?? inUse(state, ledger, kind, record);
  if (late !== null) return late;
  const entry: DropEntry = {
    type: EntryType.drop,
    ledger,
    kind,
    luid,
    handle: record.entry.handle,
    moment,
    row,
    hash,
    data,
    proofs,
  };
  return [entry];
}

function decideProof(state: State, command: ProofCommand, now: number): Entry[] | Refusal {
  const { ledger, kind, luid, moment, proof } = command;
  const row = liveRow(state, command);
  if (row < 0) return notFound(kind);
  const record = readRow(state, row);
  if (!equalBytes(record.entry.hash, command.hash)) {
    return refuse('crypto.signature-invalid', 'The record has changed since the proof was made');
  }
  // A repeated report changes nothing.
  const known = [...record.entry.proofs];
  for (const entry of record.added) if (entry.type === EntryType.proof) known.push(entry.proof);
  if (known.some((each) => equalBytes(each.result, proof.result) && each.custom === proof.custom)) return [];
  const status = kind === Kind.intent ? null : statusOf(proof.custom);
  if (status !== null && !state.statuses.includes(status) && state.statuses.length >= STATUSES_MAX) {
    return refuse('record.status-policy-violation', `${status} would be one status more than this server keeps`);
  }
  const entry: ProofEntry = {
    type: EntryType.proof,
    ledger,
    kind,
    luid,
    handle: record.entry.handle,
    moment,
    row,
    proof,
    status,
  };
  if (kind !== Kind.intent) return [entry];
  const step = stepByProof(state, record, proof.public, proof.custom, command.caller, now);
  return step === null ? [entry] : [entry, step];
}

/** The status a proof gives to a record that is not an intent: ledgers without status policies let any proof give one. */
function statusOf(custom: string | null): string | null {
  if (custom === null) return null;
  const { status } = JSON.parse(custom) as { status?: unknown };
  return typeof status === 'string' && /^[a-z][a-z-]{0,31}$/.test(status) ? status : null;
}

// ---------------------------------------------------------------- reasons to say no

function liveRow(state: State, command: { ledger: number; kind: Kind; luid: string }): number {
  const row = findLuid(state, command.ledger, command.kind, command.luid);
  return row >= 0 && (state.rows.flags.get(row) & DROPPED) === 0 ? row : -1;
}

export function notFound(kind: Kind): Refusal {
  const { name } = kindRow(kind);
  return refuse('record.not-found', `${name[0]!.toUpperCase()}${name.slice(1)} not found`);
}

function denied(state: State, command: Command, action: AccessAction, row: number): Refusal | null {
  if (isAllowed(state, command.ledger, action, row, command.caller)) return null;
  return refuse('auth.forbidden', 'Request is not authorized');
}

function duplicate(state: State, command: CreateCommand | UpdateCommand, handle: string): Refusal | null {
  const row = findHandle(state, command.ledger, command.kind, handle);
  if (row < 0) return null;
  const { entry } = readRow(state, row);
  return refuse('record.duplicated', `A record with handle ${handle} already exists`, {
    luid: entry.luid,
    hash: hex(entry.hash),
  });
}

/** Records that a new or changed record names must exist. */
function unrelated(state: State, command: CreateCommand | UpdateCommand): Refusal | null {
  const { ledger, kind, value } = command;
  const missing = (role: string, related: Kind, handle: unknown): Refusal | null => {
    if (typeof handle !== 'string' || findHandle(state, ledger, related, handle) >= 0) return null;
    return refuse('record.relation-not-found', `${role} ${handle} does not exist`);
  };
  if (kind === Kind.wallet) return missing('Bridge', Kind.bridge, value.bridge);
  if (kind === Kind.anchor && state.ledgers[ledger]!.config['anchor.walletRequired'] !== false) {
    return missing('Wallet', Kind.wallet, value.wallet);
  }
  return null;
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
    for (let slot = state.rows.aux.get(record.row); slot !== 0; slot = state.balances.next(slot - 1)) {
      if (state.balances.available(slot - 1) !== 0) return no('The wallet has a balance');
    }
    const anchored = (member: string) => isTermInUse(state, ledger, Kind.anchor, member, handle);
    if (anchored('wallet') || anchored('target')) return no('An anchor names the wallet');
  }
  if (kind === Kind.bridge && isTermInUse(state, ledger, Kind.wallet, 'bridge', handle)) {
    return no('A wallet needs the bridge');
  }
  return null;
}
