/**
 * `ayni keygen`: a fresh Ed25519 key pair as JSON, in the form of server.key and of signer records.
 */
import { parseArgs } from 'node:util';
import { createKeyPair, encodeBase64 } from '../proof/keys.ts';
import { errorCode, realDisk, writeAll } from '../storage/disk.ts';

export const HELP = `ayni keygen [--out <file>]

Prints a fresh key pair as JSON {format, public, secret}. With --out it is written to a new file that only you can
read, and the public key alone is printed.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const { values } = parseArgs({ args, options: { out: { type: 'string' } }, strict: true });
  const pair = createKeyPair();
  const text = `${JSON.stringify({
    format: 'ed25519-raw',
    public: encodeBase64(pair.public),
    secret: encodeBase64(pair.secret),
  })}\n`;
  if (values.out === undefined) {
    process.stdout.write(text);
    return 0;
  }
  try {
    // A new file, always: whoever writes over a key loses what was signed with it.
    const file = realDisk.open(values.out, 'create');
    try {
      writeAll(file, Buffer.from(text), 0, Buffer.byteLength(text), 0);
      file.sync();
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    process.stderr.write(`ayni: ${values.out} exists already\n`);
    return 1;
  }
  process.stdout.write(`${encodeBase64(pair.public)}\n`);
  return 0;
}
