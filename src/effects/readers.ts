/**
 * Readers: who reads the log from behind, in companies. Of each one place in the log moves on, entry by entry, and each
 * entry is looked up once for everybody in it who waits for its signal there. Who stands further ahead lets it pass;
 * who stands further back brings the place back to where they are.
 *
 * So after a restart a thousand effects cost a walk or two through the log, not a thousand. But who would wait longer
 * for a company than the own way to the end is long goes alone, and who would bring one back by more than a little
 * founds another: an effect that is always behind, since it hears of more than its receiver takes, keeps nobody else
 * there.
 */

/** One who waits for something: a ledger's signal. */
interface Waiting {
  key: string;
}

export interface Reader extends Waiting {
  /** The first entry that it has not looked at. */
  from: number;
}

/** Those who wait, by what they wait for. */
export class ByKey<W extends Waiting> {
  readonly #byKey = new Map<string, Set<W>>();

  add(one: W): void {
    const others = this.#byKey.get(one.key);
    if (others === undefined) this.#byKey.set(one.key, new Set([one]));
    else others.add(one);
  }

  delete(one: W): void {
    const others = this.#byKey.get(one.key);
    others?.delete(one);
    if (others?.size === 0) this.#byKey.delete(one.key);
  }

  /** A copy: who is told may leave. */
  get(key: string): readonly W[] {
    const found = this.#byKey.get(key);
    return found === undefined ? NOBODY : [...found];
  }
}

const NOBODY: readonly never[] = [];

export class Readers<R extends Reader> {
  readonly #all = new Set<R>();
  readonly #byKey = new ByKey<R>();
  /** The next entry to be looked at, where there is anybody. */
  at = 0;

  get size(): number {
    return this.#all.size;
  }

  add(reader: R): void {
    if (this.#all.size === 0) this.at = reader.from;
    else if (reader.from < this.at) {
      for (const other of this.#all) other.from = Math.max(other.from, this.at);
      this.at = reader.from;
    }
    this.#all.add(reader);
    this.#byKey.add(reader);
  }

  /** It leaves, having looked at everything before the present place. */
  delete(reader: R): void {
    this.#all.delete(reader);
    this.#byKey.delete(reader);
    reader.from = Math.max(reader.from, this.at);
  }

  /** Those who wait for this at the present place. */
  waitingFor(key: string): readonly R[] {
    return this.#byKey.get(key).filter(({ from }) => from <= this.at);
  }

  /** Who is told may leave meanwhile. */
  all(): Iterable<R> {
    return this.#all;
  }
}

/** By so many entries a company may be brought back, again and again: a millisecond or two of reading. */
const NEAR = 500;
const COMPANIES_MAX = 32;

export class Companies<R extends Reader> {
  /** Whose turn it is stands first. */
  #all: Readers<R>[] = [];
  readonly #of = new Map<R, Readers<R>>();

  /** How many there are. */
  get count(): number {
    return this.#all.length;
  }

  /** Whose turn it is to read on. */
  next(): Readers<R> {
    const company = this.#all.shift()!;
    this.#all.push(company);
    return company;
  }

  /** Someone reads on; `end` is the last entry there is. */
  add(reader: R, end: number): void {
    const company = this.#companyFor(reader, end) ?? this.#found();
    company.add(reader);
    this.#of.set(reader, company);
  }

  #companyFor({ from }: R, end: number): Readers<R> | undefined {
    const isFull = this.#all.length >= COMPANIES_MAX;
    const behind = this.#all.filter(({ at }) => at <= from);
    if (behind.length > 0) {
      const nearest = behind.reduce((best, one) => (one.at > best.at ? one : best));
      return isFull || from - nearest.at <= end - from ? nearest : undefined;
    }
    const [first, ...others] = this.#all;
    if (first === undefined) return undefined;
    const last = others.reduce((best, one) => (one.at < best.at ? one : best), first);
    return isFull || last.at - from <= NEAR ? last : undefined;
  }

  #found(): Readers<R> {
    const company = new Readers<R>();
    this.#all.push(company);
    return company;
  }

  /** It leaves, having looked at everything before its company's place. */
  delete(reader: R): void {
    const company = this.#of.get(reader);
    if (company === undefined) return;
    this.#of.delete(reader);
    company.delete(reader);
    if (company.size === 0) this.#all = this.#all.filter((other) => other !== company);
  }

  /** It waits for something else, in the company it is in. */
  change(reader: R, how: () => void): void {
    const company = this.#of.get(reader);
    company?.delete(reader);
    how();
    company?.add(reader);
  }

  isIn(company: Readers<R>, reader: R): boolean {
    return this.#of.get(reader) === company;
  }
}
