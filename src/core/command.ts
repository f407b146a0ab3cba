/**
 * A command is a request that has passed the door: parsed, validated, hashed, its signatures verified. Everything the
 * core may not make itself (the moment, the luid, the server's signature) comes with it.
 */
import type { Caller } from './access/index.ts';
import type { DeliveryEntry, LegState, StoredProof } from './entry.ts';
import type { Kind } from './kinds.ts';
import { proofSize } from './records.ts';
import type { Refusal } from './refusal.ts';
import type { Sheet } from './sheet.ts';

interface CommandBase {
  ledger: number;
  kind: Kind;
  /** When it was received, milliseconds since 1970. */
  moment: number;
  caller: Caller;
}

/** Content as it will be stored. */
interface Content {
  /** canon(data), and the SHA-256 of that. */
  data: string;
  hash: Uint8Array;
  proofs: StoredProof[];
}

export interface CreateCommand extends CommandBase, Content {
  op: 'create';
  /** Data as a value; null where its text alone is kept, see `commandData`. */
  value: Record<string, unknown> | null;
  luid: string;
  seal: Uint8Array;
  /** An intent's, once it is drawn up. */
  sheet: Sheet | null;
  /** Created together with it or not at all: a ledger's `system` signer. Its ledger is the one that is made. */
  companion?: CreateCommand;
}

/** A record's data as a command has it. */
export type CommandData = Pick<CreateCommand, 'value' | 'data'>;

/** The data as a value; where it is not kept as one, read from its text and kept from then on. */
export function commandData(content: CommandData): Record<string, unknown> {
  content.value ??= JSON.parse(content.data) as Record<string, unknown>;
  return content.value;
}

export interface UpdateCommand extends CommandBase, Content {
  op: 'update';
  value: Record<string, unknown>;
  /** The luid the path's id meant at the door, empty where it meant none; the seal speaks of it. */
  luid: string;
  /** The luid in the body, if any. */
  luidSent?: string | undefined;
  seal: Uint8Array;
}

export interface DropCommand extends Omit<UpdateCommand, 'op' | 'seal'> {
  op: 'drop';
  /** The handle in the body, if any. Absent where books are audited: older ones have drops that name another. */
  handleSent?: string | undefined;
}

export interface ProofCommand extends CommandBase {
  op: 'proof';
  luid: string;
  /** The hash the proof was verified over. */
  hash: Uint8Array;
  proof: StoredProof;
  /** What is wrong with it, told to who may add proofs. */
  unfit?: Refusal;
}

/** A token that is good only once, on its way to be used. */
export interface TokenCommand extends CommandBase {
  op: 'token';
  luid: string;
  /** The same for the same jti of the same key in the same ledger, and for no other. */
  id: string;
  /** The last second, since 1970, in which it holds. */
  exp: number;
  /** What it came with, where it is used up only if that is taken; its signatures are verified on the way. */
  beside?: Command;
}

/** A question about access: its signatures are verified on the way, and it changes nothing. */
export interface CheckCommand extends CommandBase {
  op: 'check';
  /** Of the record in question, `kind`'s. */
  luid: string;
}

/** What the server notes by itself of a call to a bridge about a leg, which was in `state`. */
export interface LegCommand extends CommandBase {
  op: 'leg';
  /** The intent's. */
  luid: string;
  leg: number;
  state: LegState;
  /** It was taken and no report need follow, or it cannot be delivered. */
  result: 'told' | 'lost';
  detail: string;
}

/** What the server notes by itself of an event's delivery. */
export interface DeliveryCommand
  extends CommandBase,
    Pick<DeliveryEntry, 'seq' | 'index' | 'attempts' | 'isDelivered' | 'detail'> {
  op: 'delivery';
  /** The delivery's own. */
  luid: string;
  /** Of the effect or bridge, whose kind the command has. */
  receiver: string;
}

/** What the server notes by itself, before it is said when, and that nobody is asked. */
export type Note = Omit<LegCommand, 'moment' | 'caller'> | Omit<DeliveryCommand, 'moment' | 'caller'>;

export type Command =
  | CreateCommand
  | UpdateCommand
  | DropCommand
  | ProofCommand
  | TokenCommand
  | CheckCommand
  | LegCommand
  | DeliveryCommand;

/** About how much memory a command holds until it is answered. */
export function commandSize(command: Command): number {
  let size = COMMAND_SIZE + ('data' in command ? command.data.length : 0);
  const proofs = 'proofs' in command ? command.proofs : 'proof' in command ? [command.proof] : [];
  for (const proof of proofs) size += proofSize(proof);
  return size;
}

const COMMAND_SIZE = 256;

/** The server's signatures, made on the trip that verified the client's, go where the command has room for them. */
export function sealCommand(command: Command, signatures: Uint8Array): void {
  if (command.op !== 'create' && command.op !== 'update') return;
  command.seal = signatures.subarray(0, 64);
  if (command.op === 'create' && command.companion !== undefined) command.companion.seal = signatures.subarray(64, 128);
}
