/** The bridge as a person runs it: its flags, its files, its port, and its ends. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePorts } from '../../src/cli/free-ports.ts';
import { type ServerProcess, startBridge } from '../../src/cli/server-process.ts';
import { bearer, connect, type Json, makeKeys, proof, record, verifyRecord } from '../support/client.ts';
import { PATIENCE_MS, pause, until } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';
import { entryOf, type FakeLedger, openLedger, signed } from './kit.ts';

const SCRIPT = fileURLToPath(new URL('../../src/cli/bridge.js', import.meta.url));

let ledger: FakeLedger;
let directory: string;
let bridge: ServerProcess | undefined;

beforeEach(async () => {
  ledger = await openLedger();
  directory = mkdtempSync(join(tmpdir(), 'ayni-bridge-'));
});
afterEach(async () => {
  await bridge?.stop('SIGKILL');
  await ledger.close();
  rmSync(directory, { recursive: true, force: true });
});

async function start(...more: string[]): Promise<void> {
  const flags = ['--name', 'bank-a', '--ledger', ledger.url, '--accounts', 'ana=1000,luz=0,old=5:inactive', ...more];
  bridge = await startBridge(join(directory, 'books'), { flags });
}

/** Runs it to its end, which must not be long. */
function run(...flags: string[]): { code: number | null; log: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, '--port', '0', ...flags], {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
  });
  return { code: status, log: stdout + stderr };
}

async function post(path: string, body: unknown): Promise<number> {
  return (await fetch(bridge!.url + path, { method: 'POST', body: JSON.stringify(body) })).status;
}

const get = async (path: string) => JSON.parse(await (await fetch(bridge!.url + path)).text());

test('it is there after kill -9, with its key, its books and the reports it owes', async () => {
  ledger.answer = () => 503;
  await start();
  ledger.bank = (await get('/')).data.public;
  const debit = entryOf(ledger, 'debit', 'ana', 300);
  expect(await post('/debits', debit.body)).toBe(202);
  await bridge!.stop('SIGKILL');
  const before = ledger.told.length;
  ledger.answer = () => 200;
  await start();
  const accounts = await get('/accounts');
  verifyRecord(accounts, ledger.bank);
  expect(accounts.data.accounts[0]).toMatchObject({ handle: 'ana', available: 700, held: 300 });
  const told = (await ledger.waitFor(before + 1)).at(-1)!;
  expect(told).toMatchObject({ status: 200, custom: { handle: debit.handle, status: 'prepared' } });
  expect(await bridge!.stop('SIGTERM')).toBe(0);
});

test('a commit comes through whatever others have added to its intent: it was refused for its size, for ever', async () => {
  await start();
  const { handle, intent, body } = entryOf(ledger, 'debit', 'ana', 300);
  expect(await post('/debits', body)).toBe(202);
  // As many as the ledger takes: four mebi of characters, and each of them may be three bytes.
  const note = '漢'.repeat(340_000);
  const added = Array.from({ length: 12 }, (_, n) => proof(intent.hash, makeKeys(), { n, note }));
  const grown = { ...intent, meta: { ...intent.meta, proofs: [...added, ...intent.meta.proofs] } };
  const commit = signed({ handle, action: 'commit', intent: grown }, ledger.keys);
  expect(await post(`/debits/${handle}/commit`, commit)).toBe(202);
  expect((await get('/accounts')).data.accounts[0]).toMatchObject({ available: 700, held: 0 });
});

test('its files are for its eyes only, and one process has them', async () => {
  await start();
  for (const name of readdirSync(join(directory, 'books'))) {
    expect([name, statSync(join(directory, 'books', name)).mode & 0o777]).toEqual([name, 0o600]);
  }
  const { code, log } = run('--data', join(directory, 'books'), '--ledger', ledger.url);
  expect([code, log]).toEqual([1, expect.stringContaining('in use by process')]);
});

