/**
 * What fetch does before each request here: the event loop goes round once. A process that was busy for longer than the
 * server lets a connection be idle has not heard yet that it was closed, and would send into it; the machine may be busy, or
 * a test may sign sixteen megabytes. Seen as `write EPIPE`, and as `other side closed`.
 */
import { turns } from './turns.ts';

/** From within a turn: to its end, and once past where sockets are read. */
const ROUND = 2;

const MARK = Symbol.for('ayni.test.fetch');

interface Marked {
  fetch: typeof fetch & { [MARK]?: true };
}

const here = globalThis as Marked;
// Files share a process: each of them comes by here.
if (here.fetch[MARK] === undefined) {
  const send = here.fetch;
  const sendAfterTurns = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    await turns(ROUND);
    return send(...request);
  };
  here.fetch = Object.assign(sendAfterTurns, { [MARK]: true as const });
}
