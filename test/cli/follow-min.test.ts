/**
 * Answers that wait for copies (--followers-min): whatever was answered is in so many copies, whichever machine is lost
 * right then; who does not come for it, or has other books, makes nobody be answered; and what waits can be ended.
 */
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePorts } from '../../src/cli/free-ports.ts';
import { FOLLOWERS_MAX } from '../../src/config.ts';
import { SEGMENT_HEADER_BYTES, segmentName } from '../../src/storage/format.ts';
import { crowd, judgeBooks, openAccount, type Sent } from '../engine/process.ts';
import { connect, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit, pause, unique, until } from '../support/kit.ts';
import { hookOfTest } from '../support/of-test.ts';
import { launch, type Server, startRefused, startServer } from '../support/server.ts';
import { SLOW, slow } from '../support/slow.ts';
import { filesIn, fresh } from './books.ts';
import { copiedWithKey, emptyJournal, follow, portOf, serve, showTo } from './follower.ts';

const keys = makeKeys(Buffer.alloc(32, 9));

/** Books with a wallet and a symbol in them, and the port at which they are going to be followed. */
async function begin() {
  const directory = freshDirectory();
  const server = await serve({ directory });
  const account = await openAccount(connect(server), keys);
  const port = portOf(server);
  expect(await server.stop()).toBe(0);
  const flags = (min: number) => ['--followers', String(port), '--followers-min', String(min)];
  return { directory, port, flags, key: server.publicKey, ...account };
}

type Begun = Awaited<ReturnType<typeof begin>>;

const restart = ({ directory, flags }: Begun, ...more: string[]): Promise<Server> =>
  startServer({ directory, flags: [...flags(1), ...more] });

/** One that waits for its copy, and whom it calls. */
async function beginHooked() {
  const begun = await begin();
  const to = fresh();
  const followAgain = () => follow(begun.port, to, begun.key);
  const follower = followAgain();
  const server = await restart(begun);
  return { server, follower, followAgain, hook: await hookOfTest(), kit: makeKit(connect(server), keys) };
}

/** A figure of a server with --metrics. */
async function figure(server: Server, name: string): Promise<number> {
  const [, url] = /Tells how it is doing at (\S+metrics)\./.exec(server.log())!;
  const line = (await (await fetch(url!)).text()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line!.slice(name.length));
}

