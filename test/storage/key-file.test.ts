import { createHash } from 'node:crypto';
import { lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realDisk } from '../../src/storage/disk.ts';
import {
  KeyFileError,
  type KeyPair,
  keyText,
  loadKey,
  loadOrCreateKey,
  readKeyFile,
} from '../../src/storage/key-file.ts';
import { freshDirectory } from '../support/directory.ts';
import { DIRECTORY, freshDisk, writeFrames } from './kit.ts';

const PATH = `${DIRECTORY}/server.key`;

/** Pairs that belong together, and a new one at each call. */
function maker(): (secret?: Uint8Array) => KeyPair {
  let made = 0;
  return (given) => {
    const secret = given ?? new Uint8Array(createHash('sha256').update(`secret ${++made}`).digest());
    return { public: new Uint8Array(createHash('sha256').update(secret).digest()), secret };
  };
}

test('made at the first start, the same at the second, whole after a power cut', () => {
  const disk = freshDisk();
  const create = maker();
  const first = loadOrCreateKey(disk, DIRECTORY, create);
  disk.crash();
  expect(loadOrCreateKey(disk, DIRECTORY, create)).toEqual(first);
  expect(readKeyFile(disk, DIRECTORY)).toEqual(first);
  expect(JSON.parse(disk.bytesOf(PATH).toString())).toEqual({
    format: 'ed25519-raw',
    public: Buffer.from(first.public).toString('base64'),
    secret: Buffer.from(first.secret).toString('base64'),
  });
});

test('one left half-written by a crash is made anew while there are no books', () => {
  const disk = freshDisk();
  disk.put(`${PATH}.tmp`, Buffer.from('{"for'));
  loadOrCreateKey(disk, DIRECTORY, maker());
  expect(disk.readdir(DIRECTORY)).toEqual(['server.key']);
});

test('missing beside books: never a new one', async () => {
  const disk = freshDisk();
  await writeFrames(disk, [1]);
  expect(() => loadOrCreateKey(disk, DIRECTORY, maker())).toThrow(/server\.key is missing, but journal-0+1\.ayj/);
  const other = freshDisk();
  other.put(`${DIRECTORY}/snapshot-00000000000000000001.ays`, new Uint8Array(1));
  expect(() => loadOrCreateKey(other, DIRECTORY, maker())).toThrow(KeyFileError);
  expect(disk.exists(PATH)).toBe(false);
});

test('a link that leads nowhere: told so; a new key took its place, and the books were begun with that', () => {
  const directory = freshDirectory();
  const path = join(directory, 'server.key');
  symlinkSync(join(directory, 'not-mounted-yet'), path);
  expect(() => loadOrCreateKey(realDisk, directory, maker())).toThrow(KeyFileError);
  expect(() => loadOrCreateKey(realDisk, directory, maker())).toThrow(/server\.key is a link that leads nowhere/);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

describe('damaged: an error that names the file and shows nothing of it, and the file stays', () => {
  const pair = maker()();
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const good = { format: 'ed25519-raw', public: base64(pair.public), secret: base64(pair.secret) };
  test.each([
    ['empty', ''],
    ['cut short', JSON.stringify(good).slice(0, 100)],
    ['no object', 'null'],
    ['another format', JSON.stringify({ ...good, format: 'pem' })],
    ['no secret', JSON.stringify({ ...good, secret: undefined })],
    ['a short secret', JSON.stringify({ ...good, secret: base64(pair.secret.subarray(1)) })],
    ['a secret that is not base64', JSON.stringify({ ...good, secret: `!${good.secret.slice(1)}` })],
    ['keys that do not belong together', JSON.stringify({ ...good, public: good.secret })],
    ['very long', ' '.repeat(5000)],
  ])('%s', (_name, text) => {
    const disk = freshDisk();
    disk.put(PATH, Buffer.from(text));
    let message = '';
    try {
      loadOrCreateKey(disk, DIRECTORY, maker());
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain(PATH);
    expect(message).not.toContain(good.secret.slice(5, 20));
    expect(disk.bytesOf(PATH).toString()).toBe(text);
  });

  test('any character of the file changed', () => {
    const text = JSON.stringify(good);
    for (let index = 0; index < text.length; index++) {
      const disk = freshDisk();
      disk.put(PATH, Buffer.from(`${text.slice(0, index)}~${text.slice(index + 1)}`));
      expect(() => loadOrCreateKey(disk, DIRECTORY, maker())).toThrow(KeyFileError);
    }
  });
});

test('open to others wherever it is made: none is left there, and none that lies there is used', () => {
  const disk = freshDisk();
  disk.rights = () => ({ mode: 0o640, isRoots: false });
  expect(() => loadOrCreateKey(disk, DIRECTORY, maker())).toThrow(/open to others.*--server-key/);
  expect(disk.readdir(DIRECTORY)).toEqual([]);
  disk.put(PATH, Buffer.from(keyText(maker()())));
  expect(() => loadOrCreateKey(disk, DIRECTORY, maker())).toThrow(/others may use it \(mode 640\)/);
});

// Kubernetes lays a secret before a service as root's file, for its group to read: it was refused.
test.each([
  [0o400, ''],
  [0o440, ''],
  [0o640, ''],
  [0o660, 'run: chmod 640'],
  [0o650, 'run: chmod 640'],
  [0o444, 'run: chmod 640'],
  [0o642, 'run: chmod 640'],
])("root's file of mode %o, which a group lets this process read: %s", (mode, told) => {
  const disk = freshDisk();
  const made = loadOrCreateKey(disk, DIRECTORY, maker());
  disk.rights = () => ({ mode, isRoots: true });
  if (told === '') expect(loadKey(disk, PATH, maker())).toEqual(made);
  else expect(() => loadKey(disk, PATH, maker())).toThrow(told);
});

test.each(['open', 'write', 'sync', 'close', 'rename', 'syncDirectory'] as const)(
  'EIO on %s while it is made: no key',
  (call) => {
    const disk = freshDisk();
    disk.inject({ call, code: 'EIO' });
    expect(() => loadOrCreateKey(disk, DIRECTORY, maker())).toThrow('EIO');
    disk.heal();
    loadOrCreateKey(disk, DIRECTORY, maker());
  },
);
