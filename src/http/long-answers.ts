/**
 * Long answers: pages of long records, histories, records with very many proofs. Their texts lie in memory from when
 * they are made until the disk and the proof threads let them go, and a client may ask for hundreds of them at once. So
 * none is made while those that were made and not sent take too much, and pages are looked at as lists are looked for,
 * in turns.
 */
import { type Call, guarded, walk, walkInTime } from './call.ts';
import { refuse } from './errors.ts';
import type { Reply } from './request.ts';

/** Bytes of an answer from which on it is a long one. */
export const LONG_BYTES_MIN = 256 * 1024;
/** Of all long answers that are made and not sent: beyond, no other is begun. */
export const LONG_ANSWERS_BYTES_MAX = 64 * 1024 * 1024;

export interface HeldReply extends Reply {
  /** Counts so many bytes more, of an answer that is being made. */
  grow(bytes: number): void;
}

export class LongAnswers {
  #bytes = 0;

  /** Bytes of those that were made and not sent. */
  get bytes(): number {
    return this.#bytes;
  }

  get hasRoom(): boolean {
    return this.#bytes < LONG_ANSWERS_BYTES_MAX;
  }

  /** Counts an answer of so many bytes until it is sent, to somebody or nobody. */
  hold(reply: Reply, bytes: number): HeldReply {
    let held = 0;
    const grow = (more: number) => {
      held += more;
      this.#bytes += more;
    };
    grow(bytes);
    return {
      grow,
      get aborted() {
        return reply.aborted;
      },
      whenGone: (run) => reply.whenGone(run),
      stay: () => reply.stay(),
      send: (status, body, headers) => {
        this.#bytes -= held;
        held = 0;
        reply.send(status, body, headers);
      },
    };
  }
}

const TIMEOUT = refuse('api.request-timeout', 'Too many long answers are being made; ask again, or for less at a time');

/** What an answer is made of, and about how many bytes it will have. */
interface Seen {
  readonly bytes: number;
}

/**
 * Looks at what is asked for, and tells it, when it is this request's turn and there is room for an answer of that
 * length. `see` gives null where it has told why there is nothing to see; what was seen while there was no room is let
 * go, and looked at again. How long it waits for its turn:
 * - a page of a list no longer than a list may take;
 * - one record until its turn comes;
 * - an answer to whoever has just made or changed a record does not stand behind those.
 * A long one then waits for room, for as long as a list may take.
 */
export function inTurn<S extends Seen>(
  call: Call,
  see: () => S | null,
  tell: (call: Call, seen: S) => void,
  what: 'page' | 'record' | 'answer' = 'record',
): void {
  const look = (): boolean => {
    const seen = see();
    return seen === null || tellNow(call, seen, tell);
  };
  const lookFirst = (): boolean => {
    if (!look()) walkInTime(call, TIMEOUT, () => call.house.longAnswers.hasRoom && look());
    return true;
  };
  if (what === 'page') walkInTime(call, TIMEOUT, lookFirst);
  else walk(call, lookFirst, undefined, what === 'answer' ? 'owed' : 'fresh');
}

/**
 * Makes all parts of an answer in order, a few at a time, and then goes on; where the answer is long, others take their
 * turns in between. `make` says when its few are done, which may be later. The answer then goes on as one that is being
 * made already, before a crowd that asks for less: otherwise that would come before it after every few.
 */
export function inParts<P extends Seen>(
  call: Call,
  parts: readonly P[],
  make: (few: readonly P[], done: () => void) => void,
  goOn: () => void,
): void {
  let begun = 0;
  const goOnLater = () => walk(call, step, undefined, 'made');
  const step = (pause: number): boolean => {
    while (begun < parts.length) {
      const few = fewFrom(parts, begun);
      begun += few.length;
      let [isDone, isLeft] = [false, false];
      make(few, () => {
        isDone = true;
        if (isLeft) goOnLater();
      });
      isLeft = !isDone;
      if (isLeft) return true;
      if (begun < parts.length && performance.now() >= pause) return false;
    }
    goOn();
    return true;
  };
  if (!step(0)) goOnLater();
}

/** As many as are no long answer by themselves; one that is. */
function fewFrom<P extends Seen>(parts: readonly P[], from: number): readonly P[] {
  let to = from + 1;
  for (let { bytes } = parts[from]!; to < parts.length; to++) {
    bytes += parts[to]!.bytes;
    if (bytes >= LONG_BYTES_MIN) break;
  }
  return parts.slice(from, to);
}

/** Tells what was seen, unless it is long and there is no room for it; returns whether it was told. */
export function tellNow<S extends Seen>(call: Call, seen: S, tell: (call: Call, seen: S) => void): boolean {
  const { longAnswers } = call.house;
  if (seen.bytes < LONG_BYTES_MIN) tell(call, seen);
  else if (longAnswers.hasRoom) {
    const held = { ...call, reply: longAnswers.hold(call.reply, seen.bytes) };
    // What ends it, a mistake of ours too, or a lack of memory, is answered by the reply that gives the room back.
    guarded(held, () => tell(held, seen));
  } else return false;
  return true;
}
