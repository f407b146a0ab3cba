/**
 * A request and the way back, between sockets (server.ts) and what is asked for (app.ts): neither knows the other, both
 * know this.
 */
import type { Header, Refusal } from './errors.ts';

/** A request before its body. */
export interface RequestHead {
  /** Upper case. HEAD is told as GET, and its answer leaves without the body; see methodSent. */
  readonly method: string;
  readonly methodSent: string;
  /** As sent, not decoded. */
  readonly path: string;
  /** What stands behind `?`, as sent; null where there is none. A token can hold to a URL that ends in one. */
  readonly query: string | null;
  /**
   * A header by its lower-case name, '' where absent. Behind the body of what is written only x-ledger, prefer,
   * content-length and transfer-encoding are there, since each costs a call to read; all of them where there is an
   * authorization.
   * An x-ledger that is there and names nothing, or is there twice, is one space; what is preferred at great length is
   * passed over.
   */
  header(name: string): string;
  /**
   * Nobody asks any more for the query, or for a header but x-ledger and prefer: of who waits no more is kept than is
   * needed.
   */
  forgetHead(): void;
}

export interface Request extends RequestHead {
  /** Empty where there is none. Lent until `handle` returns. */
  readonly body: Uint8Array;
}

/** What of requests the figures tell apart: what is written, read, listed, and who waits because he asked to. */
export type Sort = 'write' | 'read' | 'list' | 'wait';

export interface Reply {
  /** What is asked for, once that is known; null: nothing that is counted. */
  sort?: Sort | null;
  /** The client is gone, or was told that there is no room for all who wait: no answer can reach it any more. */
  readonly aborted: boolean;
  /**
   * Runs once the client is gone without an answer, at once where it is gone already. Only the last one given counts.
   */
  whenGone(run: () => void): void;
  /** Something is done for it, so it is told what came of that, and not any more that there is no room. */
  stay(): void;
  /** Answers. A second call, or one after the client has gone, does nothing. */
  readonly send: (status: number, body: AnswerBody, headers?: readonly Header[]) => void;
}

/** JSON, or the parts of it, of which there are several where it is long. */
export type AnswerBody = string | readonly Buffer[];

/** What the server does not know itself. All are called synchronously and must not throw. */
export interface Handler {
  /** Whether a request may come in at all, asked before its body is read. */
  admit(head: RequestHead): Refusal | null;
  handle(request: Request, reply: Reply): void;
  /** Answers a refusal of the server itself with a signed body. */
  refuse(refusal: Refusal, reply: Reply): void;
}
