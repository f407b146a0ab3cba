/** Answers that somebody made to mislead the checker in a browser, or another reader, signed by a key that a test holds. */
import { checkText } from '../../src/story/check.ts';
import { type Json, makeKeys, proof, sha256 } from '../support/client.ts';

export const keys = makeKeys();
export const MOMENT = '2026-11-20T19:37:28.431Z';
export const sealed = { luid: '$wlt.0rZ3aaaaaaaaaaaaa', moment: MOMENT, status: 'created' };

/** A record as a server gives it, of which the canonical data are these. */
export function answerOf(data: string, custom: Json = sealed, luid = sealed.luid): string {
  const hash = sha256(data);
  const meta = JSON.stringify({ moment: MOMENT, proofs: [proof(hash, keys, custom)], status: 'created' });
  return `{"data":${data},"hash":"${hash}","luid":"${luid}","meta":${meta}}`;
}

export const verdictOf = (text: string, key = keys.public) => checkText(text, key).verdict;
export const honest = answerOf('{"custom":{"n":1},"handle":"ana"}');
