/**
 * Long work on the thread of the event loop: it is done in pieces, and between two of them everybody else has a turn
 * where the last one is some time ago.
 */
const STRETCH_MS = 1;

export class Breaks {
  #since = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#since >= STRETCH_MS;
  }

  /** Resolves when the others have had their turn. */
  async take(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
