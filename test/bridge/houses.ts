/** The banks of a file of tests. */
import { afterAll, afterEach } from 'vitest';
import type { Json } from '../support/client.ts';
import { type Asked, type FakeLedger, type House, type HouseOptions, openHouse } from './kit.ts';

/** What the accounts of a new bank have, and what came in and went out of it. */
export const START = { ana: [1000, 0, 0], luz: [0, 0, 0], old: [50, 0, 0], bank: [0, 0] };

/** The banks of a file of tests, which believe this ledger. Those that are left open by a test are killed after it. */
export function housesOf(ledger: FakeLedger) {
  const houses: House[] = [];
  afterEach(async () => {
    for (const house of houses.splice(0)) await house.kill();
  });
  afterAll(() => ledger.close());

  async function open(options: HouseOptions = {}): Promise<House> {
    const house = await openHouse(ledger, options);
    houses.push(house);
    return house;
  }

  /** Stops the bank and starts it on the same file. */
  async function restart(house: House, options: HouseOptions = {}): Promise<House> {
    houses.splice(houses.indexOf(house), 1);
    await house.close();
    return open({ ...options, disk: house.disk });
  }

  /** The custom of the next report about an entry. */
  async function reported(asked: Asked, status: string): Promise<Json> {
    for (let count = 1; ; count++) {
      const told = (await ledger.waitFor(count)).find(
        ({ custom }) => custom.handle === asked.handle && custom.status === status,
      );
      if (told !== undefined) return told.custom;
    }
  }

  return { houses, open, restart, reported };
}
