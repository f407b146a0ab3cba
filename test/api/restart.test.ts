/**
 * The promise, kept across the end of a process: what was acknowledged is there with the same bytes, what was
 * refused is not, balances add up, a torn tail is cut and named, damage stops the start, and two processes never
 * share one directory.
 */
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { type Client, connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory, makeDirectory } from '../support/directory.ts';
import {
  issue,
  type Kit,
  limit,
  makeKit,
  openLedger,
  pause,
  reasonOf,
  segment,
  transfer,
  unique,
  until,
} from '../support/kit.ts';
import { everyOther, isLong, often } from '../support/long.ts';
import { serverOfTest } from '../support/of-test.ts';
import { unopened } from '../support/refused.ts';
import { SAMPLES } from '../support/samples.ts';
import { type Server, startRefused, startServer } from '../support/server.ts';

const keys = makeKeys();
async function start(path: string, flags: string[] = []): Promise<{ server: Server; client: Client; kit: Kit }> {
  const server = await serverOfTest({ directory: path, flags });
  onTestFailed(() => console.error(server.log()));
  const client = connect(server);
  return { server, client, kit: makeKit(client, keys) };
}

test('whoever took the handle of the default ledger, when that was renamed, had its place at the next start', async () => {
  const path = freshDirectory();
  const first = await start(path);
  const made = (await first.client.get('/ledger')).body;
  const strangers = await openLedger(first.client, makeKeys());
  const rename = async (client: Client, old: Json, handle: string) => {
    const reply = await client.put(`/ledgers/${old.data.handle}`, {
      luid: old.luid,
      ...record({ ...old.data, handle, parent: old.hash }, keys),
    });
    return [reply.status, reply.body.data.reason, reply.body] as const;
  };
  const asMain = record({ handle: 'main' }, makeKeys());
  expect(reasonOf(await first.client.post('/ledgers', asMain))).toEqual([409, 'record.duplicated']);
  const [renamed, , bank] = await rename(first.client, made, 'bank');
  expect(renamed).toBe(200);
  expect(reasonOf(await first.client.post('/ledgers', asMain))).toEqual([422, 'record.invalid']);
  expect((await rename(first.client, strangers, 'main')).slice(0, 2)).toEqual([422, 'record.invalid']);
  const [back, , main] = await rename(first.client, bank, 'main');
  expect(back).toBe(200);
  expect((await rename(first.client, main, 'bank'))[0]).toBe(200);
  await first.server.stop();
  expect((await startRefused({ directory: path })).log).toMatch(/has no ledger main; it has bank, .*--ledger/);
  // Once the operator has said which one is meant, the handle is as free as any other.
  const { client } = await start(path, ['--ledger', 'bank']);
  expect((await client.get('/ledger')).body.luid).toBe(made.luid);
  expect((await client.post('/ledgers', asMain)).status).toBe(201);
});

/** Every file below a directory with its bytes. */
function contents(path: string): Map<string, Buffer> {
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  return new Map(files.filter((file) => statSync(file).isFile()).map((file) => [file, readFileSync(file)]));
}

/** The file that changed while `write` ran: the journal, whatever it is called. */
async function changed(path: string, write: () => Promise<unknown>): Promise<string> {
  const before = contents(path);
  await write();
  const files = [...contents(path)].filter(([file, bytes]) => !before.get(file)?.equals(bytes)).map(([file]) => file);
  expect(files, 'one file changes when a record is stored').toHaveLength(1);
  return files[0]!;
}

/** Where the last frame of a journal ends; behind it a server that was killed leaves zeros, room for the next ones. */
function endOf(journal: string): number {
  const bytes = readFileSync(journal);
  let at = 56;
  while (at + 8 <= bytes.length && bytes.readUInt32BE(at + 4) > 0) at += 8 + bytes.readUInt32BE(at + 4);
  expect(bytes.subarray(at).every((byte) => byte === 0)).toBe(true);
  return at;
}

/** Everything a client can read back, by path, as the bytes that came. */
async function readAll(client: Client, paths: string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const path of paths) {
    const reply = await client.get(path);
    expect(reply.status, path).toBe(200);
    found.set(path, reply.text);
  }
  return found;
}

