/** What happens in a life, line by line: the digest of all of it, and the last of it to read. */
import { createHash } from 'node:crypto';

/** Characters that wait for the digest, which takes few long texts sooner than many short ones. */
const WAITING_MAX = 10_000;

export class Trace {
  /** The last lines. */
  readonly lines: string[] = [];
  readonly #linesMax: number;
  readonly #digest = createHash('sha256');
  #waiting = '';

  /** Remembers so many lines. */
  constructor(linesMax: number) {
    this.#linesMax = linesMax;
  }

  add(line: string): void {
    this.#waiting += `${line}\n`;
    if (this.#waiting.length > WAITING_MAX) this.#take();
    if (this.#linesMax === 0) return;
    this.lines.push(line);
    if (this.lines.length > this.#linesMax) this.lines.shift();
  }

  /** Of all lines; to be asked for once, at the end. */
  digest(): string {
    this.#take();
    return this.#digest.digest('hex').slice(0, 32);
  }

  #take(): void {
    this.#digest.update(this.#waiting);
    this.#waiting = '';
  }
}
