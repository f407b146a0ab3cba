/**
 * A map from public keys to whatever. Keys are found by a number made of their first bytes and then compared whole, so
 * a look-up makes no text of them.
 */
import { equalBytes } from '../bytes.ts';

interface Slot<T> {
  readonly key: Uint8Array;
  value: T;
  readonly next: Slot<T> | null;
}

export class KeyMap<T> {
  size = 0;
  readonly #slots = new Map<number, Slot<T>>();

  get(key: Uint8Array): T | undefined {
    for (let slot = this.#slots.get(numberOf(key)) ?? null; slot !== null; slot = slot.next) {
      if (equalBytes(slot.key, key)) return slot.value;
    }
    return undefined;
  }

  /** Adds a key that is not there yet. The bytes must not change afterwards. */
  add(key: Uint8Array, value: T): void {
    const number = numberOf(key);
    this.#slots.set(number, { key, value, next: this.#slots.get(number) ?? null });
    this.size++;
  }

  clear(): void {
    this.#slots.clear();
    this.size = 0;
  }
}

/** The first six bytes: making many keys that agree in them costs more than it could ever gain. */
function numberOf(key: Uint8Array): number {
  const low = key[0]! | (key[1]! << 8) | (key[2]! << 16);
  const high = key[3]! | (key[4]! << 8) | (key[5]! << 16);
  return low + high * 0x1000000;
}
