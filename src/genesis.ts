/**
 * How a ledger begins: its record, and the server's own key in it as the signer `system`. Both are entries like any
 * other, made together or not at all.
 */
import { type Caller, GRANTED } from './core/access/index.ts';
import type { CreateCommand } from './core/command.ts';
import { Kind } from './core/kinds.ts';
import { createdCustom } from './core/proofs.ts';
import { SERVER_LEDGER } from './core/state.ts';
import type { Engine } from './engine.ts';
import { firstLedger, type OwnContent, signedByServer, systemSigner } from './own-records.ts';
import { proofDigest } from './proof/digest.ts';
import type { KeyPair } from './proof/keys.ts';

const NO_SEAL = new Uint8Array(0);

/** The command that makes a ledger, and the digests the server signs for it: the record's, then its signer's. */
export function ledgerCommand(
  engine: Engine,
  server: KeyPair,
  content: OwnContent,
  caller: Caller,
): { command: CreateCommand; seals: Uint8Array } {
  const moment = engine.now();
  const create = (kind: Kind, { value, data, hashHex, proofs }: OwnContent) => {
    const luid = engine.newLuid(kind, moment);
    const hash = Buffer.from(hashHex, 'hex');
    const command: CreateCommand = {
      op: 'create',
      sheet: null,
      ledger: SERVER_LEDGER,
      kind,
      moment,
      caller,
      value,
      data,
      hash,
      proofs,
      luid,
      seal: NO_SEAL,
    };
    return { command, digest: proofDigest(hashHex, createdCustom(luid, moment, 'created')) };
  };
  const ledger = create(Kind.ledger, content);
  const signer = create(Kind.signer, signedByServer(server, systemSigner(server.public), moment));
  ledger.command.companion = signer.command;
  return { command: ledger.command, seals: Buffer.concat([ledger.digest, signer.digest]) };
}

/**
 * Makes the ledger that requests without x-ledger work in. It is open to everybody where `owner` is empty, and
 * otherwise to that base64 key alone, as a signature and as a token.
 */
export function createDefaultLedger(engine: Engine, server: KeyPair, handle: string, owner: string): Promise<void> {
  const content = signedByServer(server, firstLedger(handle, owner), engine.now());
  const { command, seals } = ledgerCommand(engine, server, content, GRANTED);
  return new Promise((resolve, reject) => {
    engine.submit({
      command,
      seals,
      checks: new Uint8Array(0),
      answer(outcome) {
        if (Array.isArray(outcome)) resolve();
        else reject(new Error(`${outcome.reason}: ${outcome.detail}`));
      },
    });
  });
}
