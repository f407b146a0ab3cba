/**
 * Columns: one number per row, in pages of shared memory, growing by a page at a time.
 *
 * There is one class per width with its own `get`, `set` and `push`, word for word alike: code shared between widths
 * would see several kinds of typed arrays in one place and V8 would no longer inline the access. What is rare
 * (pages, dumps) is written once, in `Column`.
 *
 * What always holds: rows at or beyond `length` cannot be read. In an append-only column a page is final, and `set`
 * refused on it, once the next page is begun. Bytes in a dump never change: before the first `set` on a row that is in
 * one, those around it are copied away (hold.ts).
 */
import { BLOCK_BYTES, Holds } from './hold.ts';
import {
  exactly,
  type FinalPart,
  fail,
  finder,
  headPart,
  type Part,
  type Parts,
  pageName,
  powerOfTwo,
  readHead,
  Shape,
  sharedCopy,
  sharedPage,
} from './parts.ts';

const PAGE_ROWS = 65_536;
/** Rows of a column, or of lines. */
export const ROWS_MAX = 2 ** 32 - 1;

type Cells = Uint8Array<SharedArrayBuffer> | Uint32Array<SharedArrayBuffer> | Float64Array<SharedArrayBuffer>;

abstract class Column<Page extends Cells> {
  readonly name: string;
  protected readonly shift: number;
  protected readonly mask: number;
  protected pages: Page[] = [];
  protected rows = 0;
  /** Rows below this one are closed for good; 0 where the column is not append-only. */
  protected closed = 0;
  /** Rows below this one are in some dump, so what is there may have to be copied away before it changes. */
  protected held = 0;
  private readonly appendOnly: boolean;
  private readonly width: number;
  private readonly pageRows: number;
  /** Kept ready so that a dump of many pages takes no time. */
  private readonly fullPages: FinalPart[] = [];
  private holds = new Holds();
  /** Bytes of a block that is copied away, and how far a row is shifted to give its block. */
  private readonly blockBytes: number;
  private readonly blockShift: number;

  /** `width`: bytes per row. `pageRows`: a power of two. */
  constructor(name: string, appendOnly: boolean, width: number, pageRows: number) {
    if (!powerOfTwo(pageRows, 2, 2 ** 24)) fail(`column ${name}: pages of ${pageRows} rows`);
    this.name = name;
    this.appendOnly = appendOnly;
    this.width = width;
    this.pageRows = pageRows;
    this.shift = Math.log2(pageRows);
    this.mask = pageRows - 1;
    this.blockBytes = Math.min(BLOCK_BYTES, pageRows * width);
    this.blockShift = Math.log2(this.blockBytes / width);
  }

  protected abstract view(buffer: SharedArrayBuffer): Page;

  /** Rows pushed so far. */
  get length(): number {
    return this.rows;
  }

  /** Bytes of memory it takes. */
  get taken(): number {
    return this.pages.length * this.pageRows * this.width;
  }

  /** Bytes that were copied for dumps which are not read to their end. */
  get copied(): number {
    return this.holds.bytes;
  }

  /** The full pages of an append-only column, which change no more. */
  get finals(): readonly FinalPart[] {
    return this.fullPages;
  }

  /** The pages as parts; full pages of an append-only column are final. Copies nothing. */
  dump(): Part[] {
    const head = headPart(this.name, Shape.column, [this.width, this.appendOnly ? 1 : 0, this.pageRows, this.rows]);
    const first = this.closed >>> this.shift;
    if (first === this.pages.length) return [head, ...this.fullPages];
    const block = (page: number) => (page * this.pageRows) / 2 ** this.blockShift;
    const { holds } = this;
    const hold = holds.take(this.blockBytes, block(first), block(this.pages.length), () => {
      if (holds === this.holds) this.held = 0;
    });
    this.held = this.rows;
    const open = this.pages.slice(first).map(({ buffer }, index) => {
      const page = first + index;
      const bytes = new Uint8Array(buffer, 0, Math.min(this.pageRows, this.rows - page * this.pageRows) * this.width);
      return hold.part(pageName(this.name, 'open', page), () => hold.read(bytes, block(page), 0));
    });
    return [head, ...this.fullPages, ...open];
  }

  /** Takes over the state of a dump. Throws where parts are missing or do not fit, and then changes nothing. */
  load(parts: Parts): void {
    const find = finder(parts);
    const [width, appendOnly, pageRows, rows] = readHead(find, this.name, Shape.column, 4) as unknown as [
      number,
      number,
      number,
      number,
    ];
    if (width !== this.width || appendOnly !== (this.appendOnly ? 1 : 0) || pageRows !== this.pageRows) {
      throw new Error(`memory: column ${this.name} was dumped with another layout`);
    }
    const count = Math.ceil(rows / pageRows);
    const pages: Page[] = [];
    for (let page = 0; page < count; page++) {
      const final = this.appendOnly && page < count - 1;
      const bytesCount = Math.min(pageRows, rows - page * pageRows) * width;
      const bytes = exactly(find, pageName(this.name, final ? 'page' : 'open', page), bytesCount);
      pages.push(this.view(final ? sharedPage(bytes) : sharedCopy(bytes, pageRows * width)));
    }
    this.pages = pages;
    this.rows = rows;
    this.closed = this.appendOnly && count > 0 ? (count - 1) * pageRows : 0;
    this.fullPages.length = 0;
    for (let page = 0; page < this.closed >>> this.shift; page++) this.fullPages.push(this.finalPart(page));
    // What earlier dumps hold changes no more.
    this.holds = new Holds();
    this.held = 0;
  }

