/** What a bug is made of that planted.ts plants. */

/** File, what stands there once, what stands there instead. */
export type Edit = [file: string, find: string, replace: string];

export type Plant = [name: string, ...edits: Edit[]];

/** A bug that no life can see, and the test that does. */
export type TestedPlant = [name: string, test: string, ...edits: Edit[]];
