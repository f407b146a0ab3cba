/** The small tools: what they print, what they refuse, and that they change and tell nothing they should not. */
import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Signatures } from '../../src/cli/audit/signatures.ts';
import { countText } from '../../src/cli/count.ts';
import { freePorts } from '../../src/cli/free-ports.ts';
import { EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { publicKeyOfNoble } from '../../src/proof/verify-noble.ts';
import { changedByte } from '../../src/storage/changed-byte.ts';
import { encode } from '../../src/storage/codec.ts';
import { readAll, realDisk } from '../../src/storage/disk.ts';
import {
  digestEntry,
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  fillFrame,
  sealFrame,
  segmentSeq,
} from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { pin } from '../../src/storage/pinned.ts';
import { remedy, startText } from '../../src/trouble.ts';
import { canMount, mountDisk } from '../process/system.ts';
import { entriesFrom } from '../storage/kit.ts';
import { dieWithUs } from '../support/children.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { until } from '../support/kit.ts';
import { startRefused, startServer } from '../support/server.ts';
import { SLOW, slow } from '../support/slow.ts';
import {
  ayni,
  ayniProcess,
  copyOf,
  filesIn,
  fillBooks,
  framesOf,
  plainBooks,
  prunedBooks,
  type Ran,
  rewritten,
} from './books.ts';

const books = await prunedBooks();

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [123_456, '123,456'],
  [9_007_199_254_740_991, '9,007,199,254,740,991'],
])('%i is shown as %s', (count, text) => {
  expect(countText(count)).toBe(text);
});

test('who follows is told of no flag that a server has', () => {
  const error = Object.assign(new Error('no rights'), { code: 'EACCES' });
  expect(remedy(error, '/copy')).toBe('See that this user may read and write /copy and every file in it');
  expect(startText(error, '/books')).toContain('every file in it (with --read-only: read), then start again.');
});

describe('ayni', () => {
  test('lists its commands, and each tells of itself', async () => {
    const { code, out } = await ayniProcess();
    expect(code).toBe(0);
    const ofModules = [
      'verify',
      'inspect',
      'follow',
      'backup',
      'export',
      'checker',
      'balances',
      'statement',
      'keygen',
      'sign',
      'send',
      'token',
    ];
    for (const name of ['serve', ...ofModules, 'demo']) expect(out).toContain(`  ${name} `);
    const told = new Map<string, Ran>();
    for (const name of ['serve', ...ofModules, 'demo', 'bridge']) {
      const help = await ayniProcess(name, '--help');
      told.set(name, help);
      expect([help.code, help.err]).toEqual([0, '']);
      // Whoever has installed it has no `npm run`.
      expect(help.out).toMatch(name === 'serve' ? /^ayni \d/ : new RegExp(`^ayni ${name}\\b`));
      expect(help.out).not.toContain('npm run');
    }
    // The list of commands was told by it, and neither modules nor programs knew it.
    for (const name of ['verify', 'serve']) expect(await ayniProcess(name, '-h')).toEqual(told.get(name));
    for (const name of ['send', 'serve']) expect(await ayniProcess('help', name)).toEqual(told.get(name));
    expect(await ayniProcess('help', 'nothing')).toMatchObject({ code: 2, out: '' });
  });

  test('tells its version, which is that of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await ayniProcess('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  test('a flag that the demo does not know is refused: it was passed over, and a ledger killed', async () => {
    const { code, out, err } = await ayniProcess('demo', '--seconds', '1');
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('--seconds');
  });
});

describe('an empty path, as of a variable that was not set, is no way to say where one is', () => {
  test.each([
    ['verify', ['verify', '']],
    ['inspect', ['inspect', '']],
    ['backup', ['backup', '', 'BOOKS/copy']],
    ['backup', ['backup', 'BOOKS', '']],
    ['export', ['export', '', 'wallet', 'a']],
    ['balances', ['balances', '']],
    ['statement', ['statement', '', 'a']],
    ['keygen', ['keygen', '--out', '']],
  ])('%s %j', async (_name, args) => {
    const { code, out, err } = await ayni(...args.map((arg) => arg.replace('BOOKS', books)));
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^ayni: .*must not be empty\n$/);
  });
});