// Node opened a debugger on a port, to everybody with an account on the machine: who is in it can read the bank's key.
test('SIGUSR1, which log rotation sends to many a server, does nothing and says so', async () => {
  let log = '';
  const flags = ['--ledger', ledger.url];
  bridge = await startBridge(join(directory, 'books'), { flags, onLog: (text) => (log += text) });
  process.kill(bridge.pid, 'SIGUSR1');
  await until(() => /SIGUSR1|Debugger/.exec(log), 'a word about the signal');
  expect(log).toContain('bridge: SIGUSR1 does nothing here.');
  expect(log).not.toContain('Debugger');
});

test('it waits for a ledger that is not there yet', async () => {
  const [port] = (await freePorts(1)) as [number];
  await ledger.close();
  ledger = { ...ledger, url: `http://127.0.0.1:${port}/v2` };
  const starting = start();
  await pause(1000);
  ledger = await openLedger(1, port);
  await starting;
  expect(JSON.parse(await (await fetch(bridge!.url)).text()).data.ledger).toBe(ledger.keys.public);
});

test('it waits for a ledger that is busy, or starts, or stops', async () => {
  ledger.busy = [503, 429, 500];
  await start();
  expect(ledger.busy).toEqual([]);
  expect(JSON.parse(await (await fetch(bridge!.url)).text()).data.ledger).toBe(ledger.keys.public);
});

test('what a ledger refuses with makes no line of its own in the log', async () => {
  ledger.system = { data: { reason: 'no\nbridge: all is well', detail: '\u001b[2K' } };
  const flags = ['--ledger', ledger.url, '--x-ledger', 'main', '--key', ledger.keys.public, '--join', '1'];
  let log = '';
  bridge = await startBridge(join(directory, 'books'), { flags, onLog: (text) => (log += text) });
  await until(() => log.includes('all is well'), 'the refusal');
  expect(log).toContain('404 no\\u000abridge: all is well \\u001b[2K\n');
});

test('it believes the ledger that it speaks to, and no other of that server: whoever made one moved its accounts', async () => {
  const call = (of: Json): Json => {
    const { body } = entryOf(ledger, 'debit', 'ana', 1);
    const custom = { bridge: 'bank-a', moment: new Date().toISOString(), ...of };
    return { ...body, meta: { proofs: [proof(body.hash, ledger.keys, custom)] } };
  };
  const believed = async (): Promise<number[]> => [
    await post('/debits', call({ ledger: 'main' })),
    await post('/debits', call({ ledger: 'theirs' })),
    await post('/debits', call({})),
  ];
  await start();
  expect(await believed()).toEqual([202, 401, 401]);
  await bridge!.stop('SIGTERM');
  ledger.status = record({ ...ledger.status.data, ledger: 'theirs' }, ledger.keys);
  await start();
  expect(await believed(), 'it is kept').toEqual([202, 401, 401]);
  await bridge!.stop('SIGTERM');
  await start('--x-ledger', 'theirs');
  expect(await believed(), 'but where it is told').toEqual([401, 202, 401]);
});

test('it joins the real ledger once, however often it asks, and not in the name of another', async () => {
  const real = await startServer();
  const flags = ['--name', 'bank-a', '--ledger', real.url, '--join', '5000'];
  const joined = async (books: string, port: number): Promise<ServerProcess> => {
    let log = '';
    const onLog = (text: string) => {
      log += text;
    };
    const process = await startBridge(join(directory, books), { flags: [...flags, '--port', `${port}`], onLog });
    await until(() => log.includes('may owe 5000 usd'), 'the wallet');
    return process;
  };
  try {
    const first = await joined('books', (await freePorts(1))[0]!);
    await first.stop('SIGTERM');
    bridge = await joined('books', first.port);
    const { data } = (await connect(real).get('/bridges/bank-a')).body;
    expect(data).toMatchObject({ config: { server: bridge.url }, traits: ['statuses'] });
    expect((await connect(real).get('/wallets/bank-a/limits')).body.data).toMatchObject([
      { data: { metric: 'minBalance', amount: -5000 } },
    ]);
    const { code, log } = run('--data', join(directory, 'others'), ...flags);
    expect([code, log]).toEqual([1, expect.stringContaining('the ledger has another bridge bank-a')]);
  } finally {
    await real.stop();
  }
});

