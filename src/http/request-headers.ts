/**
 * The header lines of a request: what the server itself goes by is read at once, in one walk over all of them, since
 * asking for each that is not there costs more.
 *
 * What always holds: of lines that could be read in two ways, by us and by whoever stands between, none counts.
 */

/** The lines as the native part has them, until the request's handler returns. */
export interface HeaderLines {
  getHeader(lowerCaseName: string): string;
  forEach(look: (name: string, value: string) => void): void;
}

const Named = { ledger: 1, twoLedgers: 2, length: 4, encoding: 8, authorization: 16, twoLengths: 32 } as const;
let named = 0;
/** What clients prefer may come in several lines, which are one list (RFC 7240). */
let preferred = '';

function lookAt(name: string, value: string): void {
  if (name === 'x-ledger') named |= (named & Named.ledger) === 0 ? Named.ledger : Named.twoLedgers;
  else if (name === 'prefer') preferred = preferred === '' ? value : `${preferred}, ${value}`;
  else if (name === 'content-length') named |= (named & Named.length) === 0 ? Named.length : Named.twoLengths;
  else if (name === 'transfer-encoding') named |= Named.encoding;
  else if (name === 'authorization') named |= Named.authorization;
}

export class RequestHeaders {
  /** Of the body, as announced: 0 where nothing is said, NaN where it is no number. */
  readonly bodyBytes: number;
  readonly isChunked: boolean;
  /** Whoever stands between might have gone by the other one: what is the next request here was a part of the body there. */
  readonly hasTwoLengths: boolean;
  readonly #ledger: string;
  readonly #prefer: string;
  readonly #length: string;
  readonly #encoding: string;
  /** All of them, where there is an authorization, or they are kept. */
  #all: Map<string, string> | null;

  constructor(lines: HeaderLines) {
    named = 0;
    preferred = '';
    lines.forEach(lookAt);
    this.#ledger = ledgerIn(lines);
    this.#prefer = preferred;
    this.hasTwoLengths = (named & Named.twoLengths) !== 0;
    this.#length = readIf(lines, Named.length, 'content-length');
    this.bodyBytes = bytesIn(this.#length);
    this.#encoding = readIf(lines, Named.encoding, 'transfer-encoding');
    this.isChunked = this.#encoding !== '';
    this.#all = (named & Named.authorization) === 0 ? null : allOf(lines);
  }

  /** All of them will be there once the native ones are gone. */
  keep(lines: HeaderLines | null): void {
    if (lines !== null) this.#all ??= allOf(lines);
  }

  /** As RequestHead tells it; `lines` where they are still there. */
  get(name: string, lines: HeaderLines | null): string {
    if (name === 'x-ledger') return this.#ledger;
    if (name === 'prefer') return this.#prefer;
    if (this.#all !== null) return this.#all.get(name) ?? '';
    if (name === 'content-length') return this.#length;
    if (name === 'transfer-encoding') return this.#encoding;
    return lines?.getHeader(name) ?? '';
  }
}

/**
 * A header may be there without a value, and the native part takes control characters and bytes beyond ASCII off both
 * ends of one, so a ledger named by those alone would look like none at all; one named `main` and such bytes cannot be
 * told from `main`. Named in two lines it may be another one to whoever stands between, a gateway that puts its own
 * behind the client's.
 */
function ledgerIn(lines: HeaderLines): string {
  if ((named & Named.ledger) === 0) return '';
  return (named & Named.twoLedgers) !== 0 ? ' ' : lines.getHeader('x-ledger') || ' ';
}

function readIf(lines: HeaderLines, which: number, name: string): string {
  return (named & which) === 0 ? '' : lines.getHeader(name);
}

function bytesIn(length: string): number {
  if (length === '') return 0;
  return /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN;
}

/**
 * A token may protect any header, and the lines are gone once the handler returns. Of two tokens neither may be passed
 * over: together they are one text, which is none.
 */
function allOf(lines: HeaderLines): Map<string, string> {
  const headers = new Map<string, string>();
  lines.forEach((name, value) => {
    const first = headers.get(name);
    if (first === undefined) headers.set(name, value);
    else if (name === 'authorization') headers.set(name, `${first}, ${value}`);
  });
  return headers;
}
