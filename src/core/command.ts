/**
 * A command is a request that has passed the door: parsed, validated, hashed, its signatures verified. Everything the
 * core may not make itself (the moment, the luid, the server's signature) comes with it.
 */
import type { Caller } from './access.ts';
import type { StoredProof } from './entry.ts';
import type { Kind } from './kinds.ts';

interface CommandBase {
  ledger: number;
  kind: Kind;
  /** When it was received, milliseconds since 1970. */
  moment: number;
  caller: Caller;
}

/** Content as it will be stored. */
interface Content {
  /** data as a value, and canon(data), and the SHA-256 of that. */
  value: Record<string, unknown>;
  data: string;
  hash: Uint8Array;
  proofs: StoredProof[];
}

export interface CreateCommand extends CommandBase, Content {
  op: 'create';
  luid: string;
  seal: Uint8Array;
  /** Created together with it or not at all: a ledger's `system` signer. Its ledger is the one that is made. */
  companion?: CreateCommand;
}

export interface UpdateCommand extends CommandBase, Content {
  op: 'update';
  /** The luid the path's id meant at the door; the seal speaks of it. */
  luid: string;
  seal: Uint8Array;
}

export interface DropCommand extends CommandBase, Content {
  op: 'drop';
  luid: string;
}

export interface ProofCommand extends CommandBase {
  op: 'proof';
  luid: string;
  /** The hash the proof was verified over. */
  hash: Uint8Array;
  proof: StoredProof;
}

export type Command = CreateCommand | UpdateCommand | DropCommand | ProofCommand;
