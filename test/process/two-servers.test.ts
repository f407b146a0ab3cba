/**
 * Two servers on one directory of which one cannot see the other, and directories that are taken away from under a
 * server, as operators do it: on a volume of two containers, by `mv` and `rm`, by a copy that is started beside the
 * original. What was acknowledged is where whoever looks next finds it.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ayni } from '../cli/books.ts';
import { answeredWith, crowd, judge, launchOfTest, openAccount, strangeStatuses } from '../engine/process.ts';
import { makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { SLOW, slow } from '../support/slow.ts';
import { canHide, UNSEEN } from './system.ts';

const hidable = canHide('a server that another cannot see');
const keys = makeKeys();

/** A server with a wallet and a symbol to bring into it, and so many acknowledged intents. */
async function startWith(path: string, count: number) {
  const server = await launchOfTest(path);
  const { wallet, symbol } = await openAccount(server.client, keys);
  const load = crowd(server.url, 4, wallet, symbol);
  await load.acknowledged(count);
  return { ...server, wallet, symbol, load };
}

/** A server that does not see the others. Where one of them was ending a write meanwhile, the start is to be made again. */
async function takeOver(path: string): ReturnType<typeof launchOfTest> {
  for (;;) {
    try {
      return await launchOfTest(path, { before: `exec ${UNSEEN} -- "$0" "$@"` });
    } catch (error) {
      expect(String(error)).toMatch(/not as long as it was read.*start again/);
    }
  }
}

test.skipIf(!hidable).each([
  ['quiet', true],
  ['under load', false],
])(
  'a server that cannot see the one that runs takes the directory; the first, %s, acknowledges and writes nothing any more',
  async (_how, isQuiet) => {
    const path = freshDirectory();
    const first = await startWith(path, 100);
    if (isQuiet) await first.load.end(true);
    const second = await takeOver(path);
    const late = crowd(first.url, 4, first.wallet, first.symbol);
    const load = crowd(second.url, 4, first.wallet, first.symbol);
    await load.acknowledged(100);
    await first.load.end();
    await late.end();
    expect(await first.ended).toBe(1);
    // Which of the two it sees first is chance: the lock that is gone, or what the second wrote.
    expect(first.log()).toContain(`${path} is not this server's any more: its `);
    expect(first.log()).not.toMatch(/\n\s+at /);
    expect(answeredWith(late, 201)).toBe(0);
    expect([...strangeStatuses(late), ...strangeStatuses(first.load)]).toEqual([]);
    await load.end(true);
    expect(load.sent.filter(({ status }) => status !== 201)).toEqual([]);
    second.child.kill('SIGKILL');
    await second.ended;
    const third = await launchOfTest(path);
    await judge(third.client, [...first.load.sent, ...load.sent], first.wallet, first.symbol);
  },
);

slow(
  'a directory that is moved away: nobody hears yes any more, and what was acknowledged is where it went',
  async () => {
    const path = freshDirectory();
    const { log, ended, load, wallet, symbol } = await startWith(path, 100);
    const moved = `${freshDirectory()}/books`;
    renameSync(path, moved);
    await load.end();
    expect(await ended).toBe(1);
    expect(log()).toContain('it was moved, removed, or put back from a copy');
    expect(strangeStatuses(load)).toEqual([]);
    const again = await launchOfTest(moved);
    await judge(again.client, load.sent, wallet, symbol);
  },
);

slow('a copy put in the place of a directory: what comes after is not written where nobody looks for it', async () => {
  const path = freshDirectory();
  const { url, log, ended, load, wallet, symbol } = await startWith(path, 50);
  await load.end(true);
  const [copy, moved] = [`${freshDirectory()}/copy`, `${freshDirectory()}/books`];
  cpSync(path, copy, { recursive: true });
  renameSync(path, moved);
  renameSync(copy, path);
  const late = crowd(url, 4, wallet, symbol);
  expect(await ended).toBe(1);
  await late.end();
  expect(answeredWith(late, 201)).toBe(0);
  expect(log()).toContain('it was moved, removed, or put back from a copy');
  for (const directory of [path, moved]) {
    const again = await launchOfTest(directory);
    await judge(again.client, load.sent, wallet, symbol);
  }
});

