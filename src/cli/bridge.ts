/**
 * `npm run bridge`: a bank with accounts, on the other side of a ledger's wallets. A small but whole example of a
 * system that takes part in two-phase commits, and the peer of the tests.
 *
 * The plan: read the flags, lock the directory, read the books back, know the ledger, listen, send the reports that
 * are still owed; and the same backwards to stop.
 */
import { join as joinPath, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type AccountPlan, Bank, BOOKS_FILE } from '../bridge/bank.ts';
import { CALM, type Chaos, PRANKS, parseChaos } from '../bridge/chaos.ts';
import { join } from '../bridge/join.ts';
import { Ledger, UnreachableError } from '../bridge/ledger.ts';
import { Reports } from '../bridge/reports.ts';
import { startServer } from '../bridge/server.ts';
import { isLedgerHandle } from '../core/address.ts';
import { exitProcess } from '../exit.ts';
import { decodePublic, encodeBase64, type KeyPair, makeKeyPair } from '../proof/keys.ts';
import { realDisk } from '../storage/disk.ts';
import { whileHeld } from '../storage/held-disk.ts';
import { KEY_FILE, loadOrCreateKey } from '../storage/key-file.ts';
import { acquireLock } from '../storage/lock.ts';
import { plain } from '../story/shown.ts';
import { plainUrl, urlHost } from '../url-text.ts';
import { isUsageError, readCount, readFilled, TEXT, UsageError } from './usage.ts';

const HEADER_VARIABLE = 'AYNI_BRIDGE_HEADER';

const HELP = `ayni bridge [flags]

  --port 5001 --host 127.0.0.1        where it listens; port 0 takes a free one
  --data bank                         directory of its books and its key
  --name bank                         its name, and that of its wallet and bridge at the ledger
  --ledger http://127.0.0.1:4000/v2   the ledger; --x-ledger <handle> where it is not the server's default one, whose
                                      handle is else asked for at the first start, and kept: only its calls are believed.
                                      Of one that was renamed, its handle now and the ones before: new,old
  --key <base64>                      the ledger's public key; else it is asked for at the first start, and kept
  --symbol usd                        what its accounts are in
  --accounts ana=1000,old=5:inactive  accounts to open where they are not there yet, and which take part in nothing
  --join <amount>                     make symbol, bridge and wallet at the ledger, and let the wallet go so far below 0
  --url <url>                         where the ledger reaches it, for --join; default is where it listens
  --header name=value                 what every request must bring; or ${HEADER_VARIABLE}, which no list of processes shows
  --chaos <seed>[:<prank>,…]          misbehaves on purpose:
${Object.entries(PRANKS)
  .map(([name, what]) => `      ${name.padEnd(6)} ${what}`)
  .join('\n')}
`;

const LIMITS = {
  /**
   * What a ledger's intent can come to, or its commit would be refused for ever: the data of a mebibyte, numbers
   * written out, four mebi of characters in proofs that anybody may have added, three bytes each, and reports.
   */
  bodyBytesMax: 32 * 1024 * 1024,
  largeBytesMax: 64 * 1024 * 1024,
  requestMsMax: 10_000,
  /** Longer than a slow disk may take. */
  stillMsMax: 60_000,
  connectionsMax: 1000,
  entriesMax: 5_000_000,
  reportsInFlightMax: 32,
  reportWaitMsMax: 10_000,
};
const LEDGER_WAIT_MS = 500;

interface Flags {
  port: number;
  host: string;
  directory: string;
  name: string;
  ledger: string;
  xLedger: readonly string[];
  key: string | null;
  symbol: string;
  accounts: AccountPlan[];
  join: number | null;
  url: string | null;
  header: { name: string; value: string } | null;
  chaos: Chaos;
}

// Who read the log may be gone: that is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
// Else Node opens a debugger, to everybody with an account on the machine.
process.on('SIGUSR1', () => tell('SIGUSR1 does nothing here.'));

function tell(text: string): void {
  process.stderr.write(`bridge: ${text}\n`);
}

