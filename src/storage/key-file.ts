/**
 * The server's Ed25519 key, kept beside the data in `server.key`, or in a file that the configuration names, as JSON:
 * {format, public, secret}, both keys base64 of 32 raw bytes, the secret being the seed.
 *
 * What always holds: the file is made with mode 0600, written whole or not at all, and not used where others may
 * read it; a key is made only beside the data, in a directory without books, because another key could neither
 * continue nor vouch for them; no error shows what the file holds.
 */
import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import { type Disk, readWhole, writeWhole } from './disk.ts';
import { END_FILE } from './known-end.ts';
import { isBooksName } from './snapshot-format.ts';

export const KEY_FILE = 'server.key';
const KEY_FORMAT = 'ed25519-raw';
const KEY_BYTES = 32;
export const KEY_FILE_BYTES_MAX = 4096;
/** Rights of group and others. */
const OTHERS = 0o077;
/**
 * What others must not do with a file of root's. Its group may read it: that is how a secret is handed to whom it is
 * for, and PostgreSQL takes one so.
 */
const OTHERS_OF_ROOTS = 0o037;

export interface KeyPair {
  public: Uint8Array;
  /** The 32-byte seed. */
  secret: Uint8Array;
}

/** Why the key cannot be had. */
export class KeyFileError extends Error {
  override name = 'KeyFileError';
}

/** A new pair; with a secret the pair of that secret, so that a damaged public key is found. */
type MakePair = (secret?: Uint8Array) => KeyPair;

/** The key in the directory, or null where there is no key file. Throws KeyFileError where it is damaged. */
export function readKeyFile(disk: Disk, directory: string): KeyPair | null {
  return readKey(disk, join(directory, KEY_FILE));
}

function readKey(disk: Disk, path: string): KeyPair | null {
  if (!disk.exists(path)) return null;
  return pairIn(readWhole(disk, path, KEY_FILE_BYTES_MAX).toString(), path);
}

function pairIn(text: string, path: string): KeyPair {
  const pair = parseKeyPair(text);
  if (pair === null) throw new KeyFileError(`${path} is damaged; put the key file back from a copy`);
  return pair;
}

/** The key in the text of such a file, which was read at `path`. */
export function keyIn(text: string, path: string, create: MakePair): KeyPair {
  return matching(pairIn(text, path), path, create);
}

/** The key in a file that is named: none is made in its place. */
export function loadKey(disk: Disk, path: string, create: MakePair): KeyPair {
  const found = usableKey(disk, path, create);
  if (found !== null) return found;
  throw new KeyFileError(`${path} does not exist; put the key there, as \`ayni keygen\` prints one`);
}

/** The key in the directory, made with `create` where there is none yet. */
export function loadOrCreateKey(disk: Disk, directory: string, create: MakePair): KeyPair {
  const found = usableKey(disk, join(directory, KEY_FILE), create);
  if (found !== null) return found;
  refuseOtherKey(disk, directory);
  const made = create();
  // The next start would find it open to others, and there would be books by then.
  writeKeyFile(
    disk,
    directory,
    Buffer.from(keyText(made)),
    'keep that in a file elsewhere, as `ayni keygen` prints one, and name it by --server-key',
  );
  return made;
}

/** Throws KeyFileError where the directory's key is missing and no other can take its place. */
export function refuseOtherKey(disk: Disk, directory: string): void {
  const path = join(directory, KEY_FILE);
  if (disk.exists(path)) return;
  const names = disk.readdir(directory);
  // The new key would take the link's place, and nobody the one that was meant.
  if (names.includes(KEY_FILE)) throw new KeyFileError(`${path} is a link that leads nowhere; put the key there first`);
  const books = names.find((name) => isBooksName(name) || name === END_FILE);
  if (books === undefined) return;
  throw new KeyFileError(
    `${path} is missing, but ${books} was signed by the server's key; put it back from a copy, or name the file that it is in with --server-key`,
  );
}

/** Writes the key file of a directory, unless others could read it there: then it throws, with what to do `instead`. */
export function writeKeyFile(disk: Disk, directory: string, bytes: Uint8Array, instead: string): void {
  const path = join(directory, KEY_FILE);
  writeWhole(disk, path, bytes);
  if (openToOthers(disk, path) === null) return;
  disk.unlink(path);
  throw new KeyFileError(
    `${directory} lies on a file system where every file is open to others, the server's secret too; ${instead}`,
  );
}

/**
 * Says that group or others may do anything with the secret in this file (of root's, anything but read it as its
 * group), and what helps; null where they may not.
 */
export function openToOthers(disk: Disk, path: string): string | null {
  const { mode, isRoots } = disk.rights(path);
  if ((mode & (isRoots ? OTHERS_OF_ROOTS : OTHERS)) === 0) return null;
  return `${path} holds a secret, and others may use it (mode ${mode.toString(8)}); run: chmod ${isRoots ? '640' : '600'} ${path}`;
}

/** The key in this file, where it is whole and nobody else's; null where there is no file. */
function usableKey(disk: Disk, path: string, create: MakePair): KeyPair | null {
  const found = readKey(disk, path);
  if (found === null) return null;
  const fault = openToOthers(disk, path);
  if (fault !== null) {
    throw new KeyFileError(
      `${fault} (where that changes nothing, as on file systems without rights of their own, keep it on another; the server's is named by --server-key)`,
    );
  }
  return matching(found, path, create);
}

function matching(pair: KeyPair, path: string, create: MakePair): KeyPair {
  if (equalBytes(create(pair.secret).public, pair.public)) return pair;
  throw new KeyFileError(`${path} is damaged: its two keys do not belong together; put it back from a copy`);
}

/** What the file of this pair holds. */
export function keyText({ public: key, secret }: KeyPair): string {
  return `${JSON.stringify({ format: KEY_FORMAT, public: toBase64(key), secret: toBase64(secret) })}\n`;
}

function parseKeyPair(text: string): KeyPair | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { format, public: publicText, secret: secretText } = value as Record<string, unknown>;
  const publicKey = fromBase64(publicText);
  const secret = fromBase64(secretText);
  return format === KEY_FORMAT && publicKey !== null && secret !== null ? { public: publicKey, secret } : null;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** 32 bytes, or null; Node's decoder skips what is not base64, so the text must be what it would write. */
function fromBase64(text: unknown): Uint8Array | null {
  if (typeof text !== 'string') return null;
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return bytes.length === KEY_BYTES && toBase64(bytes) === text ? bytes : null;
}
