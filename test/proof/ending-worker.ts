/** A proof worker that ends while it loads, without an error. */
process.exit(0);

export {};
