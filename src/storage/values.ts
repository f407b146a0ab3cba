/** The few small values without a fixed shape, as MessagePack: the one door to msgpackr. Entries are codec.ts's. */
import { createRequire } from 'node:module';
import type { Packr } from 'msgpackr';

const PACKR_OPTIONS = {
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  moreTypes: false,
  bundleStrings: false,
  structuredClone: false,
  copyBuffers: true,
  encodeUndefinedAsNil: false,
  int64AsType: 'number',
} as const;

/** Loaded for the first snapshot that is read or taken, or ahead of it by who has time. */
let loaded: Packr | null = null;

function packr(): Packr {
  if (loaded === null) {
    const msgpackr = createRequire(import.meta.url)('msgpackr') as typeof import('msgpackr');
    loaded = new msgpackr.Packr(PACKR_OPTIONS);
  }
  return loaded;
}

/** Loads what packing needs, some 30 ms: a snapshot begins between two frames, and those would wait for it. */
export function loadPacking(): void {
  packValue([]);
}

/** A small value of plain data as MessagePack. */
export function packValue(value: unknown): Uint8Array {
  return Uint8Array.prototype.slice.call(packr().pack(value));
}

/** The value whose bytes these are; throws where they are no MessagePack, or more than one value. */
export function unpackValue(bytes: Uint8Array): unknown {
  return packr().unpack(bytes);
}
