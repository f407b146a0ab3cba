import type { AnswerBody } from '../../src/http/request.ts';

/** The text of an answer, which comes in parts where it is a long one. */
export function textIn(body: AnswerBody): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString();
}