slow('a limit that waits for others is told as that, and not as a ledger that is away', async () => {
  const real = await startServer();
  try {
    // Whoever may make everything there, and set no limit.
    const access = [{ action: { $in: ['access', 'create', 'read'] }, record: 'any' }];
    const made = await connect(real).post('/ledgers', record({ handle: 'ruled', access }, makeKeys()));
    expect(made.status).toBe(201);
    const flags = ['--name', 'bank-a', '--ledger', real.url, '--x-ledger', 'ruled', '--join', '5000'];
    const { code, log } = run('--data', join(directory, 'books'), ...flags);
    expect([code, log]).toEqual([1, expect.stringContaining('the limit of bank-a is pending')]);
    expect(log).not.toContain('Waits for the ledger');
  } finally {
    await real.stop();
  }
});

describe('it does not start', () => {
  const data = () => ['--data', join(directory, 'books')];
  const BAD: [flag: string, value: string][] = [
    ['--port', '70000'],
    ['--host', ''],
    ['--data', ''],
    ['--ledger', 'ftp://example.org'],
    // Every line of its log that names the ledger had the password.
    ['--ledger', 'http://ana:secret@127.0.0.1:1/v2'],
    ['--ledger', 'http://127.0.0.1:1/v2?ledger=main'],
    ['--url', 'http://ana:secret@127.0.0.1:5001'],
    ['--key', 'abc'],
    ['--accounts', 'ana'],
    ['--accounts', 'ana=-1'],
    // One of the two counted, and nobody was told which.
    ['--accounts', 'ana=1,ana=2'],
    // Of a variable that was not set: a bank that was to believe one ledger believed all of the server.
    ['--x-ledger', ''],
    ['--x-ledger', 'a:b'],
    ['--join', 'much'],
    ['--header', 'secret'],
    ['--chaos', 'x'],
    ['--name', 'a b'],
    ['--colour', 'red'],
  ];
  test.each(BAD)('with %s %s', (flag, value) => {
    const { code, log } = run(...data(), flag, value);
    expect([code, log]).toEqual([2, expect.stringContaining(flag)]);
    expect(log).not.toContain('secret');
  });

  test('with a header that no flag names: told which variable does', () => {
    vi.stubEnv('AYNI_BRIDGE_HEADER', 'secret');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, log } = run(...data());
    expect([code, log]).toEqual([2, expect.stringContaining('AYNI_BRIDGE_HEADER: must be')]);
    expect(log).not.toContain('secret');
  });

  test('with damaged books, and says where', async () => {
    await start();
    await bridge!.stop('SIGTERM');
    const file = join(directory, 'books', 'books.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('ledger', 'Ledger'));
    const { code, log } = run(...data(), '--ledger', ledger.url);
    expect([code, log]).toEqual([1, expect.stringContaining('damaged at byte 0')]);
  });

  test('for a ledger with another key than the one it knows', async () => {
    await start();
    await bridge!.stop('SIGTERM');
    const { code, log } = run(...data(), '--ledger', ledger.url, '--key', makeKeys().public);
    expect([code, log]).toEqual([1, expect.stringContaining('believe the ledger')]);
  });

  test('for a ledger that shows its key to nobody: told which flag names it', async () => {
    const owner = makeKeys();
    const shut = await startServer({ flags: ['--owner', owner.public], headers: bearer(owner) });
    const { code, log } = run(...data(), '--ledger', shut.url);
    await shut.stop();
    expect([code, log]).toEqual([1, expect.stringContaining('answers 403, and no key; name it by --key')]);
  });

  test('with books and no key', async () => {
    await start();
    await bridge!.stop('SIGTERM');
    rmSync(join(directory, 'books', 'server.key'));
    const { code, log } = run(...data(), '--ledger', ledger.url);
    expect([code, log]).toEqual([2, expect.stringContaining('server.key')]);
  });
});
