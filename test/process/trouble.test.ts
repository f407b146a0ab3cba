/**
 * What the operator reads when the server does not start or cannot go on: what happened, what is safe, what to do. A
 * stack is for our own mistakes. And what the operator may ask of a running server.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { AssertionError } from '../../src/core/refusal.ts';
import { Heap } from '../../src/memory/index.ts';
import { createKeyPair, encodeBase64 } from '../../src/proof/keys.ts';
import { segmentName } from '../../src/storage/format.ts';
import { DamageError } from '../../src/storage/segments.ts';
import {
  clockText,
  defectText,
  fatalText,
  startText,
  watchClock,
  watchStillness,
  watchThreads,
} from '../../src/trouble.ts';
import { ayni, copyOf, filesIn, fillBooks, plainBooks, rewritten } from '../cli/books.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { MOMENT, makeKit, until } from '../support/kit.ts';
import { everyOther, isLong, SHARE } from '../support/long.ts';
import { freePort, serverOfTest } from '../support/of-test.ts';
import { unopened } from '../support/refused.ts';
import { type Server, startRefused, startServer } from '../support/server.ts';

const books = await plainBooks();

const start = (directory: string, env: Record<string, string> = {}): Promise<Server> =>
  serverOfTest({ directory, env });

const imprint = (directory: string) =>
  filesIn(directory, /^(journal|snapshot|part|server)/).map((name) => [
    name,
    readFileSync(join(directory, name)).toString('base64'),
  ]);

/** The text of a start that must be refused, from a copy of the books that `spoil` had its way with. */
async function refusedAfter(spoil: (directory: string) => void, flags?: string[]): Promise<string> {
  const directory = copyOf(books);
  spoil(directory);
  const before = imprint(directory);
  const log = flags === undefined ? unopened(directory) : await refused(directory, flags);
  expect(log).not.toMatch(/\n\s+at /);
  expect(imprint(directory), 'not a byte of the books changes').toEqual(before);
  return log.replaceAll(directory, 'BOOKS');
}

/** What a start says that is refused. */
async function refused(directory: string, flags: string[] = []): Promise<string> {
  const { code, log } = await startRefused({ directory, flags });
  expect(code).toBe(1);
  return log;
}

const keyFile = (directory: string) => join(directory, 'server.key');

