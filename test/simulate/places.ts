/**
 * Who may come in: a server holds so many requests at once, and a ledger four times as many of them as are free.
 */
export class Places {
  /** Requests that wait or are on their way, by ledger. */
  readonly #taken = new Map<number, number>();

  hasOne(ledger: number, most: number): boolean {
    let taken = 0;
    for (const count of this.#taken.values()) taken += count;
    const free = most - taken;
    const own = this.#taken.get(ledger) ?? 0;
    return free > 0 && (own === 0 || own < 4 * free);
  }

  get areFree(): boolean {
    return [...this.#taken.values()].every((count) => count === 0);
  }

  take(ledger: number): void {
    this.#add(ledger, 1);
  }

  leave(ledger: number): void {
    this.#add(ledger, -1);
  }

  clear(): void {
    this.#taken.clear();
  }

  #add(ledger: number, count: 1 | -1): void {
    this.#taken.set(ledger, (this.#taken.get(ledger) ?? 0) + count);
  }
}
