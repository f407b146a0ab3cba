/**
 * Lines: several numbers per row, side by side, in pages of shared memory. What is used together lies together: whoever
 * comes to a row that nobody has looked at lately waits for memory once, not once for each number, as with columns.
 *
 * Each number is a field with a name of its own, and a dump has a column of that name for each (columns.ts): books do
 * not know which columns lie in lines. There is one class per width, word for word alike, for the reason told there.
 *
 * What always holds: rows at or beyond `length` cannot be read; a new one is all zeros. Fields do not overlap, and lie
 * at multiples of their width. Bytes in a dump never change: before the first `set` on a row that is in one, those
 * around it are copied away (hold.ts).
 */
import { ROWS_MAX } from './columns.ts';
import { BLOCK_BYTES, type Hold, Holds } from './hold.ts';
import {
  exactly,
  fail,
  finder,
  headPart,
  type Part,
  type Parts,
  pageName,
  powerOfTwo,
  readHead,
  Shape,
} from './parts.ts';

const PAGE_ROWS = 65_536;

export class Lines {
  /** Rows added so far. */
  length = 0;
  /** Rows below this one are in some dump, so what is there may have to be copied away before it changes. */
  held = 0;
  /** How far a row is shifted to give its page, and which of its bits lie within it. */
  readonly shift: number;
  readonly mask: number;
  /** Bytes of a row. */
  readonly bytes: number;
  private readonly fields: Field[] = [];
  private pages: SharedArrayBuffer[] = [];
  private holds = new Holds();
  /** Bytes of a block that is copied away, and how far a row is shifted to give its block. */
  private readonly blockBytes: number;
  private readonly blockShift: number;

  /** `bytes`: per row, a power of two from 8 to 64. `pageRows`: a power of two. */
  constructor(bytes: number, pageRows: number = PAGE_ROWS) {
    if (!powerOfTwo(bytes, 8, 64)) fail(`lines of ${bytes} bytes`);
    if (!powerOfTwo(pageRows, 2, 2 ** 24)) fail(`lines in pages of ${pageRows} rows`);
    this.bytes = bytes;
    this.shift = Math.log2(pageRows);
    this.mask = pageRows - 1;
    this.blockBytes = Math.min(BLOCK_BYTES, pageRows * bytes);
    this.blockShift = Math.log2(this.blockBytes / bytes);
  }

  /** Bytes of memory they take. */
  get taken(): number {
    return this.pages.length * (this.mask + 1) * this.bytes;
  }

  /** Bytes that were copied for dumps which are not read to their end. */
  get copied(): number {
    return this.holds.bytes;
  }

  /** Gives every row one more number; there must be no rows yet. */
  enter(field: Field): void {
    const { name, width, offset } = field;
    const overlaps = (other: Field) => offset < other.offset + other.width && other.offset < offset + width;
    const isMisplaced = offset % width !== 0 || offset < 0 || offset + width > this.bytes;
    if (this.pages.length > 0 || isMisplaced || this.fields.some(overlaps))
      fail(`field ${name} cannot lie at byte ${offset}`);
    this.fields.push(field);
  }

  /** Adds a row of zeros and returns its number, from 0. */
  push(): number {
    const row = this.length;
    if ((row & this.mask) === 0) this.begin();
    this.length = row + 1;
    return row;
  }

  /** A head and the pages of each field, as a column's. Copies nothing. */
  dump(): Part[] {
    const { length, bytes, pages, fields, holds } = this;
    const pageRows = this.mask + 1;
    const heads = fields.map(({ name, width }) => headPart(name, Shape.column, [width, 0, pageRows, length]));
    if (length === 0) return heads;
    const block = (page: number) => (page * pageRows) >>> this.blockShift;
    const hold = holds.take(this.blockBytes, 0, block(pages.length), () => {
      if (holds === this.holds) this.held = 0;
    });
    this.held = length;
    const open = pages.flatMap((buffer, page) => {
      const lines = new Uint8Array(buffer, 0, Math.min(pageRows, length - page * pageRows) * bytes);
      const read = (field: Field) => columnOf(hold, lines, block(page), field);
      return fields.map((field) => hold.part(pageName(field.name, 'open', page), () => read(field)));
    });
    return [...heads, ...open];
  }