describe('no start', () => {
  test('with a key that others may read; told the command that helps, which helps', async () => {
    for (const mode of everyOther([0o644, 0o640, 0o604, 0o620], 4)) {
      const log = await refusedAfter((directory) => chmodSync(keyFile(directory), mode));
      expect(log).toContain(`(mode ${mode.toString(8)})`);
      expect(log).toContain('run: chmod 600 BOOKS/server.key');
    }
    const directory = copyOf(books);
    chmodSync(keyFile(directory), 0o644);
    chmodSync(keyFile(directory), 0o600);
    expect((await start(directory)).log()).not.toContain('chmod');
  });

  test('with the key of another server', async () => {
    const other = createKeyPair();
    const text = { format: 'ed25519-raw', public: encodeBase64(other.public), secret: encodeBase64(other.secret) };
    const log = await refusedAfter((directory) => writeFileSync(keyFile(directory), JSON.stringify(text)));
    expect(log).toMatch(/BOOKS\/journal-0+1\.ayj: damaged at byte 56: not signed by this server/);
    const named = 'the key that this start took (server.key, or the file that --server-key names)';
    expect(log).toContain(`${named} is not the one these books were made with, then start with that one`);
    expect(log).not.toContain(text.secret);
  });

  test('with a snapshot that cannot be used, and no journal before it: which, and why', async () => {
    const directory = freshDirectory();
    const server = await startServer({ directory, flags: ['--snapshot-every', '20', '--segment-bytes-max', '4096'] });
    await fillBooks(server, 40);
    await server.stop();
    const names = filesIn(directory, /^snapshot/);
    for (const name of names)
      writeFileSync(join(directory, name), readFileSync(join(directory, name)).fill(0, 100, 120));
    const { code, log } = await startRefused({ directory });
    expect(code).toBe(1);
    for (const name of names) expect(log).toContain(`${name} cannot be used: it is damaged between bytes`);
    expect(log).toMatch(/; the segment with entry \d+ is missing, and no snapshot holds it/);
    expect(log, 'the journal is whole').toMatch(new RegExp(`${names.at(-1)}: damaged at byte \\d+: `));
    expect(log).toContain('start on your last backup');
  });

  // A pipe has no end until somebody writes into it: a start, and an audit, waited for that and said nothing.
  test.skipIf(process.platform === 'win32')('where something else lies in place of a file: which', async () => {
    const journal = filesIn(books, /^journal/)[0]!;
    const names = [journal, 'server.key', 'lock-0000000009', 'snapshot-00000000000000000001.ays'];
    for (const name of names) {
      // In the suite two of them by the one, two by the other.
      const commands = ['mkfifo', 'mkdir'].filter(
        (_, other) => isLong || (names.indexOf(name) + SHARE + other) % 2 === 0,
      );
      for (const command of commands) {
        const directory = copyOf(books);
        const path = join(directory, name);
        rmSync(path, { force: true });
        expect(spawnSync(command, ['-m', '600', path]).status).toBe(0);
        const what = command === 'mkdir' ? 'a directory' : 'no file';
        if (!name.startsWith('snapshot')) {
          const { code, log } = await startRefused({ directory });
          expect([code, log]).toEqual([1, expect.stringContaining(`${path} is ${what}`)]);
          expect(log).toContain('Put the file back');
        } else expect((await start(directory)).log()).toContain(`Snapshot ${name} is not used: ${path} is ${what}.`);
        if (name.startsWith('lock')) continue;
        const { code, out, err } = await ayni('verify', directory);
        expect([code, out + err]).toEqual([1, expect.stringContaining(`${path} is ${what}`)]);
      }
    }
  });

  test('without the key, beside books it has signed', async () => {
    const log = await refusedAfter((directory) => rmSync(keyFile(directory)));
    expect(log).toMatch(
      /BOOKS\/server\.key is missing, but journal-0+1\.ayj was signed by the server's key; put it back from a copy.*--server-key/,
    );
  });

  test('on damaged books: file and byte, what to keep, what to do', async () => {
    const log = await refusedAfter((directory) => flip(join(directory, filesIn(directory, /^journal/)[0]!), 700), []);
    expect(log).toMatch(/BOOKS\/journal-0+1\.ayj: damaged at byte \d+: no whole frame, but one follows at byte \d+/);
    for (const words of ['Nothing was changed', 'Keep BOOKS as it is', 'ayni verify', 'start on your last backup']) {
      expect(log).toContain(words);
    }
  });

  test('where another process listens', async () => {
    const first = await start(copyOf(books));
    const log = await refusedAfter(() => {}, ['--port', String(first.port)]);
    expect(log).toContain(`Cannot listen on 127.0.0.1:${first.port}: another process has it`);
  });

  test('where another process listens, by a first start: it makes no books, open to all where the next one says otherwise', async () => {
    const first = await start(copyOf(books));
    const port = String(first.port);
    const free = String(await freePort());
    for (const [flags, flag] of [
      [['--port', port], '--port'],
      [['--metrics', port], '--metrics'],
      [['--followers', port], '--followers'],
      [['--port', free, '--metrics', free], '--metrics'],
    ] as const) {
      const directory = join(freshDirectory(), 'books');
      const log = await refused(directory, [...flags]);
      expect(log).toMatch(new RegExp(`Cannot listen on .*Choose another with ${flag}`));
      expect(existsSync(directory)).toBe(false);
    }
  });

  test("on an IPv6 address, whose colons were not told from the port's", async () => {
    const log = await refusedAfter(() => {}, ['--host', '2001:db8::7']);
    expect(log).toContain('Cannot listen on [2001:db8::7]:0: ');
  });

  test('on an address that is not of this machine: the port was blamed alone', async () => {
    const log = await refusedAfter(() => {}, ['--host', '203.0.113.7']);
    expect(log).toContain('Cannot listen on 203.0.113.7:0: ');
    expect(log).toContain('it is no address of this machine');
    expect(log).toContain('--host');
  });

  test('on a link that leads nowhere: the disk was to be mended', () => {
    const directory = join(freshDirectory(), 'books');
    symlinkSync(join(directory, 'not-mounted-yet'), directory);
    const log = unopened(directory);
    expect(log).toContain(`See that ${directory} is a directory`);
    expect(log).not.toContain('Mend the disk');
  });

  test('on a name that is not UTF-8: new books were begun in another directory, beside the one that was named', () => {
    const above = freshDirectory();
    // What Node makes of the Latin-1 bytes of bücher, and of a directory that it was started in.
    for (const path of [join(above, 'b\uFFFDcher'), join(above, 'b\uFFFDcher', 'snapshots')]) {
      const log = unopened(path);
      expect(log).toContain(`(EILSEQ: a name that is not UTF-8, mkdir '${path}')`);
      expect(log).toContain('one in UTF-8, or name it by a link');
    }
    expect(readdirSync(above)).toEqual([]);
  });

  test('on a file of the books that is a link to nowhere: which, not that the directory is none', async () => {
    const directory = copyOf(books);
    const path = join(directory, filesIn(directory, /^journal/).at(-1)!);
    rmSync(path);
    symlinkSync('not-mounted-yet', path);
    const log = unopened(directory);
    expect(log).toContain(path);
    expect(log).toContain('Put that file back, or what the link in its place leads to');
    for (const tool of ['verify', 'inspect']) {
      const ran = await ayni(tool, directory);
      expect([ran.code, ran.err]).toEqual([1, `ayni: ${path} is a link that leads nowhere\n`]);
    }
  });

  test('on a lock that is no lock: which file is in the way; a stack was shown', () => {
    const directory = copyOf(books);
    writeFileSync(join(directory, 'lock-0000000009'), Buffer.alloc(40_000, 'x'));
    const log = unopened(directory);
    expect(log).toContain(`${join(directory, 'lock-0000000009')}: longer than 32768 bytes`);
    expect(log).toContain('take away what lies in its place');
    expect(log).not.toMatch(/\n\s+at /);
  });

  test('on a file where a directory belongs', () => {
    const directory = copyOf(books);
    const moved = join(freshDirectory(), 'books');
    renameSync(directory, moved);
    writeFileSync(directory, 'a file');
    const log = unopened(directory);
    expect(log).toMatch(/EEXIST|ENOTDIR/);
    expect(log).toContain(`See that ${directory} is a directory`);
    expect(log).not.toMatch(/\n\s+at /);
  });
});

