/**
 * A rate limiter, by the time that it takes, for what others send on our calls. The system gives 64 KiB at a time,
 * thirty-two times in a row where there is as much, and a parser goes to the end of what it gets: an answer of eighteen
 * bytes again and again, or a body in pieces of one byte, was two seconds of the only thread for each connection. So
 * what came goes on in small parts, those of all connections together as long as a turn may take, and the rest in later
 * turns. A connection is not read while something of it waits here. One by TLS has two gates: before what is said in
 * it, and, further out, before TLS itself, which keeps some of what comes: told to change keys without end, four
 * connections held the thread for three seconds.
 *
 * What always holds: the bytes of a connection go on in order, its end behind them, and none once it is destroyed; for
 * one answer no more than `ANSWER_READ_MAX`, and where none is waited for none at all: then the connection is cut.
 */
import type { Socket } from 'node:net';

/** Code of the error where an answer takes more than it may. */
export const TOO_LONG = 'ANSWER_TOO_LONG';

/** What may be read for one answer, with heads, what frames its body, and all that is thrown away. */
const ANSWER_READ_MAX = 128 * 1024;
/** As so much counts what came by itself, however short: each takes its effort. */
const READ_MIN = 128;
/**
 * What a ticket to take a TLS session up again counts as, in bytes: servers give two, and each is more work than its
 * own bytes tell.
 */
const TICKET_COSTS = 8 * 1024;
/** Goes on at once: some fifty of the shortest answers, a millisecond. */
const PART_BYTES_MAX = 1024;
/** So long may what all connections let in take in one turn of the loop. */
const TURN_MS_MAX = 4;

/** Of a connection: what came and has not gone on, and what may still be read for this answer. */
interface Gate {
  readonly socket: Socket;
  readonly letIn: (part: Buffer | null) => boolean;
  readonly held: (Buffer | null)[];
  left: number;
  /** That of the bytes that are read as this connection, where it is one by TLS. */
  readonly outer: Gate | null;
}

export class Sluice {
  readonly #gates = new Map<Socket, Gate>();
  /** Those of which something waits for a later turn, the next first. */
  readonly #waiting = new Set<Gate>();
  #turn: NodeJS.Immediate | null = null;
  #spentMs = 0;

  /** How many connections there are. */
  get size(): number {
    return this.#gates.size;
  }

  /** An answer is to come on this connection, new or kept. */
  expect(socket: Socket): void {
    const gate = this.#gates.get(socket) ?? this.#open(socket, null);
    for (let each: Gate | null = gate; each !== null; each = each.outer) each.left = ANSWER_READ_MAX;
  }

  /** This new connection is one by TLS, whose bytes come on `raw`. */
  secure(socket: Socket, raw: Socket): void {
    this.#open(socket, this.#gateOf(raw, null));
  }

  #open(socket: Socket, outer: Gate | null): Gate {
    const gate = this.#gateOf(socket, outer);
    socket.on('session', () => spend(gate, TICKET_COSTS));
    this.#gates.set(socket, gate);
    socket.once('close', () => this.#gates.delete(socket));
    return gate;
  }

  /** A socket calls its own `push` with what came, null at the end, and `_read` where it may have more. */
  #gateOf(socket: Socket, outer: Gate | null): Gate {
    const gate: Gate = { socket, letIn: socket.push.bind(socket), held: [], left: 0, outer };
    const read = socket._read.bind(socket);
    socket.push = (chunk) => {
      gate.held.push(chunk);
      return this.#pass(gate);
    };
    socket._read = (size) => {
      if (gate.held.length === 0) read(size);
    };
    socket.on('resume', () => {
      if (gate.held.length > 0) this.#wait(gate);
    });
    socket.once('close', () => this.#waiting.delete(gate));
    return gate;
  }

  /** Lets in what came just now, as far as this turn has time. Whether more may come. */
  #pass(gate: Gate): boolean {
    this.#turn ??= setImmediate(() => this.#takeTurn());
    let mayCome = false;
    while (mayPass(gate)) {
      if (this.#spentMs >= TURN_MS_MAX) {
        this.#wait(gate);
        return false;
      }
      mayCome = this.#timed(gate);
    }
    return mayCome && gate.held.length === 0;
  }

  #wait(gate: Gate): void {
    this.#waiting.add(gate);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  /** One part of each in turn. What comes in the rest of this turn has the time that is left. */
  #takeTurn(): void {
    this.#turn = null;
    this.#spentMs = 0;
    // A set is walked in the order of adding, what is added on the way included.
    for (const gate of this.#waiting) {
      if (this.#spentMs >= TURN_MS_MAX) break;
      this.#waiting.delete(gate);
      if (mayPass(gate)) this.#timed(gate);
      if (mayPass(gate)) this.#waiting.add(gate);
    }
    if (this.#spentMs > 0) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #timed(gate: Gate): boolean {
    const began = performance.now();
    const mayCome = passOne(gate);
    this.#spentMs += performance.now() - began;
    return mayCome;
  }
}

function mayPass({ socket, held }: Gate): boolean {
  return held.length > 0 && !socket.destroyed && !socket.isPaused();
}

function passOne(gate: Gate): boolean {
  const { socket, held, letIn } = gate;
  const [first] = held as [Buffer | null];
  if (first === null) {
    held.shift();
    return letIn(null);
  }
  const part = first.subarray(0, PART_BYTES_MAX);
  if (part.length < first.length) held[0] = first.subarray(PART_BYTES_MAX);
  else held.shift();
  spend(gate, Math.max(part.length, READ_MIN));
  // Nobody listens where the answer is through: a connection that is kept and floods would be read for ever.
  if (socket.listenerCount('data') === 0) socket.destroy(tooLong());
  return !socket.destroyed && letIn(part);
}

function spend(gate: Gate, bytes: number): void {
  gate.left -= bytes;
  if (gate.left < 0) gate.socket.destroy(tooLong());
}

export function tooLong(): NodeJS.ErrnoException {
  return Object.assign(new Error(), { code: TOO_LONG });
}
