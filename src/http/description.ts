/**
 * The text that describes the interface, made when somebody first asks for it, as are the parts that make it: few servers
 * are ever asked, and none is to start later for it. Then it is kept.
 */
import type { Described } from './openapi/index.ts';

export class Description {
  readonly #described: Described;
  #making: Promise<string> | null = null;

  constructor(described: Described) {
    this.#described = described;
  }

  text(): Promise<string> {
    // What could not be loaded now, where too many files are open say, may be the next time; on Node 20 after a restart,
    // since that remembers what it could not load.
    this.#making ??= this.#make().catch((error) => {
      this.#making = null;
      throw error;
    });
    return this.#making;
  }

  async #make(): Promise<string> {
    const { describeInterface } = await import('./openapi/index.ts');
    return describeInterface(this.#described);
  }
}
