/** Turns of the event loop, for what comes without a clock. */

/** Until all that is due by now has had its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function turns(count = 20): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

/** As many as it takes. Nothing is waited for that takes time of its own: what is not so after very many never is. */
export async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let n = 0; !isSo(); n++) {
    if (n > 10_000) throw new Error('it does not come to that');
    await turn();
  }
}
