/**
 * The server's key given by configuration: books that lie apart from the key that signs them, so that who gets the
 * directory, or a copy of it, has not got the key.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { makeKit } from '../support/kit.ts';
import { isLong } from '../support/long.ts';
import { serverOfTest } from '../support/of-test.ts';
import { unopened } from '../support/refused.ts';
import { startRefused } from '../support/server.ts';
import { ayni, reportOf } from './books.ts';

/** A key as `ayni keygen` prints it, in a file that is nobody else's. */
async function keyFile(mode = 0o600): Promise<{ file: string; publicKey: string }> {
  const { out } = await ayni('keygen');
  const file = join(freshDirectory(), 'a key');
  writeFileSync(file, out, { mode });
  chmodSync(file, mode);
  return { file, publicKey: JSON.parse(out).public };
}

test.each(['flag', 'variable'])(
  'given by %s it signs, nothing secret lies beside the data, and the books go on',
  async (by) => {
    const { file, publicKey } = await keyFile();
    const given = by === 'flag' ? { flags: ['--server-key', file] } : { env: { AYNI_SERVER_KEY: file } };
    const directory = freshDirectory();
    const first = await serverOfTest({ directory, ...given });
    expect(first.publicKey).toBe(publicKey);
    expect(readdirSync(directory).filter((name) => !/^(journal|lock|stopped)-/.test(name))).toEqual([]);
    // From there on who has told it makes no difference.
    if (by === 'variable' && !isLong) return;
    const made = await makeKit(connect(first), makeKeys()).make('circles', { handle: 'c' });
    await first.stop();
    expect(readdirSync(directory).filter((name) => !/^(journal|lock|stopped)-/.test(name))).toEqual([]);
    const second = await serverOfTest({ directory, ...given });
    expect((await connect(second).get('/circles/c')).body).toEqual(made);
    await second.stop();
    const audit = await ayni('verify', directory, '--against', publicKey, '--json');
    expect([audit.code, reportOf(audit).ok], audit.out).toEqual([0, true]);
    const story = await ayni('export', directory, 'circle', 'c', '--server-key', file);
    expect([story.code, story.code === 0 && JSON.parse(story.out).server], story.err).toEqual([0, publicKey]);
    const bare = await ayni('export', directory, 'circle', 'c');
    expect([bare.code, bare.err]).toEqual([1, expect.stringContaining('--server-key')]);
    const unnamed = await startRefused({ directory });
    expect([unnamed.code, unnamed.log]).toEqual([1, expect.stringMatching(/server\.key is missing.*--server-key/)]);
  },
);

test('a key that lay beside the data may be moved elsewhere', async () => {
  const directory = freshDirectory();
  const first = await serverOfTest({ directory });
  await first.stop();
  const file = join(freshDirectory(), 'moved.key');
  renameSync(join(directory, 'server.key'), file);
  const second = await serverOfTest({ directory, flags: ['--server-key', file] });
  expect(second.publicKey).toBe(first.publicKey);
  expect(existsSync(join(directory, 'server.key'))).toBe(false);
});

test('one that cannot be used starts nothing, is named, and none is made in its place', async () => {
  const [open, damaged, folder] = [await keyFile(0o644), await keyFile(), join(freshDirectory(), 'folder')];
  writeFileSync(damaged.file, '{"format":"ed25519-raw"}');
  mkdirSync(folder);
  const missing = join(freshDirectory(), 'missing.key');
  for (const [file, says] of [
    [missing, 'does not exist'],
    [open.file, 'chmod 600'],
    [damaged.file, 'damaged'],
    [folder, 'is a directory'],
  ] as const) {
    const directory = freshDirectory();
    let log: string;
    if (file === missing || isLong) {
      const refused = await startRefused({ directory, flags: ['--server-key', file] });
      expect(refused.code).toBe(1);
      log = refused.log;
    } else log = unopened(directory, file);
    expect(log).toContain(says);
    expect(log).toContain(file);
    expect(
      readdirSync(directory).filter((name) => /key|journal/.test(name)),
      file,
    ).toEqual([]);
  }
  expect(existsSync(missing)).toBe(false);
  const empty = await startRefused({ directory: freshDirectory(), env: { AYNI_SERVER_KEY: '' } });
  expect([empty.code, empty.log]).toEqual([2, expect.stringContaining('AYNI_SERVER_KEY: must not be empty')]);
});

test('books of another key are not served with it, whatever lies beside them', async () => {
  const directory = freshDirectory();
  await (await serverOfTest({ directory })).stop();
  const { file } = await keyFile();
  const { code, log } = await startRefused({ directory, flags: ['--server-key', file] });
  expect([code, log]).toEqual([1, expect.stringMatching(/not signed by this server[\s\S]*--server-key/)]);
  expect((await serverOfTest({ directory })).log()).toContain('serves');
});
