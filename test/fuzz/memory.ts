/** How much memory a piece of code takes outside V8's heap in whole pieces: buffers, arrays, shared memory. */

const ALLOCATORS = ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const;

/** Runs `work` and counts; an error that it throws is its outcome. */
export function measured<T>(work: () => T): { allocated: number; outcome: T | Error } {
  let allocated = 0;
  const originals = ALLOCATORS.map((name) => Buffer[name]);
  const OriginalShared = globalThis.SharedArrayBuffer;
  for (const [index, name] of ALLOCATORS.entries()) {
    Buffer[name] = ((size: number, ...rest: []) => {
      allocated += size;
      return originals[index]!.call(Buffer, size, ...rest);
    }) as typeof Buffer.alloc;
  }
  globalThis.SharedArrayBuffer = class extends OriginalShared {
    constructor(size: number) {
      allocated += size;
      super(size);
    }
  } as SharedArrayBufferConstructor;
  try {
    return { outcome: work(), allocated };
  } catch (error) {
    return { outcome: error as Error, allocated };
  } finally {
    for (const [index, name] of ALLOCATORS.entries()) Buffer[name] = originals[index] as typeof Buffer.alloc;
    globalThis.SharedArrayBuffer = OriginalShared;
  }
}
