/**
 * `ayni token`: a bearer token for whoever asks a ledger with rules by curl. It names no request (`hsh`) and is good
 * until it ends, as often as it is shown: hence its short life.
 */
import { parseArgs } from 'node:util';
import { encodeBase64, type KeyPair } from '../proof/keys.ts';
import { sign } from '../proof/verify.ts';
import { readOwnKey } from './own-key.ts';
import { LEDGER, readCount, readLedger, TEXT } from './usage.ts';

const SECONDS = 60;
const SECONDS_MAX = 86_400;

export const HELP = `ayni token --key <file> [--ledger <handle>] [--seconds <count>]

Prints a token by the key in the file, as for sign, for the ledger (main) and so many seconds (${SECONDS}, at most
${SECONDS_MAX}). Send it as the header "authorization: Bearer <token>". Whoever sees it can use it until then.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: { key: TEXT, ledger: LEDGER, seconds: { ...TEXT, default: String(SECONDS) } },
    strict: true,
  });
  const aud = readLedger(values.ledger, false);
  const seconds = readCount('--seconds', values.seconds, 1, SECONDS_MAX);
  process.stdout.write(`${makeToken(readOwnKey(values.key), aud, seconds)}\n`);
  return 0;
}

/** A token of these keys for the ledger of this handle, good from now on for so many seconds. */
export function makeToken(keys: KeyPair, aud: string, seconds: number): string {
  const kid = encodeBase64(keys.public);
  const iat = Math.floor(Date.now() / 1000);
  const signed = `${encode({ alg: 'EdDSA', kid })}.${encode({ iss: 'ayni', sub: kid, aud, iat, exp: iat + seconds })}`;
  return `${signed}.${Buffer.from(sign(Buffer.from(signed), keys)).toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
