/**
 * Configuration: flags first, then AYNI_… variables, then these defaults, as one frozen object. Every limit of the
 * server lives here; nothing in it is unbounded.
 */
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { isHandle, isLedgerHandle } from './core/address.ts';
import { coresOfProcess, memoryOfProcess } from './machine.ts';
import { plainUrl } from './url-text.ts';

interface Setting<T> {
  readonly value: T;
  readonly help: string;
  /** What the operator's text means, or an Error's message why it means nothing. */
  readonly parse: (text: string) => T;
}

/** A text that is taken as it is given; `faultOf` tells what is wrong with it, or null. */
function text(value: string, help: string, faultOf: (given: string) => string | null): Setting<string> {
  return {
    value,
    help,
    parse(given) {
      const fault = faultOf(given);
      if (fault !== null) throw new Error(fault);
      return given;
    },
  };
}

/** An empty host means every address to the system, an empty path the directory one happens to be in. */
function filledText(value: string, help: string): Setting<string> {
  return text(value, help, (given) => (given.trim() === '' ? 'must not be empty' : null));
}

function ledgerHandle(value: string, help: string): Setting<string> {
  const fault = 'must consist of letters, digits, underscore, hyphen, plus and period';
  return text(value, help, (given) => (isLedgerHandle(given) && isHandle(given) ? null : fault));
}

function choice<T extends string>(value: T, choices: readonly T[], help: string): Setting<T> {
  const all = choices.join(', ');
  const faultOf = (given: string) => (choices.includes(given as T) ? null : `must be one of ${all}`);
  return text(value, `${help} (${all})`, faultOf) as Setting<T>;
}

function count(value: number, min: number, max: number, help: string): Setting<number> {
  return {
    value,
    help: `${help} (${min} to ${max})`,
    parse(given) {
      const parsed = Number(given);
      // In digits, as everybody reads it, blanks around them or not: Number takes 0x10 and 1e3 too.
      if (/^\s*\d+\s*$/.test(given) && parsed >= min && parsed <= max) return parsed;
      throw new Error(`must be a whole number from ${min} to ${max}`);
    },
  };
}

/** An empty one is refused: it comes of a variable that was not set, and would make a ledger that is open to all. */
function publicKey(help: string): Setting<string> {
  return text('', help, (given) => {
    const bytes = Buffer.from(given, 'base64');
    // The one form that proofs and tokens have. With a slip in its last letter it would be nobody's.
    const isKey = bytes.length === 32 && bytes.toString('base64') === given;
    return isKey ? null : 'must be the base64 form of a public key of 32 bytes';
  });
}

/** A list as JSON; what its rules may say is checked where rules are known. Empty text is refused, as with keys. */
function rules(help: string): Setting<string> {
  return text('', help, (given) => {
    try {
      return Array.isArray(JSON.parse(given)) ? null : 'must be a list of rules';
    } catch {
      return 'must be JSON';
    }
  });
}

function url(help: string): Setting<string> {
  const fault = 'must be an http or https URL without query, fragment and password';
  return text('', help, (given) => (given === '' || plainUrl(given) !== null ? null : fault));
}