function fatal(error: Error): void {
  tell(`${error.message}. Stops here: what was acknowledged is in the file, and will be read from there.`);
  exitProcess(1);
}

async function serve(flags: Flags): Promise<void> {
  realDisk.mkdir(flags.directory);
  const lock = acquireLock(realDisk, flags.directory);
  const keys = loadKeys(flags.directory);
  const bank = new Bank({
    disk: whileHeld(realDisk, lock),
    directory: flags.directory,
    house: { name: flags.name, symbol: flags.symbol },
    keys,
    clock: Date.now,
    ledgerHandles: flags.xLedger,
    entriesMax: LIMITS.entriesMax,
    fatal,
  });
  if (bank.cutBytes > 0) tell(`Cut ${bank.cutBytes} bytes at the end of its file, which were never acknowledged.`);
  const ledger = new Ledger(flags.ledger, flags.xLedger[0] ?? '', LIMITS.reportsInFlightMax);
  await knowLedger(ledger, bank, flags);
  await bank.plan(flags.accounts);

  const server = await startServer({
    ...LIMITS,
    host: flags.host,
    port: flags.port,
    header: flags.header,
    chaos: flags.chaos,
    handle: (method, target, body) => bank.handle(method, target, body),
    defect: (error) => tell(`A defect, in one request: ${error.stack}`),
  });
  const url = `http://${urlHost(flags.host)}:${server.port}`;
  const reports = new Reports({
    ledger,
    keys,
    chaos: flags.chaos,
    inFlightMax: LIMITS.reportsInFlightMax,
    waitMsMax: LIMITS.reportWaitMsMax,
    answered: (entry, state, status) => bank.told(entry, state, status),
    tell,
  });
  bank.report(reports);
  onStop(async () => {
    await server.close();
    await bank.close();
    ledger.close();
    lock.release();
  });
  const { books } = bank;
  process.stdout.write(
    `${flags.name} listens on ${url}, for the ledger ${flags.ledger} with the key ${books.ledgerKey}.\n` +
      `Its own key is ${encodeBase64(keys.public)}. ${books.accounts.size} accounts, ${books.entries.size} entries, ` +
      `${reports.size} reports to send, in ${flags.directory}.\n`,
  );

  if (flags.join === null) return;
  const { name, symbol, header } = flags;
  const wish = { ledger, keys, name, symbol, url: flags.url ?? url, header, limit: flags.join };
  await patiently(() => join(wish));
  tell(`The ledger has the wallet ${name}, which may owe ${flags.join} ${symbol}.`);
}

/**
 * The ledger's key, and its handle, are what the first start was told, or found; they are kept, and no other is
 * believed.
 */
async function knowLedger(ledger: Ledger, bank: Bank, flags: Flags): Promise<void> {
  const key = flags.key ?? bank.books.ledgerKey ?? (await patiently(() => ledger.fetchKey()));
  // Whoever makes a ledger on the same server has its signature, and must not have these accounts.
  const isTold = flags.xLedger.length > 0 || bank.books.ledgerHandle !== null;
  await bank.pinLedger(key, isTold ? null : await patiently(() => ledger.fetchHandle(key)));
}

/** At the first signal to stop: closes what is open, and ends. */
function onStop(close: () => Promise<void>): void {
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await close();
    exitProcess(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop().catch(fatal));
}

/** The bank's key pair, made in a directory without books only: they were reported under another one. */
function loadKeys(directory: string): KeyPair {
  const exists = (file: string) => realDisk.exists(joinPath(directory, file));
  if (exists(BOOKS_FILE) && !exists(KEY_FILE)) {
    throw new UsageError(`${directory} has books and no ${KEY_FILE}; put it back from a copy`);
  }
  return loadOrCreateKey(realDisk, directory, makeKeyPair);
}

/** Tries until the ledger is there; it may be starting too. */
async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      if (count === 0) tell(`Waits for the ledger: ${plain(error.message)}.`);
      await pause(LEDGER_WAIT_MS);
    }
  }
}