test('threads that are missing are told of once each, whatever is looked at meanwhile', () => {
  const told: string[] = [];
  const look = watchThreads((text) => told.push(text));
  for (const missing of [0, 1, 1, 0, 1, 3, 2, 3]) look(missing);
  expect(told).toEqual([
    expect.stringMatching(/^A thread fewer than there were to be \(--workers\) verify and sign: .*ulimit -u/),
    expect.stringMatching(/^3 threads fewer /),
  ]);
});

describe('a clock that is behind the books', () => {
  test('by an hour: a word at the start, and moments stand still instead of going back', async () => {
    const HOUR = 3_600_000;
    const directory = await rewritten(books, (frames) => {
      for (const frame of frames) frame.moment += HOUR;
    });
    const server = await start(directory);
    expect(server.log()).toMatch(/clock is 3\d{3} s behind the last entry \(20.*Z\)/);
    const kit = makeKit(connect(server), makeKeys());
    const { meta } = await kit.make('wallets', { handle: 'later' });
    expect(meta.moment).toMatch(MOMENT);
    expect(Date.parse(meta.moment)).toBeGreaterThan(Date.now() + HOUR / 2);
  });

  test('since it was set back while the server ran: told then', async () => {
    const preload = fileURLToPath(new URL('./turned-clock.js', import.meta.url));
    const server = await start(copyOf(books), { NODE_OPTIONS: `--import ${preload}` });
    const told = () => server.log().split('behind the last entry').length - 1;
    expect(told()).toBe(0);
    // Until the server looks at its clock for the first time, it does not know another.
    await makeKit(connect(server), makeKeys()).make('wallets', { handle: 'before' });
    server.process.kill('SIGWINCH');
    await until(() => told() > 0);
    expect(server.log()).toMatch(/clock is 3[56]\d\d s behind the last entry \(20.*Z\)/);
  });

  test('is told once, and again where it had caught up', () => {
    const told: string[] = [];
    const look = watchClock((text) => told.push(text));
    const noon = Date.UTC(2030, 0, 1, 12);
    const lookAt = (now: number) => look(noon, now, now);
    lookAt(noon);
    expect(told).toEqual([]);
    for (const now of [noon - 90_000, noon - 80_000, noon - 3_600_000]) lookAt(now);
    expect(told).toHaveLength(1);
    lookAt(noon - 1_000);
    lookAt(noon - 120_000);
    expect(told).toHaveLength(2);
    expect(told[1]).toContain('120 s behind');
  });

  test('or was set back, and comes part of the way: how far behind it is, not that books it has not reached end what waits', () => {
    const told: string[] = [];
    const look = watchClock((text) => told.push(text));
    const [noon, hour] = [Date.UTC(2030, 0, 1, 12), 3_600_000];
    look(noon, noon, 0);
    look(noon, noon - 3 * hour, 1_000);
    look(noon, noon - hour, 2_000);
    look(noon, noon - hour + 1_000, 3_000);
    expect(told).toEqual([expect.stringContaining('10800 s behind'), expect.stringContaining('3600 s behind')]);
    look(noon, noon + hour, 4_000);
    expect(told.slice(2)).toEqual([expect.stringContaining('leapt 7198 s forward')]);
  });

  test('or leaps forward: told each time, and nothing of one that goes as time does, is slewed, or set back', () => {
    const told: string[] = [];
    const look = watchClock((text) => told.push(text));
    const noon = Date.UTC(2030, 0, 1, 12);
    let [now, steady] = [noon, 5_000];
    const pass = (ms: number, byClock = ms) => {
      now += byClock;
      steady += ms;
      look(now, now, steady);
    };
    look(now, now, steady);
    // Books are read for an hour; a clock is slewed; one is set, by as much as is not worth a word.
    pass(3_600_000);
    for (let second = 0; second < 600; second++) pass(1_000, 1_200);
    pass(1_000, 61_000);
    expect(told).toEqual([]);
    pass(1_000, 61_001);
    expect(told).toHaveLength(1);
    pass(1_000);
    pass(1_000, -3_600_000);
    expect(told).toHaveLength(1);
    pass(1_000, 3_601_000);
    expect(told).toHaveLength(2);
    expect(told[1]).toContain('leapt 3600 s forward, to 2030-01-01T13:14:04.001Z');
  });

  test('or nothing looked at it for long, as where the process was stopped: told each time', () => {
    const told: string[] = [];
    const goesOn = watchStillness((text) => told.push(text), 5_000, 1_000);
    for (const steady of [15_000, 16_000, 26_000]) goesOn(steady, 1_000);
    expect(told).toEqual([]);
    goesOn(91_400, 1_500);
    expect(told).toEqual([expect.stringMatching(/^Stood still for 65 s: the process was stopped \(SIGSTOP/)]);
    for (const steady of [92_400, 110_000]) goesOn(steady, 1_500);
    expect(told).toHaveLength(2);
  });

  test('or it computed in one piece: told as that, it was told as a process that was stopped', () => {
    const told: string[] = [];
    const goesOn = watchStillness((text) => told.push(text), 5_000, 1_000);
    goesOn(81_000, 76_000);
    expect(told).toEqual([expect.stringMatching(/^Stood still for 76 s: the server itself computed, in one piece/)]);
    expect(told[0]).not.toContain('SIGSTOP');
    // What the threads took before is none of it.
    goesOn(157_000, 77_000);
    expect(told[1]).toContain('SIGSTOP');
    // A machine that is busy with others gave it a third of them.
    goesOn(199_000, 90_000);
    expect(told[2]).toMatch(
      /^Stood still for 42 s: the server itself computed, in one piece, for 13 s, and the machine/,
    );
    expect(told[2]).not.toContain('SIGSTOP');
  });

  test('by less than a minute, or not at all: not worth one', () => {
    const now = Date.UTC(2030, 0, 1);
    expect(clockText(now + 60_000, now)).toBeNull();
    expect(clockText(now - 60_000, now)).toBeNull();
    expect(clockText(0, now)).toBeNull();
    expect(clockText(now + 60_001, now)).toContain('60 s behind');
  });

  test('or is right now and was ahead then: nobody is told to set it wrong', () => {
    const text = clockText(Date.UTC(2032, 0, 1), Date.UTC(2030, 0, 1));
    expect(text).toContain('If this clock is wrong, set it and start again. If it is right, it was ahead then');
  });

  test('is not told of books whose clock is right', async () => {
    expect((await start(copyOf(books))).log()).not.toContain('clock');
  });
});

function thrownBy(work: () => void): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was to throw');
}

