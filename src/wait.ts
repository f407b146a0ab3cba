/**
 * What answers wait for may not come: a disk takes a write and says no more, copies of the books are away. Past some
 * seconds of that nobody else is let in, so that clients hear of it, and who runs the server is told; who waited before
 * waits on, since what was asked for may be in the books already.
 *
 * What counts is looks, one a second, and no clock: where the whole process stood still, nothing that it waits for is
 * late.
 */

/** A sync that is slow takes less. */
const LOOKS_MAX = 3;

interface WaitOptions {
  /** Milliseconds since whenever. */
  stopwatch: () => number;
  /** Told once of what takes so long, by how many seconds it has by then; and when that has come after all. */
  late: (seconds: number) => void;
  over: (seconds: number) => void;
}

export class Wait {
  readonly #options: WaitOptions;
  /** By the stopwatch; null where nothing is waited for. */
  #since: number | null = null;
  #looks = 0;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Something is waited for, from now on if it was not before, by the stopwatch. */
  begin(now: number): void {
    this.#since ??= now;
  }

  get isOn(): boolean {
    return this.#since !== null;
  }

  /** It has come; or it never will, of which others tell. */
  end(hasCome = true): void {
    const { isLate, seconds } = this;
    this.#since = null;
    this.#looks = 0;
    if (isLate && hasCome) this.#options.over(seconds);
  }

  /** To be called each second. */
  look(): void {
    if (this.#since === null) return;
    this.#looks++;
    if (this.#looks === LOOKS_MAX + 1) this.#options.late(this.seconds);
  }

  get isLate(): boolean {
    return this.#looks > LOOKS_MAX;
  }

  /** For how long by now, 0 where nothing is waited for. */
  get seconds(): number {
    return this.#since === null ? 0 : (this.#options.stopwatch() - this.#since) / 1000;
  }
}
