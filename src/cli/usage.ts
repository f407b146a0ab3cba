/** What is typed behind a command, and what is wrong with it. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isLedgerHandle, LEDGER_HANDLE_MAX } from '../core/address.ts';
import { isLuid } from '../core/luid.ts';

/** A command line that cannot be used; the message is meant for whoever typed it. Ends with exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/**
 * Whether an error is a mistake of whoever typed the command: ours above, that of a setting, or what Node says of
 * flags.
 */
export function isUsageError({ name, code }: NodeJS.ErrnoException): boolean {
  return name === 'UsageError' || name === 'ConfigError' || code?.startsWith('ERR_PARSE_ARGS') === true;
}

/** Flags that take a text, and those that are there or not. */
export const TEXT = { type: 'string' } as const;
export const SWITCH = { type: 'boolean' } as const;
/** The ledger that a command is about. */
export const LEDGER = { type: 'string', default: 'main' } as const;

/** A command line of these flags and whatever else is on it. */
export function readArgs<Options extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: Options) {
  return parseArgs({ args, options, allowPositionals: true, strict: true });
}

/**
 * Empty text comes of a variable that was not set: as a path it is the directory one happens to be in, as a host every
 * address.
 */
export function readFilled(what: string, text: string): string {
  if (text.trim() !== '') return text;
  throw new UsageError(`${what}: must not be empty`);
}

/** The ledger that requests or a token are for, as the server reads it. Tokens name it by its handle alone. */
export function readLedger(text: string, takesLuid: boolean): string {
  if (isLedgerHandle(text) || (takesLuid && isLuid(text))) return text;
  if (isLuid(text)) throw new UsageError("--ledger: must be the ledger's handle, not its luid: tokens name it so");
  throw new UsageError(
    `--ledger: must be the handle of a ledger: letters, digits and _ - + . and ${LEDGER_HANDLE_MAX} of them at most`,
  );
}

/** What a flag counts. */
export function readCount(flag: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`${flag}: must be a whole number from ${min} to ${max}`);
}