describe('the words for', () => {
  const systemError = (code: string) => Object.assign(new Error(`${code}: it failed, write`), { code });
  test.each([
    ['ENOSPC', 'Make room'],
    ['EDQUOT', 'Make room'],
    ['EFBIG', 'Make room'],
    ['EACCES', 'may read and write /books'],
    // ext4 made itself so when its device failed, and the rights of the user were blamed.
    ['EROFS', 'look at the log of the system, as for a device that fails'],
    ['EMFILE', 'ulimit -n'],
    ['EIO', 'The device itself fails'],
    ['EUCLEAN', 'fsck'],
    ['EBADMSG', 'fsck'],
    ['ENOENT', 'See that /books is a directory'],
    ['ELOOP', 'See that /books is a directory'],
    ['ENAMETOOLONG', 'See that /books is a directory'],
    ['ENOMEM', 'Give it more'],
    // Names in a directory of such a share cannot be synced: the disk was to be mended, or room to be made.
    ['EINVAL', 'The file system of /books does not do this'],
    ['ENOTSUP', 'The file system of /books does not do this'],
    ['EXXX', 'Mend the disk'],
  ])('%s: what is safe, and what to do', (code, remedy) => {
    const error = systemError(code);
    for (const text of [fatalText(error, '/books'), startText(error, '/books')]) {
      expect(text).toContain(error.message);
      expect(text).toMatch(/Everything acknowledged before is safe in \/books|Nothing acknowledged is lost/);
      expect(text).toContain(remedy);
      expect(text).not.toMatch(/\n\s+at /);
    }
  });

  // As Node told each, asynchronous calls first.
  test.each([
    [
      'Unknown system error -122: Unknown system error -122',
      -constants.errno.EDQUOT,
      'EDQUOT: disk quota exceeded',
      'Make room',
    ],
    ['UNKNOWN: unknown error', -constants.errno.EDQUOT, 'EDQUOT: disk quota exceeded', 'Make room'],
    [
      'Unknown system error -116: Unknown system error -116',
      -constants.errno.ESTALE,
      'ESTALE: stale file handle',
      'Mend the disk',
    ],
    ['Unknown system error -117: Unknown system error -117', -117, 'EUCLEAN: the file system needs cleaning', 'fsck'],
  ])('an error that Node has no name for (%s, %i): its name, and what to do', (said, errno, name, remedy) => {
    const code = said.split(':')[0]!;
    const error = Object.assign(new Error(`${said}, write '/books/journal'`), { code, errno });
    for (const text of [fatalText(error, '/books'), startText(error, '/books')]) {
      expect(text).toContain(`(${name}, write '/books/journal')`);
      expect(text).toContain(remedy);
    }
  });

  test('the directory that it was started in, which is gone: one without a name was told', () => {
    const error = Object.assign(new Error('ENOENT: no such file or directory, uv_cwd'), {
      code: 'ENOENT',
      syscall: 'uv_cwd',
    });
    expect(startText(error, 'snapshots')).toMatch(
      /^Cannot use snapshots .* name snapshots from the root on, then start again\.$/,
    );
  });

  test('memory that is not to be had: neither a stack nor a defect of ours, as it was told', () => {
    let error: unknown;
    try {
      new SharedArrayBuffer(2 ** 52);
    } catch (thrown) {
      error = thrown;
    }
    for (const text of [fatalText(error as Error, '/books'), startText(error as Error, '/books')]) {
      expect(text).toContain('This process gets no more memory (Array buffer allocation failed)');
      expect(text).toMatch(/Everything acknowledged before is safe in \/books|Nothing acknowledged is lost/);
      expect(text).toContain('ulimit -v');
      expect(text).not.toMatch(/defect|\n\s+at /);
    }
    const ofOne = defectText(error as Error);
    expect(ofOne).toMatch(/^One request .* no more memory \(Array buffer allocation failed\)\. .*ulimit -v/);
    expect(ofOne).not.toMatch(/defect|\n\s+at /);
  });

  test('a mistake of ours that one request met: all that we can use', () => {
    expect(defectText(new RangeError('Maximum call stack size exceeded'))).toMatch(/^A defect of ours, .*\n\s+at /);
  });

  test('damage: the place first', () => {
    expect(startText(new DamageError('/books/f', 7, 'bad'), '/books')).toMatch(/^\/books\/f: damaged at byte 7: bad\./);
  });

  test('books of a newer server: start that one; they said to go back to a backup', () => {
    const text = startText(new DamageError('/books/f', 0, 'format version 9', 'newer'), '/books');
    expect(text).toContain('start that one again');
    expect(text).toContain('Nothing was changed');
    expect(text).not.toContain('Put the file back');
  });

  test('our own mistakes: a stack, in both', () => {
    const broken = thrownBy(() => new Heap('records', 64).length(1));
    const asserted = thrownBy(() => assert(false, 'the batch outgrew a frame'));
    const thrown = [
      new AssertionError('the sum is off'),
      new TypeError('x is not a function'),
      new RangeError('too far'),
      new URIError('URI malformed'),
      new SyntaxError('Unexpected token'),
      new ReferenceError('x is not defined'),
    ];
    const ours = [...thrown, broken, asserted];
    for (const error of ours) {
      expect(fatalText(error, '/books')).toMatch(/a defect of ours[\s\S]*\n\s+at /);
      expect(startText(error, '/books')).toMatch(/\n\s+at /);
    }
  });
});

