/** A scene that takes or waits seconds: left out by `npm test`, taken by `npm run test:all`, as by CI. */
import { test } from 'vitest';

export const SLOW = { tags: ['slow'] };

export const slow = (name: string, scene: () => void | Promise<void>): void => test(name, SLOW, scene);