  /** Takes over the state of a dump. Throws where parts are missing or do not fit, and then changes nothing. */
  load(parts: Parts): void {
    const find = finder(parts);
    const pageRows = this.mask + 1;
    const lengths = this.fields.map(({ name, width }) => {
      const head = readHead(find, name, Shape.column, 4);
      if (head[0] !== width || head[1] !== 0 || head[2] !== pageRows)
        throw new Error(`memory: column ${name} was dumped with another layout`);
      return head[3]!;
    });
    const length = lengths[0]!;
    if (lengths.some((other) => other !== length))
      throw new Error(`memory: columns of one length have ${lengths.join(', ')} rows`);
    const pages: SharedArrayBuffer[] = [];
    for (let page = 0; page * pageRows < length; page++) {
      const rows = Math.min(pageRows, length - page * pageRows);
      const buffer = new SharedArrayBuffer(pageRows * this.bytes);
      for (const field of this.fields) {
        const { name, width } = field;
        putColumn(exactly(find, pageName(name, 'open', page), rows * width), buffer, field);
      }
      pages.push(buffer);
    }
    this.pages = pages;
    this.length = length;
    for (const field of this.fields) field.look(pages);
    // What earlier dumps hold changes no more.
    this.holds = new Holds();
    this.held = 0;
  }

  /** Called before a row below `held` changes: dumps keep what is there. */
  keep(row: number): void {
    const block = row >>> this.blockShift;
    if (!this.holds.lack(block)) return;
    const offset = (row & this.mask) * this.bytes;
    this.holds.keep(block, new Uint8Array(this.pages[row >>> this.shift]!), offset - (offset % this.blockBytes));
  }

  /** Begins the next page. */
  private begin(): void {
    if (this.length + this.mask >= ROWS_MAX) fail('lines are full');
    this.pages.push(new SharedArrayBuffer((this.mask + 1) * this.bytes));
    for (const field of this.fields) field.look(this.pages);
  }
}

type Cells =
  | Uint8Array<SharedArrayBuffer>
  | Uint16Array<SharedArrayBuffer>
  | Uint32Array<SharedArrayBuffer>
  | Float64Array<SharedArrayBuffer>;

/** A number that every row of some lines has. */
abstract class Field<Page extends Cells = Cells> {
  readonly name: string;
  /** In bytes: its width, that of a row, and where in a row it lies. */
  readonly width: number;
  readonly stride: number;
  readonly offset: number;
  protected readonly lines: Lines;
  protected readonly shift: number;
  protected readonly mask: number;
  /** How far a row is shifted to give the first cell of its line, and the field's cell in that. */
  protected readonly step: number;
  protected readonly cell: number;
  protected pages: Page[] = [];

  constructor(lines: Lines, name: string, offset: number, width: number) {
    this.name = name;
    this.width = width;
    this.stride = lines.bytes;
    this.offset = offset;
    this.lines = lines;
    this.shift = lines.shift;
    this.mask = lines.mask;
    this.step = Math.log2(lines.bytes / width);
    this.cell = offset / width;
    lines.enter(this);
  }

  /** Rows there are. */
  get length(): number {
    return this.lines.length;
  }

  /** From now on the lines lie in these pages. */
  look(pages: readonly SharedArrayBuffer[]): void {
    this.pages = pages.map((buffer) => this.view(buffer));
  }

  protected abstract view(buffer: SharedArrayBuffer): Page;

  protected noRow(row: number): never {
    fail(`column ${this.name} has no row ${row}, its length is ${this.length}`);
  }

  protected noFit(value: number): never {
    fail(`column ${this.name}: ${value} does not fit`);
  }
}

/** Whole numbers from 0 to 255. */
export class U8Field extends Field<Uint8Array<SharedArrayBuffer>> {
  constructor(lines: Lines, name: string, offset: number) {
    super(lines, name, offset, 1);
  }

  get(row: number): number {
    if (!(row < this.lines.length)) this.noRow(row);
    return this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.lines.length)) this.noRow(row);
    if ((value & 0xff) !== value) this.noFit(value);
    if (row < this.lines.held) this.lines.keep(row);
    this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell] = value;
  }

  protected override view(buffer: SharedArrayBuffer): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(buffer);
  }
}

/** Whole numbers from 0 to 65 535. */
export class U16Field extends Field<Uint16Array<SharedArrayBuffer>> {
  constructor(lines: Lines, name: string, offset: number) {
    super(lines, name, offset, 2);
  }

