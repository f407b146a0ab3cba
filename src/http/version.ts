/** The version of this server, as its package says. */
import { createRequire } from 'node:module';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

export const SEMVER = version;