describe('a restart changes no byte', () => {
  test('with snapshots and without, by SIGKILL and by SIGTERM', async () => {
    const path = freshDirectory();
    const first = await start(path, ['--snapshot-every', '50']);
    const { kit } = first;
    const paths: string[] = ['/ledger', '/signers/system'];
    const gone: string[] = [];
    for (const sample of SAMPLES) {
      const stored = await kit.make(sample.path, await sample.data(kit));
      const id = `/${sample.path}/${stored.data.handle}`;
      const changed = await kit.change(sample.path, stored, { ...stored.data, custom: { n: 2 } });
      expect(changed.status, changed.text).toBe(200);
      paths.push(id, `/${sample.path}/${segment(stored.luid)}`, `${id}/changes/2`);
      if (!sample.drop) continue;
      const dropped = await kit.make(sample.path, await sample.data(kit));
      await first.client.post(`/${sample.path}/${dropped.data.handle}/drop`, kit.dropBody(dropped));
      gone.push(`/${sample.path}/${dropped.data.handle}`, `/${sample.path}/${segment(dropped.luid)}`);
    }
    const ledger = await openLedger(first.client, keys);
    const [symbol, a, b] = [await kit.symbol(), await kit.wallet(), await kit.wallet()];
    await kit.done([issue(a, symbol, 1000), limit(a, symbol, 'minBalance', 10), limit(b, symbol, 'dailyCount', 100)]);
    for (let n = 0; n < 60; n += 1) {
      const { body } = await kit.send([transfer(a, b, symbol, n % 7 === 6 ? 10_000 : 1 + (n % 5))]);
      if (n % 3 === 0) paths.push(`/intents/${body.data.handle}`);
    }
    const held = await kit.clear([transfer(a, b, symbol, 5)], { data: { config: { commit: 'manual' } } });
    paths.push(`/intents/${held.data.handle}`, `/wallets/${a}`, `/ledgers/${ledger.data.handle}`);
    const before = await readAll(first.client, paths);
    const money = [await kit.balance(a, symbol), await kit.balance(b, symbol)];
    const limits = (await first.client.get(`/wallets/${a}/limits`)).body.data;
    const list = (await first.client.get('/intents?page.limit=100')).body.data;

    const compare = async ({ server, client, kit }: Awaited<ReturnType<typeof start>>) => {
      expect(server.publicKey).toBe(first.server.publicKey);
      const after = await readAll(client, paths);
      for (const [one, text] of before) expect(after.get(one), one).toBe(text);
      for (const one of gone) expect((await client.get(one)).status, one).toBe(404);
      expect([await kit.balance(a, symbol), await kit.balance(b, symbol)]).toEqual(money);
      expect((await client.get(`/wallets/${a}/limits`)).body.data).toEqual(limits);
      expect((await client.get('/intents?page.limit=100')).body.data).toEqual(list);
    };
    await first.server.kill();
    const snapshots = readdirSync(path).filter((name) => /^(snapshot|part)-/.test(name));
    expect(snapshots.length).toBeGreaterThan(1);
    // The journal is whole, so that a start does without them.
    const bare = freshDirectory();
    cpSync(path, bare, { recursive: true });
    for (const name of snapshots) rmSync(join(bare, name));
    for (const [directory, flags] of [
      [path, ['--snapshot-every', '50']],
      [bare, []],
    ] as const) {
      const second = await start(directory, [...flags]);
      expect(second.server.log().includes('Read the snapshot after entry')).toBe(directory === path);
      await compare(second);
      let third = second;
      if (directory === path || isLong) {
        expect(await second.server.stop()).toBe(0);
        third = await start(directory, [...flags]);
        await compare(third);
      }

      const commit = { moment: new Date().toISOString(), action: 'commit' };
      const go = record(held.data, keys, [commit]).meta.proofs[0];
      expect((await third.client.post(`/intents/${held.data.handle}/proofs`, go)).status).toBe(200);
      const final = (await third.client.get(`/intents/${held.data.handle}`)).body;
      expect(final.meta.status).toBe('completed');
      expect(await third.kit.balance(b, symbol)).toBe(money[1]! + 5);
      await third.kit.done([transfer(a, b, symbol, 1)]);
      await third.server.kill();
    }
  });
});

interface Sent {
  body: Json;
  /** 0 where no answer came. */
  status: number;
  reply?: Json;
}

/** Four clients, one request at a time each: transfers, some too large, every tenth with a false signature. */
function storm(client: Client, wallets: string[], symbol: string): { sent: Sent[]; stop(): Promise<void> } {
  const sent: Sent[] = [];
  let running = true;
  const run = async (lane: number): Promise<void> => {
    for (let n = 0; running; n += 1) {
      const [from, to] = [wallets[(lane + n) % wallets.length]!, wallets[(lane + 2 * n + 1) % wallets.length]!];
      const claims = [transfer(from, to, symbol, 1 + (n % 40))];
      const body = record({ handle: unique('storm'), claims }, keys, [{ status: 'created' }]);
      if (n % 10 === 9) body.meta.proofs[0].public = makeKeys().public;
      const one: Sent = { body, status: 0 };
      sent.push(one);
      try {
        const reply = await client.post('/intents', body);
        one.status = reply.status;
        one.reply = reply.body;
      } catch (error) {
        // A broken connection is a TypeError of fetch; a false answer is not, and must not be lost here.
        if (!(error instanceof TypeError)) throw error;
        return;
      }
    }
  };
  const lanes = [0, 1, 2, 3].map(run);
  return {
    sent,
    async stop() {
      running = false;
      await Promise.all(lanes);
    },
  };
}