function readFlags(args: string[]): Flags {
  const text = (value: string) => ({ ...TEXT, default: value });
  const { values } = parseArgs({
    args,
    strict: true,
    options: {
      port: text('5001'),
      host: text('127.0.0.1'),
      data: text('bank'),
      name: text('bank'),
      ledger: text('http://127.0.0.1:4000/v2'),
      'x-ledger': TEXT,
      key: TEXT,
      symbol: text('usd'),
      accounts: text(''),
      join: TEXT,
      url: TEXT,
      header: TEXT,
      chaos: TEXT,
    },
  });
  const header = values.header ?? process.env[HEADER_VARIABLE];
  return {
    port: readCount('--port', values.port, 0, 65_535),
    host: readFilled('--host', values.host),
    directory: resolve(readFilled('--data', values.data)),
    name: readName('--name', values.name),
    ledger: readUrl('--ledger', values.ledger),
    xLedger: values['x-ledger'] === undefined ? [] : readLedgers(values['x-ledger']),
    key: values.key === undefined ? null : readKey(values.key),
    symbol: readName('--symbol', values.symbol),
    accounts: values.accounts === '' ? [] : readAccounts(values.accounts),
    join: values.join === undefined ? null : readCount('--join', values.join, 0),
    url: values.url === undefined ? null : readUrl('--url', values.url),
    header:
      header === undefined ? null : readHeader(values.header === undefined ? HEADER_VARIABLE : '--header', header),
    chaos: values.chaos === undefined ? CALM : readChaos(values.chaos),
  };
}

function readName(flag: string, text: string): string {
  if (!/^[\w.+:@-]{1,256}$/.test(text)) throw new UsageError(`${flag}: ${text} is no handle`);
  return text;
}

/** Only its calls are believed, so what could not be the handle of one is told. */
function readLedgers(text: string): string[] {
  const handles = text.split(',');
  const wrong = handles.find((handle) => !isLedgerHandle(handle));
  if (wrong !== undefined) throw new UsageError(`--x-ledger: ${wrong} is no handle of a ledger`);
  return handles;
}

/** What it was may have a password in it. */
function readUrl(flag: string, text: string): string {
  if (plainUrl(text) === null)
    throw new UsageError(`${flag}: must be an http or https URL without query, fragment and password`);
  return text;
}

function readKey(text: string): string {
  if (decodePublic(text) === null) throw new UsageError('--key: must be the base64 of 32 bytes');
  return text;
}

function readAccounts(text: string): AccountPlan[] {
  const accounts = text.split(',').map(readAccount);
  const twice = accounts.find(({ handle }, at) => accounts.findIndex((other) => other.handle === handle) < at);
  if (twice !== undefined) throw new UsageError(`--accounts: ${twice.handle} is named twice`);
  return accounts;
}

/** `ana=1000`, or `ana=1000:inactive`. */
function readAccount(text: string): AccountPlan {
  const parts = /^([^=]+)=(\d+)(:inactive)?$/.exec(text);
  if (parts === null) throw new UsageError(`--accounts: ${text} is not like ana=1000 or ana=1000:inactive`);
  const [, handle, amount, inactive] = parts;
  return {
    handle: readName('--accounts', handle!),
    amount: readCount('--accounts', amount!, 0),
    isActive: inactive === undefined,
  };
}

function readHeader(where: string, text: string): { name: string; value: string } {
  const parts = /^([\w-]+)=(.+)$/.exec(text);
  // What it was is a secret.
  if (parts === null) throw new UsageError(`${where}: must be like name=value`);
  return { name: parts[1]!.toLowerCase(), value: parts[2]! };
}

function readChaos(text: string): Chaos {
  const chaos = parseChaos(text);
  if (chaos === null) throw new UsageError(`--chaos: must be like 17 or 17:mute,late, of ${Object.keys(PRANKS)}`);
  return chaos;
}

const args = process.argv.slice(2);
if (args.includes('--help')) process.stdout.write(HELP);
else {
  try {
    await serve(readFlags(args));
  } catch (error) {
    // Some of it may be what whoever answered said.
    tell(plain((error as Error).message));
    exitProcess(isUsageError(error as Error) ? 2 : 1);
  }
}