  get(row: number): number {
    if (!(row < this.lines.length)) this.noRow(row);
    return this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.lines.length)) this.noRow(row);
    if ((value & 0xffff) !== value) this.noFit(value);
    if (row < this.lines.held) this.lines.keep(row);
    this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell] = value;
  }

  protected override view(buffer: SharedArrayBuffer): Uint16Array<SharedArrayBuffer> {
    return new Uint16Array(buffer);
  }
}

/** Whole numbers from 0 to 4 294 967 295. */
export class U32Field extends Field<Uint32Array<SharedArrayBuffer>> {
  constructor(lines: Lines, name: string, offset: number) {
    super(lines, name, offset, 4);
  }

  get(row: number): number {
    if (!(row < this.lines.length)) this.noRow(row);
    return this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.lines.length)) this.noRow(row);
    if (value >>> 0 !== value) this.noFit(value);
    if (row < this.lines.held) this.lines.keep(row);
    this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell] = value;
  }

  protected override view(buffer: SharedArrayBuffer): Uint32Array<SharedArrayBuffer> {
    return new Uint32Array(buffer);
  }
}

/** Any numbers: amounts, moments. */
export class F64Field extends Field<Float64Array<SharedArrayBuffer>> {
  constructor(lines: Lines, name: string, offset: number) {
    super(lines, name, offset, 8);
  }

  get(row: number): number {
    if (!(row < this.lines.length)) this.noRow(row);
    return this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell]!;
  }

  set(row: number, value: number): void {
    if (!(row < this.lines.length)) this.noRow(row);
    if (row < this.lines.held) this.lines.keep(row);
    this.pages[row >>> this.shift]![((row & this.mask) << this.step) + this.cell] = value;
  }

  protected override view(buffer: SharedArrayBuffer): Float64Array<SharedArrayBuffer> {
    return new Float64Array(buffer);
  }
}

// ---------------------------------------------------------------- lines and columns

/** Where columns are gathered, one piece after the other: fresh memory for each makes V8 collect all it has. */
let gathered = new Uint8Array(0);

function gatherIn(bytes: number): Uint8Array {
  if (gathered.length < bytes) gathered = new Uint8Array(bytes);
  return gathered.subarray(0, bytes);
}

/** One field of lines as they were when they were held, without what lies between. */
function* columnOf(hold: Hold, lines: Uint8Array, block: number, field: Field): Generator<Uint8Array> {
  const { width, stride, offset } = field;
  for (const piece of hold.read(lines, block, 0)) {
    const rows = piece.length / stride;
    const column = gatherIn(rows * width);
    copyCells({ bytes: piece, offset, stride }, { bytes: column, offset: 0, stride: width }, rows, width);
    yield column;
  }
}

/** Writes a column into the lines of a page. */
function putColumn(column: Uint8Array, page: SharedArrayBuffer, { width, stride, offset }: Field): void {
  // What was read from a file may lie anywhere in its buffer.
  const bytes = column.byteOffset % WORD_BYTES === 0 ? column : column.slice();
  const lines = { bytes: new Uint8Array(page), offset, stride };
  copyCells({ bytes, offset: 0, stride: width }, lines, column.length / width, width);
}

/** Where cells lie: the first at `offset`, the others `stride` bytes from each to the next. */
interface Cellular {
  bytes: Uint8Array;
  offset: number;
  stride: number;
}

const WORD_BYTES = 4;

function copyCells(from: Cellular, to: Cellular, count: number, width: number): void {
  const unit = width % WORD_BYTES === 0 ? WORD_BYTES : 1;
  const [fromCells, toCells] = [cellsIn(from, unit), cellsIn(to, unit)];
  const [fromStep, toStep, units] = [from.stride / unit, to.stride / unit, width / unit];
  let fromAt = from.offset / unit;
  let toAt = to.offset / unit;
  for (let i = 0; i < count; i++) {
    for (let part = 0; part < units; part++) toCells[toAt + part] = fromCells[fromAt + part]!;
    fromAt += fromStep;
    toAt += toStep;
  }
}

function cellsIn({ bytes }: Cellular, unit: number): Uint8Array | Uint32Array {
  return unit === 1 ? bytes : new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / WORD_BYTES);
}