/** One after the other are those of the kill rounds (test/engine/process.test.ts), too. */
const LIVES = often(1, 4);

describe('under load from several clients', () => {
  const runs: [string, 'SIGTERM' | 'SIGKILL', string[]][] = [
    ['SIGKILL', 'SIGKILL', []],
    ['SIGKILL with snapshots', 'SIGKILL', ['--snapshot-every', '50']],
    ['SIGTERM', 'SIGTERM', []],
  ];
  test.each(runs)(
    '%s: acknowledged is there, refused is not, unanswered is one or the other',
    async (_name, signal, flags) => {
      const path = freshDirectory();
      const setup = await start(path, flags);
      const symbol = await setup.kit.symbol();
      const wallets = await Promise.all([0, 1, 2, 3, 4].map(() => setup.kit.wallet()));
      await setup.kit.done(wallets.map((wallet) => issue(wallet, symbol, 500)));
      const expected = new Map(wallets.map((wallet) => [wallet, 500]));
      const settled = new Set<string>();
      let { server, client, kit } = setup;
      for (let life = 0; life < LIVES; life += 1) {
        const load = storm(client, wallets, symbol);
        await pause(100 + 100 * life);
        // However slow the machine is just now, there must be something to lose.
        await until(() => load.sent.filter((one) => one.status === 201).length > 5);
        if (signal === 'SIGTERM') expect(await server.stop()).toBe(0);
        else await server.kill();
        await load.stop();
        ({ server, client, kit } = await start(path, flags));
        for (const one of load.sent) await judge(client, one, expected, settled);
        for (const wallet of wallets) expect(await kit.balance(wallet, symbol)).toBe(expected.get(wallet));
      }
      const total = [...expected.values()].reduce((sum, amount) => sum + amount, 0);
      expect(total).toBe(2500);
      expect(settled.size).toBeGreaterThan(0);
    },
  );

  async function judge(client: Client, one: Sent, expected: Map<string, number>, settled: Set<string>): Promise<void> {
    const { handle } = one.body.data;
    const found = await client.get(`/intents/${handle}`);
    if (one.status === 201) {
      expect(found.status, `${handle} was acknowledged`).toBe(200);
      expect(found.body.luid).toBe(one.reply.luid);
      expect(found.body.meta.proofs.slice(0, 2)).toEqual(one.reply.meta.proofs.slice(0, 2));
      expect(found.body.meta).toMatchObject({ moment: one.reply.meta.moment, thread: one.reply.meta.thread });
    } else if (one.status === 422) expect(found.status, `${handle} was refused`).toBe(404);
    else expect([200, 404]).toContain(found.status);
    if (found.status !== 200) return;
    expect(found.body.data).toEqual(one.body.data);
    expect(['completed', 'rejected']).toContain(found.body.meta.status);
    const again = await client.post('/intents', one.body);
    expect([again.status, again.body.data.custom?.hash]).toEqual([409, one.body.hash]);
    if (found.body.meta.status !== 'completed') return;
    settled.add(handle);
    const [claim] = one.body.data.claims;
    expected.set(claim.source.handle, expected.get(claim.source.handle)! - claim.amount);
    expected.set(claim.target.handle, expected.get(claim.target.handle)! + claim.amount);
  }
});

describe('one directory, one process', () => {
  test('a second one refuses and the first serves on', async () => {
    const path = freshDirectory();
    const { client, kit } = await start(path);
    const wallet = await kit.wallet();
    const second = await startRefused({ directory: path });
    expect(second.code).not.toBe(0);
    expect((await client.get(`/wallets/${wallet}`)).status).toBe(200);
    await kit.wallet();
  });
  test('the lock of a killed process stops nobody', async () => {
    const path = freshDirectory();
    const { server, kit } = await start(path);
    const wallet = await kit.wallet();
    await server.kill();
    const again = await start(path);
    expect((await again.client.get(`/wallets/${wallet}`)).status).toBe(200);
  });
});

/** What a killed server left: the paths and bytes of its records, and which file is the journal. */
let left: { path: string; records: Map<string, string>; last: string; journal: string };

beforeAll(async () => {
  const path = makeDirectory();
  const server = await startServer({ directory: path });
  const client = connect(server);
  const kit = makeKit(client, keys);
  const paths: string[] = [];
  for (let n = 0; n < 30; n += 1) paths.push(`/wallets/${await kit.wallet({ custom: { n } })}`);
  const records = await readAll(client, paths);
  let last = '';
  const journal = await changed(path, async () => {
    last = `/wallets/${await kit.wallet()}`;
  });
  await server.kill();
  left = { path, records, last, journal: basename(journal) };
  return () => rmSync(path, { recursive: true, force: true });
});