const PLACE = /^(?:(\[[\da-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i;

/** `port` of a loopback address, or `host:port`. */
function place(help: string): Setting<string> {
  const isPlace = (given: string) => Number(PLACE.exec(given)?.[2] ?? Number.NaN) <= 65_535;
  return text('', help, (given) => (isPlace(given) ? null : 'must be a port, or host:port'));
}

/** What the text of such a setting means. */
export function readPlace(given: string): { host: string; port: number } {
  const [, host = '127.0.0.1', port] = PLACE.exec(given)!;
  return { host: host.replace(/[[\]]/g, ''), port: Number(port) };
}

/** Hosts separated by commas: names, addresses, subnets, the first two also with a port. */
function hosts(help: string): Setting<string> {
  return text('', help, (given) => {
    const wrong = given.split(',').find((host) => host.trim() !== '' && !isHost(host.trim()));
    return wrong === undefined ? null : `${wrong} is no name, address or subnet`;
  });
}

const BITS_MAX: Readonly<Record<number, number>> = { 4: 32, 6: 128 };

function isHost(given: string): boolean {
  const [address, bits] = given.split(/\/(.*)/s) as [string, string | undefined];
  if (bits !== undefined) return /^\d{1,3}$/.test(bits) && Number(bits) <= (BITS_MAX[isIP(address)] ?? -1);
  if (isIP(given) !== 0) return true;
  // What could stand in no URL is called by nobody: a port past the last, an address with a slip in it.
  return /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(given) && URL.canParse(`http://${given}`);
}

/** Copies that a server knows of. */
export const FOLLOWERS_MAX = 16;

const MiB = 1024 * 1024;
const WORKERS_MAX = 256;
const WORKERS = workersFor(coresOfProcess(), memoryOfProcess());
/** What clients could make the server hold, whoever they are, leaves most of the memory to the books. */
const UNDER_WAY_BYTES_MAX = Math.min(256, Math.max(16, Math.floor(memoryOfProcess() / 16 / MiB))) * MiB;
/** An intent takes some 3 KB. */
const TEXTS_BYTES_MAX = Math.min(256, Math.max(4, Math.floor(memoryOfProcess() / 64 / MiB))) * MiB;
/**
 * Threads that verify and sign where nobody says: the main thread's core is its own. Each takes some 15 MiB and 16
 * more for the keys it knows, together an eighth of the memory at most: a container with little of it may see many
 * cores.
 */
export function workersFor(cores: number, memoryBytes: number): number {
  return Math.max(1, Math.min(cores - 1, WORKERS_MAX, Math.floor(memoryBytes / (256 * MiB))));
}

/** Requests on their way at once that keep so many threads busy, where nobody says. */
function pipelineFor(workers: number): number {
  return Math.min(512, 128 * workers);
}

/** The heap's addresses reach no further. */
const RECORDS_BYTES_MAX = 32 * 1024 * MiB;
const RECORDS_BYTES_MIN = 64 * MiB;

/**
 * How much of this memory records, their indexes and balances may take where nobody says. The system ends a process
 * that takes more than there is, and each later start that reads as much; beside that a start holds the longest part of
 * the snapshot that is not final (snapshot-reader.ts). V8's own heap may take a sixth of a large machine and half of a
 * container of a few GiB (v8-heap.ts), most of it open intents, which fill the records sooner; everything else takes
 * some 400 MiB.
 */
export function recordsRoom(memoryBytes: number): number {
  const room = Math.floor(((memoryBytes - 512 * MiB) * 4) / 5 / MiB) * MiB;
  return Math.min(RECORDS_BYTES_MAX, Math.max(RECORDS_BYTES_MIN, room));
}

/** What a process takes before it has books, and each thread that verifies and signs. */
const BARE_BYTES = 64 * MiB;
const WORKER_BYTES = 32 * MiB;
/**
 * With less there can be no books. A machine whose other bounds leave less may end the process once clients reach all
 * of them.
 */
const BOTH_BYTES_MIN = 96 * MiB;
const MEMORY_MIN = 512 * MiB;

/**
 * How much of this memory records and V8's heap may take together: what is left where clients reach all their bounds at
 * once. `others`: of all else. Whoever gives records more than we would takes the rest on himself.
 */
export function booksRoom(config: Config, others: number, memoryBytes = memoryOfProcess()): number {
  const { workers, arrivingBytesMax, unreadBytesMax, inboxBytesMax, textsBytesMax, recordsBytesMax } = config;
  // Heads may take as much as bodies, and of texts there are some in V8's heap, and of events.
  const clients = 2 * arrivingBytesMax + unreadBytesMax + inboxBytesMax;
  const rest = memoryBytes - BARE_BYTES - workers * WORKER_BYTES - clients - textsBytesMax * 1.25 - others;
  return Math.max(BOTH_BYTES_MIN, rest) + Math.max(0, recordsBytesMax - recordsRoom(memoryBytes));
}

/** A word about a machine that has too little, or null. */
export function memoryNote(memoryBytes = memoryOfProcess()): string | null {
  if (memoryBytes >= MEMORY_MIN) return null;
  return `There are ${Math.floor(memoryBytes / MiB)} MiB of memory here, and ayni wants ${MEMORY_MIN / MiB}: the system may end it where clients reach the bounds of what they may make it hold.`;
}

const SETTINGS = {
  port: count(4000, 0, 65_535, 'port to listen on; 0 takes a free one'),
  host: filledText('127.0.0.1', 'address to listen on'),
  metrics: place('address and port, 127.0.0.1:9400 say, where Prometheus finds /metrics; port 0 takes a free one'),
  followers: place(
    'address and port where `ayni follow` finds the books, to keep a copy of them going; port 0 takes a free one',
  ),
  followersTls: filledText(
    '',
    'directory with cert.pem, key.pem and peers.pem: who follows shows a certificate of a peer, and it goes over TLS',
  ),
  followersMin: count(
    0,
    0,
    FOLLOWERS_MAX,
    'copies that must have on their disks what was written, before it is answered; while they have not, nothing is',
  ),
  data: filledText('snapshots', 'directory of journal, snapshots and server key'),
  serverKey: filledText('', "file with the server's key, as keygen prints one, where it is not to lie beside the data"),
  readOnly: choice<'no' | 'yes'>(
    'no',
    ['no', 'yes'],
    'yes: shows the books as they are, and takes nothing in, calls nobody, writes nothing',
  ),
  newBooks: choice<'yes' | 'no'>(
    'yes',
    ['yes', 'no'],
    'no: does not start on a directory without books, where they are lost or not mounted',
  ),
  ledger: ledgerHandle('main', 'handle of the default ledger, made at the first start'),
  owner: publicKey('base64 public key to which a default ledger made at the first start grants everything'),
  accessRules: rules('access rules of the server itself, as JSON; by default everybody may enter and make ledgers'),
  publicUrl: url(
    'URL under which clients see the server, where a proxy stands before it; tokens are checked against it',
  ),
  workers: count(WORKERS, 1, WORKERS_MAX, 'threads that verify and sign'),
  keyTablesMax: count(
    2048,
    0,
    65_536,
    'public keys, those that sign most, of which each of these threads, and the main thread, keeps a table of 8 KiB to verify faster; 0: none',
  ),
  textsBytesMax: count(
    TEXTS_BYTES_MAX,
    MiB,
    4096 * MiB,
    'texts of records that were told, kept so that they need not be made again',
  ),
  threadSecondsMax: count(60, 1, 3_600, 'time after which a thread that does not answer ends the process'),
  snapshotEvery: count(1_000_000, 1, 1e12, 'entries between two snapshots'),
  scrubSeconds: count(
    86_400,
    0,
    31_536_000,
    'time in which all that a start would read is read again once, and what the disk has changed of it is mended; 0: never',
  ),
  recordsBytesMax: count(
    recordsRoom(memoryOfProcess()),
    RECORDS_BYTES_MIN,
    RECORDS_BYTES_MAX,
    'memory that records, their indexes and balances may take; beyond, nothing new comes in',
  ),
  logLevel: choice<'error' | 'info' | 'debug'>('info', ['error', 'info', 'debug'], 'what is told on standard error'),
  durability: choice<'sync' | 'none'>(
    'sync',
    ['sync', 'none'],
    'none: answers do not wait for the disk. For tests only',
  ),

  callsAllow: hosts(
    'hosts bridges and webhooks may be called on though their addresses are private, with commas between: name, name:port, address, subnet; needless while listening on a loopback address',
  ),
  callMsMax: count(10_000, 10, 600_000, 'time a call of a bridge or webhook may take'),
  callsInFlightMax: count(256, 1, 65_536, 'calls of bridges and webhooks on their way at once'),
  bridgeCallsMax: count(
    16,
    1,
    1_000,
    'the same for one bridge; a webhook or effect has one at a time, for their order',
  ),
  bridgeAttemptsMax: count(
    100,
    1,
    10_000,
    'attempts to deliver before a bridge or webhook is given up; a hundred take over two days',
  ),

  bodyBytesMax: count(MiB, 1024, 16 * MiB, 'largest request body, as sent and in canonical form'),
  bodyMsMax: count(
    7_000,
    10,
    600_000,
    'time a body may take to arrive; a silent client is cut off after 8 to 12 seconds anyway',
  ),
  arrivingBytesMax: count(
    UNDER_WAY_BYTES_MAX,
    MiB,
    65_536 * MiB,
    'all bodies on their way together; the slowest get 429',
  ),
  unreadBytesMax: count(
    UNDER_WAY_BYTES_MAX,
    MiB,
    65_536 * MiB,
    'all answers not read yet together; the slowest are cut off',
  ),
  bodyDepthMax: count(64, 8, 512, 'nesting of a JSON body'),
  connectionsMax: count(10_000, 1, 1_000_000, 'open connections'),
  claimsMax: count(10_000, 1, 100_000, 'claims in an intent'),
  proofsMax: count(64, 1, 1024, 'proofs in one request'),
  pageLimitMax: count(100, 1, 1000, 'records on a page of a list'),
  listMsMax: count(1_000, 1, 60_000, 'time a list may search before it is answered 408'),
  listProofMsMax: count(1_000, 0, 60_000, 'age of the proof that a list may be given again while it says the same'),
  preferWaitSecondsMax: count(30, 1, 600, 'longest wait a client may ask for'),
  inboxMax: count(
    10_000,
    1,
    1_000_000,
    'requests that wait or are on their way to the disk, four fifths of them of one ledger; beyond, 429',
  ),
  inboxBytesMax: count(64 * MiB, MiB, 4096 * MiB, 'the same in bytes'),
  pipelineMax: count(
    pipelineFor(WORKERS),
    1,
    1_000_000,
    'requests being verified, cleared and written; the others wait for their ledger’s turn',
  ),
  pipelineBytesMax: count(4 * MiB, 1024, 4096 * MiB, 'the same in bytes'),
  pipelineMsMax: count(
    10,
    1,
    60_000,
    'the same in milliseconds of clearing, as the last requests of their ledgers took; those that prove to be far dearer wait again',
  ),
  batchEntriesMax: count(1_000, 1, 100_000, 'entries cleared and written together'),
  batchBytesMax: count(MiB, 1024, 16 * MiB, 'bytes of a frame after which its batch ends'),
  batchMsMax: count(10, 1, 60_000, 'milliseconds of clearing after which a batch ends'),
  segmentBytesMax: count(64 * MiB, 4096, 4096 * MiB, 'size of a journal file after which the next begins'),
} as const satisfies Record<string, Setting<string> | Setting<number>>;

type Settings = typeof SETTINGS;
export type Config = { readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never };

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const variable = (name: string) => `AYNI_${dashed(name).replaceAll('-', '_').toUpperCase()}`;

/** Thrown for a setting that cannot be used; its message is meant for the operator. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Reads the command line (without node and script) and the environment. Unknown flags are an error. */
export function readConfig(args: string[], environment: NodeJS.ProcessEnv): Config {
  const names = Object.keys(SETTINGS) as (keyof Settings)[];
  const options = Object.fromEntries(names.map((name) => [dashed(name), { type: 'string' as const }]));
  let flags: Record<string, string | undefined>;
  try {
    flags = parseArgs({ args, options, strict: true }).values;
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
  const givenFor = (name: keyof Settings) => flags[dashed(name)] ?? environment[variable(name)];
  const values = names.map((name) => {
    const setting = SETTINGS[name] as Setting<string | number>;
    const given = givenFor(name);
    if (given === undefined) return [name, setting.value];
    try {
      return [name, setting.parse(given)];
    } catch (error) {
      const where = flags[dashed(name)] === undefined ? variable(name) : `--${dashed(name)}`;
      throw new ConfigError(`${where}: ${(error as Error).message}`);
    }
  });
  const config = Object.fromEntries(values) as Config;
  const pipelineMax = givenFor('pipelineMax') === undefined ? pipelineFor(config.workers) : config.pipelineMax;
  return Object.freeze({ ...config, pipelineMax });
}

/** That of the bank (cli/bridge.ts), which may run in the same environment. */
const BANK_VARIABLE = 'AYNI_BRIDGE_HEADER';

/**
 * Names of variables that look like ours and set nothing, a misspelt AYNI_OWNER say. They are no reason not to start,
 * as flags that nobody knows are: whoever starts the server may not choose all of them (Kubernetes makes
 * AYNI_SERVICE_HOST where a service is called ayni).
 */
export function strangeVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set([...Object.keys(SETTINGS).map(variable), BANK_VARIABLE]);
  const isStrange = (name: string) => /^AYNI_/i.test(name) && !known.has(name);
  return Object.keys(environment).filter(isStrange).sort();
}

/** One line per setting: flag, default, meaning. */
export function configHelp(): string {
  const lines = Object.entries(SETTINGS)
    .map(([name, { value, help }]) => `  --${dashed(name)} ${value === '' ? '(none)' : value}`.padEnd(36) + help)
    .join('\n');
  return `Flags, or variables: --snapshot-every is AYNI_SNAPSHOT_EVERY. A flag counts before its variable.\n\n${lines}`;
}
