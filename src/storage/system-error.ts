/**
 * What the system said went wrong, by name. Node has no name for some errors of disks and tells their numbers, under
 * one code or another (`UNKNOWN`, `Unknown system error -122`) as the call is synchronous or not.
 */
import { constants } from 'node:os';

/** By what Node tells as `errno`. */
const UNNAMED: Readonly<Record<number, readonly [code: string, what: string]>> = {
  [-constants.errno.EDQUOT]: ['EDQUOT', 'disk quota exceeded'],
  [-constants.errno.ESTALE]: ['ESTALE', 'stale file handle'],
  [-constants.errno.EBADMSG]: ['EBADMSG', 'a checksum of the file system is wrong'],
  // Of Linux, whose name for it Node does not know either.
  [-117]: ['EUCLEAN', 'the file system needs cleaning'],
};

/** The `code` of a system error ('ENOENT', …), or ''. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as Error & { code?: unknown };
  return unnamed(error)?.[0] ?? (typeof code === 'string' ? code : '');
}

/** Its message, with the name where Node gave a number. */
export function errorText(error: Error): string {
  const known = unnamed(error);
  return known === undefined ? error.message : error.message.replace(/^[^,]*/, known.join(': '));
}

function unnamed(error: Error & { errno?: unknown }): readonly [code: string, what: string] | undefined {
  return typeof error.errno === 'number' ? UNNAMED[error.errno] : undefined;
}