/** That, copied to a directory of the test's own: the paths and bytes, the journal, and where it ends. */
function killed(path: string) {
  cpSync(left.path, path, { recursive: true });
  const journal = join(path, left.journal);
  return { records: left.records, last: left.last, journal, end: endOf(journal) };
}

describe('a torn tail', () => {
  /** Starts again and compares what was cut off the journal with what the log says was cut. */
  async function startAgain(path: string, journal: string): Promise<{ server: Server; client: Client; kit: Kit }> {
    // A frame may have been cut behind a byte that is zero, as any of a signature's may be: those are not counted.
    const torn = readFileSync(journal).findLastIndex((byte) => byte !== 0) + 1;
    const again = await start(path);
    const cut = torn - statSync(journal).size;
    expect(cut).toBeGreaterThan(0);
    expect(again.server.log()).toContain(basename(journal));
    expect(again.server.log()).toMatch(new RegExp(`\\b${cut} bytes?\\b`));
    return again;
  }

  const CUTS = everyOther([1, 3, 17, 100], 2);
  test.each(CUTS)('%i bytes cut off: the rest is there, and the start says so', async (bytes) => {
    const path = freshDirectory();
    const { records, last, journal, end } = killed(path);
    truncateSync(journal, end - bytes);
    const { server, client, kit } = await startAgain(path, journal);
    expect(await readAll(client, [...records.keys()])).toEqual(records);
    expect((await client.get(last)).status).toBe(404);
    const fresh = await kit.wallet();
    await server.kill();
    if (bytes !== CUTS[0] && !isLong) return;
    const third = await start(path);
    expect((await third.client.get(`/wallets/${fresh}`)).status).toBe(200);
    expect(await readAll(third.client, [...records.keys()])).toEqual(records);
  });

  test.each(everyOther([2, 37, 5000], 3))(
    '%i bytes of noise behind the end: cut, counted, nothing lost',
    async (bytes) => {
      const path = freshDirectory();
      const { records, last, journal, end } = killed(path);
      truncateSync(journal, end);
      appendFileSync(journal, Buffer.alloc(bytes, 0xa7));
      const { client } = await startAgain(path, journal);
      expect(statSync(journal).size).toBe(end);
      expect(await readAll(client, [...records.keys()])).toEqual(records);
      expect((await client.get(last)).status).toBe(200);
    },
  );

  test('one byte of noise behind the end: put back to nothing, and told', async () => {
    const path = freshDirectory();
    const { records, journal, end } = killed(path);
    truncateSync(journal, end);
    // Not the very next ones: where a sector ends with those, they may be the beginning of a write that did not end.
    appendFileSync(journal, Buffer.from([0, 0, 0xa7]));
    const { server, client } = await start(path);
    expect(server.log()).toContain(`Byte ${end + 2} of ${basename(journal)}, behind the last frame, had changed`);
    expect(endOf(journal)).toBe(end);
    expect(await readAll(client, [...records.keys()])).toEqual(records);
  });

  test('the room that a killed server leaves behind its last frame is none: nothing is cut, and it is used', async () => {
    const path = freshDirectory();
    const { records, journal, end } = killed(path);
    const size = statSync(journal).size;
    expect(size).toBeGreaterThan(end);
    const { server, client, kit } = await start(path);
    expect(server.log()).not.toMatch(/torn/i);
    expect(await readAll(client, [...records.keys()])).toEqual(records);
    await kit.wallet();
    expect([statSync(journal).size, endOf(journal) > end]).toEqual([size, true]);
    expect(await server.stop()).toBe(0);
    expect(statSync(journal).size).toBe(endOf(journal));
  });
});

describe('damage', () => {
  const refused = async (directory: string): Promise<string> => {
    const { code, log } = await startRefused({ directory });
    expect(code).not.toBe(0);
    return log;
  };

  test.each([0.2, 0.5, 0.8])('a flipped bit at %f of the journal stops the start and is named', async (place) => {
    const path = freshDirectory();
    const { records, journal, end } = killed(path);
    const bytes = readFileSync(journal);
    const at = Math.floor(end * place);
    bytes[at] = bytes[at]! ^ 0x10;
    writeFileSync(journal, bytes);
    const isProcess = place === 0.5 || isLong;
    const log = isProcess ? await refused(path) : unopened(path);
    expect(log).toContain(basename(journal));
    expect(log).toMatch(/(byte|offset)\D{0,20}\d+/i);
    expect(readFileSync(journal).equals(bytes), 'damage is not repaired').toBe(true);
    if (!isProcess) return;
    bytes[at] = bytes[at]! ^ 0x10;
    writeFileSync(journal, bytes);
    const healed = await start(path);
    expect((await healed.client.get('/wallets?page.limit=100')).body.data).toHaveLength(records.size + 1);
  });
});