describe('what snapshots that were cut short left half-written', () => {
  const LEFT = ['snapshot-00000000000000000007.ays.tmp', 'snapshot-00000000000000000009.ays.tmp', 'part-heap-3.tmp'];
  const leave = (directory: string) => {
    for (const name of LEFT) writeFileSync(join(directory, name), 'half of it');
  };

  test('goes at the next start, which says so: each crash left one more, and the disk filled up with them', async () => {
    const directory = copyOf(books);
    leave(directory);
    const server = await start(directory);
    expect(filesIn(directory, /\.tmp$/)).toEqual([]);
    expect(server.log()).toContain('Removed 3 files');
    await server.kill();
    expect((await start(directory)).log()).not.toContain('Removed');
  });

  test('stays where the books are damaged: nothing is touched then', () => {
    const directory = copyOf(books);
    leave(directory);
    flip(join(directory, filesIn(directory, /^journal/)[0]!), 700);
    expect(unopened(directory)).toContain('damaged at byte');
    expect(filesIn(directory, /\.tmp$/).sort()).toEqual([...LEFT].sort());
  });
});

describe('SIGUSR2', () => {
  test('has a snapshot taken at once, and says which', async () => {
    const server = await start(copyOf(books));
    expect(filesIn(server.directory, /^snapshot/)).toEqual([]);
    server.process.kill('SIGUSR2');
    const told = /Took snapshot-\d{20}\.ays: \d+ bytes written in \d+ ms, 0 older files removed\./;
    await until(() => told.test(server.log()));
    const [name] = filesIn(server.directory, /^snapshot-.*ays$/);
    expect(server.log()).toContain(`Took ${name}`);
    await server.kill();
    expect((await start(server.directory)).log()).toContain(
      `Read the snapshot after entry ${Number(/\d+/.exec(name!)![0])}.`,
    );
  });
});