const post = ({ url }: Server, { wallet, symbol }: Begun): Promise<Response> => {
  const body = record({ handle: unique('min'), claims: [issue(wallet, symbol, 1)] }, keys, [{ status: 'created' }]);
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/intents`, { method: 'POST', headers, body: JSON.stringify(body) });
};

describe('--followers-min', () => {
  test('all that was answered is in the copy when both machines are lost under load, and a server goes on with it', async () => {
    const begun = await begin();
    const { directory, port, key, wallet, symbol } = begun;
    const to = fresh();
    const sent: Sent[] = [];
    for (let round = 0; round < 3; round++) {
      const follower = follow(port, to, key);
      const server = await restart(begun);
      const load = crowd(server.url, 8, wallet, symbol);
      await load.acknowledged(150 + 7 * round);
      // The copy's first, so that what it has is what it had when the last answer left.
      await Promise.all([follower.kill(), server.kill()]);
      await load.end();
      sent.push(...load.sent);
      expect(load.sent.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(150);
      judgeBooks(copiedWithKey(to, directory), sent, wallet, symbol);
    }
    const other = await startServer({ directory: to, flags: ['--server-key', join(directory, 'server.key')] });
    expect((await post(other, begun)).status).toBe(201);
    expect(await other.stop()).toBe(0);
  });

  test('nobody is answered, nor the port open, before the copy has what there is', async () => {
    const begun = await begin();
    const { directory, port, flags, key } = begun;
    const [served] = (await freePorts(1)) as [number];
    const starting = launch(directory, { flags: [...flags(2), '--port', String(served)] });
    let isUp = false;
    void starting.then(() => {
      isUp = true;
    });
    const first = follow(port, fresh(), key);
    await first.tells(/Has entries/);
    await pause(300);
    expect(isUp).toBe(false);
    await expect(fetch(`http://127.0.0.1:${served}/readyz`)).rejects.toThrow();
    const second = follow(port, fresh(), key);
    const server = await starting;
    expect(server.url).not.toBe('');
    expect(second.log()).toContain('Has entries');
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect([await first.stop(), await second.stop()]).toEqual([0, 0]);
  });

  test('without the copy nothing is answered, who comes later is told so; with it what waited is', async () => {
    const begun = await begin();
    const to = fresh();
    let follower = follow(begun.port, to, begun.key);
    const server = await restart(begun, '--metrics', '0');
    expect((await post(server, begun)).status).toBe(201);
    expect(await figure(server, 'ayni_followers_waited_seconds')).toBe(0);
    expect(await figure(server, 'ayni_stage_seconds_total{stage="copies"}')).toBeGreaterThan(0);
    await follower.kill();
    let first: Response | null = null;
    const waiting = post(server, begun).then((response) => {
      first = response;
    });
    await until(() => server.log().includes('Answers wait: 0 of 1 copy'));
    expect(first).toBe(null);
    expect(await figure(server, 'ayni_followers_waited_seconds')).toBeGreaterThanOrEqual(3);
    const read = `${server.url}/wallets/${begun.wallet}/balances`;
    for (const refused of [await post(server, begun), await fetch(read), await fetch(new URL('/readyz', server.url))]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
      expect(await refused.json()).toMatchObject({ data: { reason: 'api.unexpected-error' } });
    }
    follower = follow(begun.port, to, begun.key);
    await waiting;
    expect(first!.status).toBe(201);
    await until(() => server.log().includes('Answers go on'));
    expect((await fetch(new URL('/readyz', server.url))).status).toBe(200);
    expect((await fetch(read)).status).toBe(200);
    expect((await post(server, begun)).status).toBe(201);
    expect(await server.stop()).toBe(0);
    expect(await follower.stop()).toBe(0);
  });

  test('without the copy nothing is read either, though nobody writes: the books may go on elsewhere by then', async () => {
    const begun = await begin();
    const to = fresh();
    let follower = follow(begun.port, to, begun.key);
    const server = await restart(begun);
    expect((await post(server, begun)).status).toBe(201);
    await follower.stop();
    await until(() => server.log().includes('Answers wait: 0 of 1 copy'));
    const asks = [`${server.url}/wallets/${begun.wallet}/balances`, new URL('/readyz', server.url)];
    for (const ask of asks) expect((await fetch(ask)).status).toBe(503);
    follower = follow(begun.port, to, begun.key);
    await until(() => server.log().includes('Answers go on'));
    for (const ask of asks) expect((await fetch(ask)).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(await follower.stop()).toBe(0);
  });

  slow('meanwhile nothing is told of it, nor called; once the copy is back, all is', async () => {
    const { server, hook, kit, follower, followAgain } = await beginHooked();
    const listen = (path: string) => ({ schema: 'webhook', endpoint: hook.url + path });
    const effect = await kit.make('effects', {
      handle: unique('effect'),
      signal: 'circle-created',
      action: listen('/old'),
    });
    hook.answer = () => 500;
    await kit.make('circles', { handle: unique('circle') });
    await hook.waitFor(({ path }) => path === '/old');
    await follower.kill();
    // Neither what is asked now, nor where else from now on it is to be told.
    const answers: string[] = [];
    const ask = (what: string, answer: Promise<unknown>) => void answer.then(() => answers.push(what));
    ask('effect', kit.change('effects', effect, { ...effect.data, action: listen('/new') }));
    await pause(50);
    ask('circle', kit.make('circles', { handle: unique('circle') }));
    await until(() => server.log().includes('Answers wait'));
    expect([answers, hook.calls.some(({ path }) => path === '/new')]).toEqual([[], false]);
    hook.answer = () => 202;
    const again = followAgain();
    await hook.waitFor(({ path }) => path === '/new', 2);
    await until(() => answers.length === 2);
    await again.stop();
    await server.kill();
  });

  slow('nor is anybody called where nothing was written meanwhile: the copy may be the books by then', async () => {
    const { server, hook, kit, follower, followAgain } = await beginHooked();
    const action = { schema: 'webhook', endpoint: hook.url };
    await kit.make('effects', { handle: unique('effect'), signal: 'circle-created', action });
    hook.answer = () => 500;
    await kit.make('circles', { handle: unique('circle') });
    await hook.waitFor(() => true, 2);
    await follower.kill();
    await until(() => server.log().includes('Answers wait'));
    const { length: calls } = hook.calls;
    // It was to be tried again after a second, and two.
    await pause(6000);
    expect(hook.calls.length - calls).toBeLessThan(2);
    hook.answer = () => 202;
    const again = followAgain();
    await hook.waitFor(() => true, calls + 1);
    await again.stop();
    await server.kill();
  });

  slow('a stop ends with 0 where nobody waits but the server itself, which notes what became of a call', async () => {
    const { server, hook, kit, follower } = await beginHooked();
    const action = { schema: 'webhook', endpoint: hook.url };
    await kit.make('effects', { handle: unique('effect'), signal: 'circle-created', action });
    let answer = (_status: number) => {};
    hook.answer = () => new Promise((resolve) => (answer = resolve));
    await kit.make('circles', { handle: unique('circle') });
    await hook.waitFor(() => true);
    await follower.kill();
    answer(202);
    await until(() => server.log().includes('Answers wait'));
    expect(await server.stop()).toBe(0);
    expect(server.log()).not.toContain('Stopped while');
  });

  test.each([
    ['before anything came', 0],
    ['after something came', 1],
  ])('a file that is put in the place of the copy under who follows, %s, is no copy', SLOW, async (_name, posts) => {
    const begun = await begin();
    // That of a server, with zeros behind its end.
    const to = join(freshDirectory(), 'server');
    cpSync(begun.directory, to, { recursive: true, filter: (path) => !/lock-|server\.key/.test(path) });
    const follower = follow(begun.port, to, begun.key);
    const server = await restart(begun);
    const [segment] = filesIn(to, /^journal/);
    cpSync(join(to, segment!), join(to, 'older'));
    for (let n = 0; n < posts; n++) expect((await post(server, begun)).status).toBe(201);
    renameSync(join(to, 'older'), join(to, segment!));
    const waiting = post(server, begun).catch(() => null);
    expect(await follower.ended).toBe(1);
    expect(follower.log()).toContain('was replaced, cut or taken away');
    await until(() => server.log().includes('Answers wait'));
    await server.kill();
    expect(await waiting).toBe(null);
  });

  slow('a copy whose files are gone is none, though who follows is there', async () => {
    const begun = await begin();
    const to = fresh();
    const follower = follow(begun.port, to, begun.key);
    const server = await restart(begun);
    await server.kill();
    for (const name of filesIn(to, /^journal/)) rmSync(join(to, name));
    const starting = launch(begun.directory, { flags: begun.flags(1) });
    expect(await follower.ended).toBe(1);
    expect(follower.log()).toContain('was replaced, cut or taken away');
    const other = follow(begun.port, fresh(), begun.key);
    const { url, child, ended } = await starting;
    expect(url).not.toBe('');
    await other.tells(/Has entries/);
    child.kill('SIGKILL');
    await Promise.all([ended, other.stop()]);
  });

  slow('a stop tells who waits for a copy that does not come, and ends with 1', async () => {
    const begun = await begin();
    const follower = follow(begun.port, fresh(), begun.key);
    const server = await restart(begun);
    await follower.kill();
    const waiting = post(server, begun);
    await until(() => server.log().includes('Answers wait'));
    expect(await server.stop()).toBe(1);
    expect((await waiting).status).toBe(503);
    expect(server.log()).toMatch(/Stopped while answers waited for 1 copy .* Start again\./);
  });

  test.each([
    ['there was a copy', 0],
    ['a copy had all', 1],
  ])('a stop before %s ends with 0, and nobody is served', SLOW, async (_name, seq) => {
    const begun = await begin();
    const starting = launch(begun.directory, { flags: begun.flags(1) });
    // Whoever has only some of it is waited for at the stop.
    const said = seq === 0 ? '' : `?follower=slow&seq=${seq}`;
    await until(async () => {
      const books = await fetch(`http://127.0.0.1:${begun.port}/books${said}`).catch(() => null);
      return books?.status === 200;
    });
    const [lock] = filesIn(begun.directory, /^lock-/);
    const { pid } = JSON.parse(readFileSync(join(begun.directory, lock!), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGTERM');
    const late = follow(begun.port, fresh(), begun.key);
    const { url, ended } = await starting;
    expect([url, await ended]).toEqual(['', 0]);
    await late.stop();
  });

  test.each([
    ['nobody can follow', []],
    ['what the disk has is not waited for', ['--followers', '0', '--durability', 'none']],
  ])('it is refused where %s', async (_name, flags) => {
    const refused = await startRefused({ directory: freshDirectory(), flags: ['--followers-min', '1', ...flags] });
    expect([refused.code, refused.log]).toEqual([2, expect.stringContaining('--followers-min')]);
  });
});

describe('who counts as a copy', () => {
  /** Followers of a journal that says it is so far, and what its answers wait for. */
  async function open(min: number, waitMsMax = 10) {
    const [directory, journal] = [freshDirectory(), emptyJournal()];
    const { position } = journal;
    const told: string[] = [];
    const { url, followers } = await showTo({ directory, journal, waitMsMax, tell: (text) => void told.push(text) });
    const guarded = followers.guard(min);
    const say = async (follower: string, seq: number, chain: string) => {
      await (await fetch(`${url}/books?${new URLSearchParams({ follower, seq: String(seq), chain })}`)).text();
    };
    /** The journal has one more entry; tells whether its answer has left. */
    const writes = () => {
      const chain = Buffer.alloc(32, position.seq + 1);
      Object.assign(position, { seq: position.seq + 1, chain });
      const written = { isAnswered: false, hash: chain.toString('hex') };
      followers.whenThere(() => {
        written.isAnswered = true;
      });
      return written;
    };
    return { url, directory, journal, followers, guarded, say, writes, told };
  }

  const ZERO = '00'.repeat(32);

  test('nobody of other books, who is behind, or who does not say by what hash', async () => {
    const { guarded, say, writes } = await open(1);
    await say('a', 0, ZERO);
    await guarded;
    const written = writes();
    for (const [seq, chain] of [
      [1, ZERO],
      [0, written.hash],
      [2, written.hash],
      [1, ''],
      [1, `${written.hash}00`],
      [1, written.hash.toUpperCase().replace(/0/g, 'A')],
    ] as const) {
      await say('a', seq, chain);
      expect(written.isAnswered).toBe(false);
    }
    await say('bad name', 1, written.hash);
    await say('', 1, written.hash);
    expect(written.isAnswered).toBe(false);
    await say('b', 1, written.hash);
    expect(written.isAnswered).toBe(true);
  });

  test('nobody who has hung up', async () => {
    const { url, guarded, say, writes } = await open(2, 60_000);
    for (const name of ['a', 'b']) await say(name, 0, ZERO);
    await guarded;
    const written = writes();
    const hangUp = new AbortController();
    const asked = { follower: 'a', seq: '1', chain: written.hash, from: '0' };
    const asking = fetch(`${url}/books/${segmentName(1)}?${new URLSearchParams(asked)}`, { signal: hangUp.signal });
    await pause(50);
    hangUp.abort();
    await expect(asking).rejects.toThrow();
    await pause(50);
    await say('b', 1, written.hash);
    expect(written.isAnswered).toBe(false);
    await say('a', 1, written.hash);
    expect(written.isAnswered).toBe(true);
  });

  test('nobody who has said nothing for a minute', async () => {
    const { followers, guarded, say } = await open(1);
    await say('a', 0, ZERO);
    await guarded;
    let isAnswered = false;
    const later = performance.now() + 60_001;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later);
    onTestFinished(() => clock.mockRestore());
    expect(followers.entries).toEqual([]);
    await say('b', 0, ZERO);
    clock.mockImplementation(() => later + 60_001);
    followers.whenThere(() => {
      isAnswered = true;
    });
    expect([isAnswered, followers.entries]).toEqual([false, []]);
    await say('a', 0, ZERO);
    expect([isAnswered, followers.entries]).toEqual([true, [0]]);
  });

  test('and where just as many have all there is already, nobody waits', async () => {
    const { followers, guarded, say } = await open(2);
    for (const name of ['a', 'b']) await say(name, 0, ZERO);
    await guarded;
    let isAnswered = false;
    followers.whenThere(() => {
      isAnswered = true;
    });
    expect([isAnswered, followers.wait.isOn]).toEqual([true, false]);
  });

  test('no more than there is room for, but whoever is known', async () => {
    const { followers, guarded, say, writes } = await open(1);
    for (let n = 0; n < FOLLOWERS_MAX; n++) await say(`follower-${n}`, 0, ZERO);
    await guarded;
    const written = writes();
    for (const [seq, chain] of [
      [0, ZERO],
      [1, ZERO],
      [0, written.hash],
    ] as const) {
      await say('one-more', seq, chain);
      expect([followers.entries.length, written.isAnswered]).toEqual([FOLLOWERS_MAX, false]);
    }
    await say('follower-3', 1, written.hash);
    expect([followers.entries.length, written.isAnswered]).toEqual([FOLLOWERS_MAX, true]);
  });

  test('one that has all there is in the place of one that has not, and never of one that has: strangers stopped all answers', async () => {
    const { followers, guarded, say, writes, told } = await open(1);
    for (let n = 0; n < FOLLOWERS_MAX; n++) await say(`stranger-${n}`, 0, '');
    await say('copy', 0, '');
    expect(followers.entries).toHaveLength(FOLLOWERS_MAX);
    expect(told).toEqual([expect.stringContaining(`${FOLLOWERS_MAX} follow these books, and no more are counted`)]);
    await say('copy', 0, ZERO);
    await guarded;
    for (let n = 0; n < FOLLOWERS_MAX - 1; n++) await say(`copy-${n}`, 0, ZERO);
    await say('copy-too-many', 0, ZERO);
    expect(followers.entries).toHaveLength(FOLLOWERS_MAX);
    const written = writes();
    await say('stranger-1', 1, ZERO);
    expect(written.isAnswered).toBe(false);
    await say('copy', 1, written.hash);
    expect([written.isAnswered, followers.entries.filter((seq) => seq === 1)]).toEqual([true, [1]]);
    expect(told).toHaveLength(1);
  });

  test('nobody who does not say how far he is', async () => {
    const { url, followers } = await open(1);
    for (const said of ['', '&seq=x', '&seq=1.5', '&seq=1e300']) {
      await (await fetch(`${url}/books?follower=a${said}`)).text();
      expect(followers.entries, said).toEqual([]);
    }
  });

  test('who waits for more has it as soon as an answer waits for him', async () => {
    const { url, directory, journal, followers, guarded, say, writes } = await open(1, 60_000);
    await say('a', 0, ZERO);
    await guarded;
    const asking = fetch(`${url}/books/${segmentName(1)}?from=0`);
    await pause(50);
    const header = 'h'.repeat(SEGMENT_HEADER_BYTES);
    writeFileSync(join(directory, segmentName(1)), `${header}a frame`);
    // A header alone is nothing to take.
    Object.assign(journal.end!, { byte: SEGMENT_HEADER_BYTES });
    followers.look();
    expect(await Promise.race([asking, pause(100)])).toBeUndefined();
    Object.assign(journal.end!, { byte: SEGMENT_HEADER_BYTES + 7 });
    writes();
    // Without it, only after that minute.
    const answered = await Promise.race([asking.then((answer) => answer.text()), pause(20_000)]);
    expect(answered).toBe(`${header}a frame`);
  });

  test('the same copy once, and of two the last to come', async () => {
    const { guarded, say, writes } = await open(2);
    for (const name of ['a', 'b']) await say(name, 0, ZERO);
    await guarded;
    const written = writes();
    await say('a', 1, written.hash);
    await say('a', 1, written.hash);
    expect(written.isAnswered).toBe(false);
    await say('b', 1, written.hash);
    expect(written.isAnswered).toBe(true);
    expect(writes().isAnswered).toBe(false);
  });
});