describe('the demo', () => {
  const demo = (temporary: string) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('../../src/cli/demo.js', import.meta.url))], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    dieWithUs(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
    const ended = new Promise((resolve) => child.once('close', resolve));
    return { child, ended, text: () => text };
  };
  const runs = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'ended by %s leaves nothing: its server ran on for ever',
    SLOW,
    async (signal) => {
      const temporary = freshDirectory();
      const { child, ended, text } = demo(temporary);
      const [, pid] = await until(() => /\(process (\d+)\)/.exec(text()), text);
      expect(runs(Number(pid)), text()).toBe(true);
      child.kill(signal);
      expect(await ended).toBe(1);
      await until(() => !runs(Number(pid)));
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  slow('whose reader has gone leaves nothing either, and no stack: its files stayed', async () => {
    const temporary = freshDirectory();
    const { child, ended, text } = demo(temporary);
    const [, pid] = await until(() => /\(process (\d+)\)/.exec(text()), text);
    child.stdout.destroy();
    const said = text();
    expect([await ended, text()]).toEqual([1, said]);
    await until(() => !runs(Number(pid)));
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('where it can make no files says so in a sentence', async () => {
    const { ended, text } = demo(join(freshDirectory(), 'none'));
    expect([await ended, text()]).toEqual([1, expect.stringMatching(/^demo: .*ENOENT.*none[^\n]*\n$/)]);
  });
});

describe('standard output', () => {
  const tool = fileURLToPath(new URL('../../src/bin/ayni.js', import.meta.url));

  test('that nobody reads any more ends no server: ayni serve ended with 0, without a word', async () => {
    const [port] = (await freePorts(1)) as [number];
    const args = [tool, 'serve', '--port', String(port), '--workers', '1', '--data', freshDirectory()];
    const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    dieWithUs(server);
    server.stdout.destroy();
    let log = '';
    server.stderr.on('data', (chunk) => (log += chunk));
    const ended = new Promise((resolve) => server.once('close', (code, signal) => resolve(code ?? signal)));
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(async () => (await isUp()) || server.exitCode !== null);
    expect(server.exitCode, log).toBeNull();
    server.kill('SIGTERM');
    expect([await ended, log.includes('SIGTERM: stops listening')]).toEqual([0, true]);
  });

  test.skipIf(process.platform !== 'linux').each([['--version'], ['keygen'], ['inspect'], ['verify']])(
    'that is full: ayni %s says so, and ends with 1',
    (name) => {
      const full = openSync('/dev/full', 'w');
      const args = [tool, name, ...(name === 'inspect' || name === 'verify' ? [books] : [])];
      const { status, stderr } = spawnSync(process.execPath, args, {
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      });
      closeSync(full);
      expect([status, stderr]).toEqual([1, expect.stringMatching(/^ayni: .*ENOSPC[^\n]*\n$/)]);
    },
  );

  test.skipIf(process.platform === 'win32')(
    'that takes a part and then no more: said so, with 1; a story was cut off in the middle, with 0',
    () => {
      const file = join(freshDirectory(), 'said');
      // Of what a file may take there is a limit, in halves of a kilobyte, or whole ones.
      const limited = 'ulimit -f 1; exec "$0" "$1" verify "$2" > "$3"';
      const args = ['-c', limited, process.execPath, tool, books, file];
      const { status, stderr } = spawnSync('/bin/sh', args, { encoding: 'utf8' });
      expect(statSync(file).size % 512, 'as much as there was room for').toBe(0);
      expect([status, stderr]).toEqual([1, expect.stringMatching(/^ayni: .*EFBIG[^\n]*\n$/)]);
    },
  );
});

describe('keygen', () => {
  test('prints a pair that belongs together', async () => {
    const { out, code } = await ayni('keygen');
    const { format, public: key, secret } = JSON.parse(out);
    expect([code, format]).toEqual([0, 'ed25519-raw']);
    expect(Buffer.from(publicKeyOfNoble(Buffer.from(secret, 'base64'))).toString('base64')).toBe(key);
    expect((await ayni('keygen')).out).not.toBe(out);
  });

  test.skipIf(!canMount('a key pair on a disk that is full'))(
    'leaves no half of a file on a full disk: with room again that was in the way',
    async () => {
      const disk = mountDisk('64k');
      const path = join(disk.path, 'pair.json');
      try {
        writeFileSync(join(disk.path, 'other'), Buffer.alloc(64 * 1024));
        const { code, err } = await ayni('keygen', '--out', path);
        expect([code, err]).toEqual([1, expect.stringContaining('ENOSPC')]);
        disk.resize('128k');
        expect((await ayni('keygen', '--out', path)).err).toBe('');
        expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ format: 'ed25519-raw' });
      } finally {
        disk.remove();
      }
    },
  );

  test('writes a file for its owner alone, and never over another', async () => {
    const path = join(freshDirectory(), 'pair.json');
    const { out, code } = await ayni('keygen', '--out', path);
    const text = readFileSync(path, 'utf8');
    expect(code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(out.trim()).toBe(JSON.parse(text).public);
    expect(out).not.toContain(JSON.parse(text).secret);
    const again = await ayni('keygen', '--out', path);
    expect(again.code).toBe(1);
    expect(again.err).toContain('exists already');
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('inspect', () => {
  const lines = (out: string) =>
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  /** Entries still in the journal, by seq. */
  const first = () => Number(/\d+/.exec(filesIn(books, /^journal/)[0]!)![0]);

  test('prints the plan: each file once, with what is in it', async () => {
    const { out, code } = await ayni('inspect', books);
    expect(code).toBe(0);
    for (const name of filesIn(books, /^(journal|snapshot)-/)) expect(out.split(name).length).toBe(2);
    expect(out).toContain(`entries ${first()} to `);
    const newest = filesIn(books, /^snapshot-/).at(-1)!;
    expect(out.match(/^.*: a start begins here/gm)).toEqual([expect.stringContaining(newest)]);
    expect(out).toMatch(/Last entry \d+, written 20/);
  });

  test('prints the plan up to what is damaged', async () => {
    const directory = copyOf(books);
    const [, name, behind] = filesIn(directory, /^journal/) as [string, string, string];
    flip(join(directory, name), 3000);
    const { out, code } = await ayni('inspect', directory);
    expect(code).toBe(1);
    expect(out).toContain('DAMAGE: ');
    expect(out).toContain(`${name}: damaged at byte`);
    expect(out).toMatch(new RegExp(`^${behind} .* not read: behind the damage$`, 'm'));
    expect(out).toContain(`entries ${first()} to `);
  });

  test('of a copy without its beginning says that no server starts on it: it told of the last entry, and ended with 0', async () => {
    const directory = copyOf(books);
    for (const name of filesIn(directory, /^(snapshot|part)-/)) rmSync(join(directory, name));
    const { out, code } = await ayni('inspect', directory);
    expect([code, out]).toEqual([1, expect.stringContaining(`NOT WHOLE: entries 1 to ${first() - 1} are missing`)]);
    expect(out).not.toContain('Last entry');
    const refused = await startRefused({ directory });
    expect([refused.code, refused.log]).toEqual([1, expect.stringContaining('`ayni follow` did not bring to its end')]);
  });

  test.each([
    ['without a journal', 0, 'there is no journal', 'no journal, but entry'],
    ['whose journal ends before a snapshot', 1, 'the journal ends at entry', 'the journal ends at entry'],
  ])('of books %s says that no server starts on them: it ended with 0', async (_, kept, said, why) => {
    const directory = copyOf(books);
    for (const name of filesIn(directory, /^journal/).slice(kept)) rmSync(join(directory, name));
    const { out, code } = await ayni('inspect', directory);
    expect([code, out]).toEqual([1, expect.stringContaining(`DAMAGE: ${said}`)]);
    expect(out).not.toContain('Last entry');
    const refused = await startRefused({ directory });
    expect([refused.code, refused.log]).toEqual([1, expect.stringContaining(why)]);
  });

  test('of a directory that holds none says so: it told of books there, and ended as if all were well', async () => {
    const { out, err, code } = await ayni('inspect', freshDirectory());
    expect([out, err, code]).toEqual(['', expect.stringContaining('holds no books'), 1]);
  });

  test('finds entries by seq, range, luid and handle', async () => {
    const seq = first() + 5;
    const [entry] = lines((await ayni('inspect', books, '--seq', String(seq))).out);
    expect(entry.seq).toBe(seq);
    expect(entry.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(entry.proofs[0].public).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    const range = lines((await ayni('inspect', books, '--from', String(seq), '--to', String(seq + 3))).out);
    expect(range.map((each) => each.seq)).toEqual([seq, seq + 1, seq + 2, seq + 3]);
    const byLuid = lines((await ayni('inspect', books, '--luid', entry.luid)).out);
    expect(byLuid.map((each) => each.seq)).toContain(seq);
    const byHandle = lines((await ayni('inspect', books, '--handle', entry.handle)).out);
    expect(byHandle[0]).toEqual(entry);
  });

  test('finds no entry, and no damage, where a crash cut off the header of the last segment', async () => {
    const directory = copyOf(books);
    const name = filesIn(directory, /^journal/).at(-1)!;
    truncateSync(join(directory, name), 20);
    const { out, err, code } = await ayni('inspect', directory, '--from', String(segmentSeq(name)));
    expect([out, err, code]).toEqual(['', expect.stringContaining('no such entry in the journal'), 1]);
  });

  test('agrees with the journal entry by entry', async () => {
    const whole = freshDirectory();
    const server = await startServer({ directory: whole });
    await fillBooks(server, 3);
    await server.stop();
    const entries = framesOf(whole).flatMap((frame) => frame.entries);
    const printed = lines((await ayni('inspect', whole, '--from', '1')).out);
    expect(printed.map((each) => each.luid)).toEqual(entries.map((entry) => entry.luid));
    expect(new Set(printed.map((each) => each.type))).toEqual(
      new Set(['create', 'update', 'drop', 'proof', 'intent', 'step']),
    );
  });

  test('tells a delivery by where it stands, and of its event where that was told of', async () => {
    const delivery = {
      type: EntryType.delivery,
      ledger: 1,
      kind: Kind.effect,
      luid: '$evd.00000000000000001',
      handle: 'hook',
    };
    const event = { row: 3, seq: 2, index: 1, attempts: 4, isDelivered: true, detail: '' };
    const told = await rewritten(await plainBooks(), (frames) => {
      const { moment, entries } = frames.at(-1)!;
      entries.push({ ...delivery, moment, ...event });
    });
    const printed = lines((await ayni('inspect', told, '--from', '1')).out);
    expect(printed.map(({ seq }) => seq)).toEqual(printed.map((_, index) => index + 1));
    expect(printed.at(-1)).toMatchObject({ type: 'delivery', event: 2, index: 1, attempts: 4 });
  });

  test('shows a moment that no calendar has as it stands: it said `Invalid time value`, and nobody knew of which entry', async () => {
    const moment = 8_640_000_000_000_001;
    const forged = await rewritten(await plainBooks(), (frames) => {
      const intent = frames.flatMap(({ entries }) => entries).findLast(({ type }) => type === EntryType.intent)!;
      Object.assign(intent, { moment, outcome: { ...(intent as IntentEntry).outcome, moment } });
    });
    const printed = lines((await ayni('inspect', forged, '--from', '1')).out);
    const shown = printed.findLast(({ type }) => type === 'intent')!;
    expect(shown).toMatchObject({ moment, outcome: { moment } });
  });

  test('shows data and customs that are no JSON as they stand: it said `Unexpected end of JSON input`, and nobody knew of which entry', async () => {
    const forged = await rewritten(await plainBooks(), (frames) => {
      const intent = frames.flatMap(({ entries }) => entries).findLast(({ type }) => type === EntryType.intent)!;
      const [first, ...others] = (intent as IntentEntry).proofs;
      Object.assign(intent, { data: '{"a":', proofs: [{ ...first, custom: '{' }, ...others] });
    });
    const { out, err, code } = await ayni('inspect', forged, '--from', '1');
    const shown = lines(out).findLast(({ type }) => type === 'intent')!;
    expect(shown).toMatchObject({ data: '{"a":', proofs: [{ custom: '{' }] });
    expect([err, code]).toEqual(['', 0]);
  });

  test.each<[string, string[], number, RegExp]>([
    ['no such entry', ['--seq', '99999'], 1, /no such entry/],
    ['an entry whose segment is gone', ['--seq', '2'], 1, /segments are gone/],
    ['the first entry, whose segment is gone: there was said to be none', ['--seq', '1'], 1, /segments are gone/],
    ['entries that end before the first segment', ['--to', '3'], 1, /segments are gone/],
    ['entries from the first on, which began later without a word', ['--from', '1'], 1, /segments are gone/],
    ['two choices', ['--seq', '40', '--handle', 'a'], 2, /one of/],
    ['a luid that is none', ['--luid', 'abc'], 2, /no luid/],
    ['a number that is none', ['--from', 'x'], 2, /whole number/],
  ])('%s', async (_, args, code, what) => {
    const ran = await ayni('inspect', books, ...args);
    expect(ran.err).toMatch(what);
    expect(ran.code).toBe(code);
  });

  test('shows no secret', async () => {
    const { secret } = JSON.parse(readFileSync(join(books, 'server.key'), 'utf8'));
    for (const args of [[], ['--from', String(first())]]) {
      expect((await ayni('inspect', books, ...args)).out).not.toContain(secret);
    }
    expect((await ayni('verify', books, '--json')).out).not.toContain(secret);
  });
});

describe('a pinned directory', () => {
  test('stays as it was while files grow and go', () => {
    const directory = copyOf(books);
    const [one, two] = filesIn(directory, /^journal/) as [string, string];
    const size = statSync(join(directory, one)).size;
    const pinned = pin(realDisk, directory);
    const before = readFileSync(join(directory, one));
    writeFileSync(join(directory, one), Buffer.concat([before, Buffer.alloc(99)]));
    rmSync(join(directory, two));
    writeFileSync(join(directory, 'journal-00000000000000009999.ayj'), 'x');
    const file = pinned.open(join(directory, one), 'read');
    const bytes = Buffer.alloc(size + 99);
    expect(file.size()).toBe(size);
    // One read may give less: a signature's last zeros come by themselves.
    expect(readAll(file, bytes, 0)).toBe(size);
    expect(bytes.subarray(0, size).equals(before)).toBe(true);
    expect(pinned.open(join(directory, two), 'read').size()).toBeGreaterThan(0);
    expect(pinned.readdir(directory)).not.toContain('journal-00000000000000009999.ayj');
    pinned.release();
  });

  test('is not written to', () => {
    const directory = copyOf(books);
    mkdirSync(join(directory, 'sub'));
    const pinned = pin(realDisk, directory);
    const name = filesIn(directory, /^journal/)[0]!;
    const file = pinned.open(join(directory, name), 'read');
    const writes: (() => void)[] = [
      () => pinned.open(join(directory, name), 'write'),
      () => pinned.open(join(directory, 'new'), 'create'),
      () => pinned.unlink(join(directory, name)),
      () => pinned.rename(join(directory, name), join(directory, 'x')),
      () => pinned.renameLater(join(directory, name), join(directory, 'x'), () => {}),
      () => pinned.link(join(directory, name), join(directory, 'x')),
      () => pinned.mkdir(join(directory, 'x')),
      () => pinned.rmdir(join(directory, 'sub')),
      () => void file.write(new Uint8Array(1), 0, 1, 0),
      () => file.truncate(0),
    ];
    for (const write of writes) expect(write).toThrow('changes nothing');
    pinned.release();
  });
});

describe('signatures', () => {
  test.each([0, 2])('of several bad ones, however far apart, the first is told: %i threads', async (workers) => {
    const keys = createKeyPair();
    const digest = Buffer.alloc(32, 1);
    const good = sign(digest, keys);
    const bad = Buffer.alloc(64, 1);
    const signatures = new Signatures(workers);
    for (let row = 0; row < 3000; row++) {
      const isBad = row === 700 || row === 1500 || row === 2999;
      signatures.add(keys.public, digest, isBad ? bad : good, { file: 'f', seq: row }, 'bad');
    }
    await expect(signatures.settle()).rejects.toMatchObject({ finding: { kind: 'lie', seq: 700, what: 'bad' } });
    await signatures.close();
  });
});

describe('the last frame', () => {
  const server = createKeyPair();
  const isServers = verifyBy(server.public);
  const frame = new FrameBuffer();
  frame.end = FRAME_HEAD_BYTES;
  encode(entriesFrom(3)(), frame);
  const digest = Buffer.alloc(32);
  digestEntry(frame.bytes, FRAME_HEAD_BYTES, frame.end, digest, 0);
  const bytes = Buffer.from(frame.bytes.subarray(0, frame.end + FRAME_FOOT_BYTES));
  const head = { bytes: bytes.length, firstSeq: 7, count: 1, moment: 1_900_000_000_000 };
  const hash = fillFrame(bytes, 0, bytes.length, head, Buffer.alloc(32, 3), digest);
  sealFrame(bytes, 0, bytes.length, sign(hash, server));

  test('with any one byte changed is known to have been whole', () => {
    const missed: string[] = [];
    for (let byte = 0; byte < bytes.length; byte++) {
      for (const change of [1 << (byte % 8), 1 + ((byte * 7) % 255), 255]) {
        const damaged = Buffer.from(bytes);
        damaged[byte]! ^= change;
        const copy = Buffer.from(damaged);
        const found = changedByte(damaged, isServers);
        const isFound = found?.byte === byte && found.change === change;
        if (!isFound || !damaged.equals(copy)) missed.push(`byte ${byte} by ${change}`);
      }
    }
    expect(missed).toEqual([]);
  });

  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(4096)],
    ['the beginning of a frame', bytes.subarray(0, bytes.length - 1)],
    ['a frame with zeros in its middle', Buffer.from(bytes).fill(0, 80, 130)],
    ['a frame and noise', Buffer.concat([bytes, Buffer.alloc(5, 1)])],
  ])('torn, it is not: %s', (_, tail) => {
    expect(changedByte(Buffer.from(tail), isServers)).toBeNull();
  });

  test('of another server was never ours', () => {
    const damaged = Buffer.from(bytes);
    damaged[100]! ^= 1;
    expect(changedByte(damaged, () => false)).toBeNull();
  });
});