test('a segment with nothing in it, as a full disk leaves one, is no torn tail of 0 bytes', async () => {
  const directory = copyOf(books);
  const [, last] = /up to entry (\d+)/.exec((await ayni('verify', directory)).out)!;
  const name = segmentName(Number(last) + 1);
  writeFileSync(join(directory, name), '');
  const said = [await ayni('verify', directory), await ayni('inspect', directory)].map(({ out, err }) => out + err);
  const shown = await serverOfTest({ directory, flags: ['--read-only', 'yes'] });
  await shown.stop();
  const server = await start(directory);
  const [verified, inspected, passedBy, started] = [...said, shown.log(), server.log()];
  expect(verified).toContain(`${name} is a segment with nothing in it`);
  expect(inspected).toContain(`${name} has nothing in it`);
  expect(passedBy).toContain(`Passed by ${name}, a segment with nothing in it`);
  expect(started).toContain(`Removed ${name}, a segment with nothing in it`);
  expect(filesIn(directory, /^journal/)).not.toContain(name);
  for (const text of [verified, inspected, passedBy, started]) expect(text).not.toMatch(/\b0 bytes/);
});

test('a snapshot that did not come about is told at the next start: the operator met the same full disk a period later', async () => {
  const flags = ['--snapshot-every', '9'];
  const server = await serverOfTest({ directory: copyOf(books), flags });
  const [, entries, left] =
    /A snapshot is overdue: the journal has (\d+) entries since the last, and one is due each 9 \(--snapshot-every\)\. .* in (\d+) entries.* kill -USR2 \d+\./.exec(
      server.log(),
    )!;
  expect((Number(entries) + Number(left)) % 9).toBe(0);
  server.process.kill('SIGUSR2');
  await until(() => server.log().includes('Took snapshot-'));
  await server.kill();
  expect((await serverOfTest({ directory: server.directory, flags })).log()).not.toContain('overdue');
});

// Node opened a debugger on a port, to everybody with an account on the machine: who is in it can read the server's key.
test('SIGUSR1, which log rotation sends to many a server, does nothing and says so', async () => {
  const server = await start(copyOf(books));
  server.process.kill('SIGUSR1');
  await until(() => /SIGUSR1|Debugger/.test(server.log()));
  expect(server.log()).toContain('SIGUSR1 does nothing here. SIGUSR2 takes a snapshot.');
  expect(server.log()).not.toContain('Debugger');
  await server.stop();
});

// It ended the process at once and without a word, and systemd, which takes that for a stop that was asked for, did not start it again.
test('SIGHUP, which log rotation sends too, stops as SIGTERM does, says so at any log level, and ends with 129', async () => {
  const server = await start(copyOf(books), { AYNI_LOG_LEVEL: 'error' });
  const ended = once(server.process, 'exit');
  server.process.kill('SIGHUP');
  expect(await ended).toEqual([129, null]);
  expect(server.log()).toContain('SIGHUP: stops listening, finishes what is on its way.');
});
