/**
 * The head of the books: the last entry on the disk and the hash of its frame, signed by the server. Every frame holds
 * the hash of the one before it, so whoever keeps a head can tell for ever after whether the history up to it was
 * rewritten or cut off (`ayni verify --head`). It is the same whichever ledger is asked.
 */
import { isoMoment } from '../core/proofs.ts';
import { hexOf, signedText } from '../render.ts';
import { type Call, type Head, sendDurable } from './call.ts';

export function readHead(call: Call): void {
  const { engine, sealer, head } = call.house;
  sendDurable(call, () => call.reply.send(200, signedText(headText(head()), engine.now(), sealer)));
}

/** The data of a head, canonical. */
export function headText({ seq, chain, moment }: Head): string {
  return `{"chain":"${hexOf(chain)}","moment":"${isoMoment(moment)}","seq":${seq}}`;
}
