/** The power of one process: that goes by itself, with the process alone, or with all that the disk has. */
import { Power, type TearableDisk } from '../engine/power.ts';
import type { Owner } from './loop.ts';

/** A disk whose process ends with its power. */
export class ProcessPower extends Power {
  /** How it ended, or will. */
  how: 'power' | 'kill' | 'stop';
  readonly #owner: Owner;

  constructor(disk: TearableDisk, owner: Owner, cutAt: number, how: 'power' | 'kill') {
    super(disk, cutAt);
    this.#owner = owner;
    this.how = how;
  }

  override cut(how = this.how): void {
    if (this.isOff) return;
    this.how = how;
    this.#owner.isGone = true;
    super.cut(how === 'power' ? 'power' : 'kill');
  }

  /** Another cut the power of all. */
  goes(): void {
    if (this.isOff) return;
    this.cut('kill');
    this.how = 'power';
  }
}
