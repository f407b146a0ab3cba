/** A proof worker that does not load. It imports nothing: the pool begins such threads again and again, and all of them would load that first. */
throw new Error('a worker that does not load');

export {};