  /** Begins the next page. */
  protected begin(): void {
    if (this.rows + this.pageRows > ROWS_MAX) fail(`column ${this.name} is full`);
    if (this.appendOnly) {
      this.closed = this.rows;
      if (this.rows > 0) this.fullPages.push(this.finalPart(this.pages.length - 1));
    }
    this.pages.push(this.view(new SharedArrayBuffer(this.pageRows * this.width)));
  }

  private finalPart(page: number): FinalPart {
    return { name: pageName(this.name, 'page', page), final: true, bytes: new Uint8Array(this.pages[page]!.buffer) };
  }

  /** Called before a row below `held` changes: dumps keep what is there. */
  protected keep(row: number): void {
    const block = row >>> this.blockShift;
    if (!this.holds.lack(block)) return;
    const offset = (row & this.mask) * this.width;
    this.holds.keep(block, new Uint8Array(this.pages[row >>> this.shift]!.buffer), offset - (offset % this.blockBytes));
  }

  protected noRow(row: number): never {
    fail(`column ${this.name} has no row ${row}, its length is ${this.rows}`);
  }

  protected closedRow(row: number): never {
    fail(`column ${this.name}: row ${row} is on a closed page`);
  }

  protected noFit(value: number): never {
    fail(`column ${this.name}: ${value} does not fit`);
  }
}

/** Whole numbers from 0 to 255, or those of them that `N` says. */
export class U8Column<N extends number = number> extends Column<Uint8Array<SharedArrayBuffer>> {
  constructor(name: string, appendOnly: boolean, pageRows: number = PAGE_ROWS) {
    super(name, appendOnly, 1, pageRows);
  }

  get(row: number): N {
    if (!(row < this.rows)) this.noRow(row);
    return this.pages[row >>> this.shift]![row & this.mask]! as N;
  }

  set(row: number, value: N): void {
    if (!(row < this.rows)) this.noRow(row);
    if (row < this.closed) this.closedRow(row);
    if ((value & 0xff) !== value) this.noFit(value);
    if (row < this.held) this.keep(row);
    this.pages[row >>> this.shift]![row & this.mask] = value;
  }

  /** Adds a row and returns its number, from 0. */
  push(value: N): number {
    const row = this.rows;
    if ((value & 0xff) !== value) this.noFit(value);
    if ((row & this.mask) === 0) this.begin();
    this.pages[row >>> this.shift]![row & this.mask] = value;
    this.rows = row + 1;
    return row;
  }

  protected override view(buffer: SharedArrayBuffer): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(buffer);
  }
}

/** Whole numbers from 0 to 4 294 967 295. */
export class U32Column extends Column<Uint32Array<SharedArrayBuffer>> {
  constructor(name: string, appendOnly: boolean, pageRows: number = PAGE_ROWS) {
    super(name, appendOnly, 4, pageRows);
  }

  get(row: number): number {
    if (!(row < this.rows)) this.noRow(row);
    return this.pages[row >>> this.shift]![row & this.mask]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.rows)) this.noRow(row);
    if (row < this.closed) this.closedRow(row);
    if (value >>> 0 !== value) this.noFit(value);
    if (row < this.held) this.keep(row);
    this.pages[row >>> this.shift]![row & this.mask] = value;
  }

  /** Adds a row and returns its number, from 0. */
  push(value: number): number {
    const row = this.rows;
    if (value >>> 0 !== value) this.noFit(value);
    if ((row & this.mask) === 0) this.begin();
    this.pages[row >>> this.shift]![row & this.mask] = value;
    this.rows = row + 1;
    return row;
  }

  protected override view(buffer: SharedArrayBuffer): Uint32Array<SharedArrayBuffer> {
    return new Uint32Array(buffer);
  }
}

/** Any numbers: amounts, moments. */
export class F64Column extends Column<Float64Array<SharedArrayBuffer>> {
  constructor(name: string, appendOnly: boolean, pageRows: number = PAGE_ROWS) {
    super(name, appendOnly, 8, pageRows);
  }

  get(row: number): number {
    if (!(row < this.rows)) this.noRow(row);
    return this.pages[row >>> this.shift]![row & this.mask]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.rows)) this.noRow(row);
    if (row < this.closed) this.closedRow(row);
    if (row < this.held) this.keep(row);
    this.pages[row >>> this.shift]![row & this.mask] = value;
  }

  /** Adds a row and returns its number, from 0. */
  push(value: number): number {
    const row = this.rows;
    if ((row & this.mask) === 0) this.begin();
    this.pages[row >>> this.shift]![row & this.mask] = value;
    this.rows = row + 1;
    return row;
  }

  protected override view(buffer: SharedArrayBuffer): Float64Array<SharedArrayBuffer> {
    return new Float64Array(buffer);
  }
}
