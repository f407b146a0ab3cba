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

const Named = { ledger: 1, twoLedgers: 2, length: 4, encoding: 8, authorization: 16, host: 32, ambiguous: 64 } as const;
let named = 0;
/** What clients prefer may come in several lines, which are one list (RFC 7240). */
let preferred = '';
let sent = 0;
let count = 0;

/** What stands around a line's name and value. */
const AROUND_BYTES = 4;
/** A line that is kept is two texts and a place in a table. */
const LINE_BYTES = 64;
/** Preferences are wishes: of so many characters of them none counts. */
const PREFER_CHARS_MAX = 1024;

const once = (which: number) => ((named & which) === 0 ? which : Named.ambiguous);
const isChunks = (value: string) => value === 'chunked' || value.toLowerCase() === 'chunked';

function lookAt(name: string, value: string): void {
  count++;
  sent += name.length + value.length + AROUND_BYTES;
  if (name === 'x-ledger') named |= (named & Named.ledger) === 0 ? Named.ledger : Named.twoLedgers;
  else if (name === 'prefer') preferred = preferred === '' ? value : `${preferred}, ${value}`;
  else if (name === 'content-length') named |= once(Named.length);
  else if (name === 'transfer-encoding') named |= once(Named.encoding) | (isChunks(value) ? 0 : Named.ambiguous);
  else if (name === 'host') named |= once(Named.host);
  else if (name === 'authorization') named |= Named.authorization;
}

export class RequestHeaders {
  /** Of the body, as announced: 0 where nothing is said, NaN where it is no number. */
  readonly bodyBytes: number;
  readonly isChunked: boolean;
  /**
   * Two lengths, two hosts, or encodings other than chunks: whoever stands between might have gone by the other one,
   * and what is the next request here was a part of the body there.
   */
  readonly isAmbiguous: boolean;
  /** All lines, as they were sent. */
  readonly bytes: number;
  readonly #count: number;
  readonly #ledger: string;
  readonly #prefer: string;
  readonly #length: string;
  readonly #encoding: string;
  /** All of them, where there is an authorization, or they are kept. */
  #all: Map<string, string> | null;
  /** Of an authorization whose line is forgotten: what it says is known for longer. */
  #known = 0;

  constructor(lines: HeaderLines) {
    named = 0;
    preferred = '';
    sent = 0;
    count = 0;
    lines.forEach(lookAt);
    this.bytes = sent;
    this.#count = count;
    this.#ledger = ledgerIn(lines);
    this.#prefer = preferred.length > PREFER_CHARS_MAX ? '' : preferred;
    this.isAmbiguous = (named & Named.ambiguous) !== 0;
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

  /** No other is asked for any more than who only comes with a body may ask for. */
  forget(): void {
    this.#known = this.#all?.get('authorization')?.length ?? this.#known;
    this.#all = null;
  }

  /** What is kept of them in memory, in bytes, or about as many. */
  get keptBytes(): number {
    if (this.#all !== null) return this.bytes + this.#count * LINE_BYTES;
    return this.#ledger.length + this.#prefer.length + this.#length.length + this.#encoding.length + this.#known;
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