// Its lock is not in the copy, and stayed: fifty intents were acknowledged into a file without a name, and gone with the process.
test.each([
  ['in place of the files', (from: string, to: string) => renameSync(from, to)],
  ['into the files', copyFileSync],
])('a backup put back beside a running server, %s: nobody hears yes any more', SLOW, async (_how, put) => {
  const path = freshDirectory();
  const { url, log, ended, load, wallet, symbol } = await startWith(path, 50);
  const backup = `${freshDirectory()}/backup`;
  expect(await ayni('backup', path, backup)).toMatchObject({ code: 0 });
  await load.acknowledged(150);
  await load.end(true);
  for (const name of readdirSync(backup)) put(join(backup, name), join(path, name));
  const late = crowd(url, 4, wallet, symbol);
  expect(await ended).toBe(1);
  await late.end();
  expect(answeredWith(late, 201)).toBe(0);
  expect(log()).toMatch(/its journal-\d+\.ayj is gone, or not as it was left.*put back from a copy/);
});

slow('a quiet server ends by itself where its directory has gone', async () => {
  const path = freshDirectory();
  const { log, ended, load } = await startWith(path, 10);
  await load.end(true);
  renameSync(path, `${freshDirectory()}/books`);
  expect(await ended).toBe(1);
  expect(log()).toContain('it was moved, removed, or put back from a copy');
});

slow('a copy of the directory starts while the server runs on the first', async () => {
  const path = freshDirectory();
  const { client, load, wallet, symbol } = await startWith(path, 50);
  await load.end(true);
  const copy = `${freshDirectory()}/copy`;
  cpSync(path, copy, { recursive: true });
  const second = await launchOfTest(copy);
  await judge(second.client, load.sent, wallet, symbol);
  await judge(client, load.sent, wallet, symbol);
});

// Both wrote over each other's frames, and acknowledged them.
test.each([
  ['hard', '-al'],
  ['symbolic', '-as'],
])('a copy of the directory by %s links goes on by itself, and so do the books', async (_kind, flag) => {
  const path = freshDirectory();
  const { child, ended, load, wallet, symbol } = await startWith(path, 10);
  await load.end(true);
  child.kill();
  expect(await ended).toBe(0);
  const copy = `${freshDirectory()}/copy`;
  execFileSync('cp', [flag, path, copy]);
  const servers = await Promise.all([path, copy].map((directory) => launchOfTest(directory)));
  const loads = servers.map(({ url }) => crowd(url, 2, wallet, symbol));
  for (const each of loads) {
    await each.acknowledged(20);
    await each.end(true);
  }
  // Of a file with two names, who comes later has the one that is left.
  expect(servers.some(({ log }) => log().includes('was a file of other books too, by a link'))).toBe(true);
  for (const { child, ended } of servers) {
    child.kill('SIGKILL');
    await ended;
  }
  for (const [n, directory] of [path, copy].entries()) {
    expect(await ayni('verify', directory)).toMatchObject({ code: 0 });
    const { client } = await launchOfTest(directory);
    await judge(client, [...load.sent, ...loads[n]!.sent], wallet, symbol);
  }
});

// It read one moment and went on from another, and said so, or that its books were damaged: 24 starts of 24 failed.
test.each([
  ['hard', '-al'],
  ['symbolic', '-as'],
])('a copy by %s links, without the lock, starts while the server goes on writing', SLOW, async (_kind, flag) => {
  const path = freshDirectory();
  const { client, load, wallet, symbol } = await startWith(path, 500);
  for (let n = 0; n < 3; n++) {
    const copy = `${freshDirectory()}/copy`;
    execFileSync('cp', [flag, path, copy]);
    for (const name of readdirSync(copy).filter((name) => name.startsWith('lock'))) unlinkSync(join(copy, name));
    const second = await launchOfTest(copy);
    expect(second.log()).toContain('was a file of other books too, by a link');
    const other = crowd(second.url, 2, wallet, symbol);
    await other.acknowledged(20);
    await other.end(true);
    second.child.kill('SIGKILL');
    await second.ended;
    expect(await ayni('verify', copy)).toMatchObject({ code: 0 });
  }
  await load.end(true);
  await judge(client, load.sent, wallet, symbol);
});
