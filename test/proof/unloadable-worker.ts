/** A proof worker that does not load. */
throw new Error('a worker that does not load');

export {};
