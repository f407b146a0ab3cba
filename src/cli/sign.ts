/**
 * `ayni sign`: what a client signs, as it is sent: for whoever has curl and no client, and for records that the public
 * package has no client for (policies, schemas, circles).
 *
 * What always holds: the proof has the moment of its signing, so it brings about one thing in a ledger.
 */
import { buffer } from 'node:stream/consumers';
import { type JsonObject, parseObject } from '../client/json.ts';
import { makeProof, makeRecord } from '../client/records.ts';
import { encodeBase64 } from '../proof/keys.ts';
import { readOwnKey } from './own-key.ts';
import { findUnclear } from './unclear.ts';
import { readArgs, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni sign [<data>] --key <file> [--custom <json>]
ayni sign --hash <hash> --key <file> [--custom <json>]

Prints what is sent to make, change or drop a record: {hash, data, meta} with one proof by the key in the file, which is as
keygen writes one, or in a pipe: --key <(age -d owner.age), say. <data> is a JSON object, from standard input where it is
not given. With --hash, the hash of a record that is there, one proof more for it: the body of POST /{kind}/{id}/proofs.
--custom is what the proof says beside its moment.
`;

/** Runs the command; resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = readArgs(args, { key: TEXT, custom: TEXT, hash: TEXT });
  if (positionals.length > (values.hash === undefined ? 1 : 0)) throw new UsageError('one <data>, or --hash');
  if (values.hash !== undefined && !/^[0-9a-f]{64}$/i.test(values.hash)) {
    throw new UsageError('--hash: must be 64 hex digits, the hash of the record');
  }
  const keys = readOwnKey(values.key);
  const said = readObject('--custom', Buffer.from(values.custom ?? '{}'));
  const custom = { moment: new Date().toISOString(), ...said };
  if (values.hash !== undefined) return print(makeProof(values.hash, custom, keys));
  const [text] = positionals;
  const data = readObject('<data>', text === undefined ? await buffer(process.stdin) : Buffer.from(text));
  // As with `--key /dev/stdin` and no <data>: it would go wherever what is signed goes.
  if (data.secret === encodeBase64(keys.secret)) throw new UsageError('<data>: is the key itself, with its secret');
  return print(makeRecord(data, custom, keys));
}

function readObject(what: string, bytes: Buffer): JsonObject {
  const value = parseObject(bytes);
  if (value === null) throw new UsageError(`${what}: must be a JSON object`);
  const unclear = findUnclear(bytes.toString(), value);
  if (unclear !== null) throw new UsageError(`${what}: ${unclear}`);
  return value;
}

function print(signed: object): number {
  process.stdout.write(`${JSON.stringify(signed)}\n`);
  return 0;
}
