/**
 * `ayni keygen`: a fresh Ed25519 key pair as JSON, in the form of server.key and of signer records.
 */
import { parseArgs } from 'node:util';
import { createKeyPair, encodeBase64 } from '../proof/keys.ts';
import { keyText } from '../storage/key-file.ts';
import { writeNew } from './new-file.ts';
import { TEXT } from './usage.ts';

export const HELP = `ayni keygen [--out <file>]

Prints a fresh key pair as JSON {format, public, secret}. With --out it is written to a new file that only you can
read, and the public key alone is printed.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const { values } = parseArgs({ args, options: { out: TEXT }, strict: true });
  const pair = createKeyPair();
  if (values.out !== undefined) writeNew(values.out, [keyText(pair)]);
  process.stdout.write(values.out === undefined ? keyText(pair) : `${encodeBase64(pair.public)}\n`);
  return 0;
}
