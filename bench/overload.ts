/**
 * `npm run bench -- overload`: the service when more comes than it can do. What one wallet that everybody draws on
 * costs; a flood of twice the sustainable rate in one ledger; and what senders of another ledger notice of it. The inbox is
 * made so small that so few connections fill it; then the same flood where it is as large as where nobody says otherwise.
 *
 * wrk is the flood, because it costs the machine little. Latencies are those of probes: a few requests a second on
 * schedule, whose answers are told apart. What was answered 201 is held to the books, as http.ts does it.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { countingEntries, fillBooks, findRejected, findWrongBalances, makeLedger } from './load/books.ts';
import { driveClosedLoop, driveOpenLoop, hasWrk, type LoadFigures, refusedOf } from './load/drive.ts';
import { prepareRequests, type RequestPlan, removeRequests } from './load/requests.ts';
import { makeScratchDirectory } from './load/root.ts';
import { clientOf, type Service, type ServiceFigures, stagesBetween, startService } from './load/service.ts';
import { readUsage } from './load/usage.ts';
import { atLeast, atMost, type BenchCell, type BenchOptions, type BenchResult, type BenchTable } from './result.ts';

const CONNECTIONS = 64;
/** Beyond what the inbox takes: each connection waits for one answer at a time. */
const FLOOD_CONNECTIONS_SPARE = 200;
const PROBE_CONNECTIONS = 64;
const FLOOD_FACTOR = 2;
const OTHER = 'other';
/** What a stored intent takes at the least, so that nothing else is taken for it: its entry, and its place in the indexes. */
const STORED_BYTES = 750;
/** How long the flood comes before the probes. */
const LEAD_MS = 700;

/**
 * `inbox`: what the flood fills; no more than it takes, because a pace for each of a thousand connections costs wrk as
 * much as the requests. `crowd`: more connections than are let in at a time.
 */
const FULL = { wallets: 1000, inbox: 300, crowd: 512, warmup: 40_000, seconds: 8, probe: 200 };
const SMOKE: typeof FULL = { wallets: 50, inbox: 50, crowd: 48, warmup: 600, seconds: 1, probe: 50 };

interface Session {
  service: Service;
  scratch: string;
  directory: string;
  sizes: typeof FULL;
}

/** A load with what it cost the service. */
interface Measured extends LoadFigures {
  perSecond: number;
  /** Of the service, microseconds an accepted intent. */
  cpu: number;
  /** How many processors were busy with the service, and with the load and whoever sent beside it. */
  serverCores: number;
  loadCores: number;
  waits: ReturnType<typeof stagesBetween>;
}

/** A flood of the default ledger, and those who sent beside it. */
interface Flood {
  rate: number;
  main: Measured;
  same: LoadFigures;
  other: LoadFigures;
  /** Resident bytes before, in the middle and at the end. */
  resident: number[];
}

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const sizes = smoke ? SMOKE : FULL;
  const scratch = makeScratchDirectory();
  try {
    const small = ['--inbox-max', String(sizes.inbox)];
    const { result, rate } = await withService(scratch, 'small', sizes, small, measure);
    const { tables, wrong } = await withService(scratch, 'default', sizes, [], (session) =>
      measureDefault(session, rate),
    );
    return {
      ...result,
      tables: [...result.tables, ...tables],
      notes: [...result.notes, ...wrong],
      ok: result.ok && wrong.length === 0,
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function withService<T>(
  scratch: string,
  name: string,
  sizes: typeof FULL,
  flags: string[],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const directory = join(scratch, name);
  const service = await startService(directory, { flags });
  try {
    await fillLedgers(service, sizes.wallets);
    return await work({ service, scratch, directory, sizes });
  } finally {
    await service.stop('SIGTERM');
  }
}

/** The default ledger and another, each with wallets and funds of its own. */
async function fillLedgers(service: Service, wallets: number): Promise<void> {
  await fillBooks(clientOf(service), wallets);
  await makeLedger(clientOf(service), OTHER);
  const other = clientOf(service, { 'x-ledger': OTHER });
  await fillBooks(other, wallets);
}

/** `rate`: what is sustainable. */
async function measure(session: Session): Promise<{ result: BenchResult; rate: number }> {
  const { sizes } = session;
  await runClosed(session, { run: 'warm', intents: sizes.warmup });
  const early = await runClosed(session, { run: 'spread', intents: sizes.warmup * 3 });
  const crowd = await runClosed(session, { run: 'crowd', intents: sizes.warmup * 3 }, sizes.crowd);
  const hot = await runClosed(session, { run: 'hot', intents: sizes.warmup * 3, sources: 1 });
  const late = await runClosed(session, { run: 'late', intents: sizes.warmup * 3 });
  // A service gets quicker as it warms: what comes later must not be held to less than it could do by then.
  const spread = late.perSecond > early.perSecond ? late : early;
  const alone = await runProbe(session, 'alone');
  const half = await runFlood(session, 'half', spread.perSecond / 2);
  const flood = await runFlood(session, 'flood', spread.perSecond * FLOOD_FACTOR);
  const wrong = await findWrong(session);
  const result: BenchResult = {
    name: 'overload',
    tables: [
      {
        title: 'Signed one-claim intents, closed loop',
        columns: [
          ...['money comes from', 'connections', 'accepted/s', 'refused/s', 'p50 ms', 'p99 ms', 'server CPU µs/intent'],
          ...['server, cores', 'load, cores', 'share that waited for its turn'],
        ],
        rows: [
          closedRow(`${sizes.wallets} wallets`, CONNECTIONS, early),
          closedRow(`${sizes.wallets} wallets`, sizes.crowd, crowd),
          closedRow('one wallet', CONNECTIONS, hot),
          closedRow(`${sizes.wallets} wallets again`, CONNECTIONS, late),
        ],
      },
      floodTable(`One ledger is flooded; the inbox takes ${sizes.inbox}`, [half, flood]),
      probeTable(`Those who send ${sizes.probe}/s on schedule beside it`, [
        probeRow('nothing', 'another', alone),
        probeRow('half the sustainable rate', 'the same', half.same),
        probeRow('half the sustainable rate', 'another', half.other),
        probeRow('twice the sustainable rate', 'the same', flood.same),
        probeRow('twice the sustainable rate', 'another', flood.other),
      ]),
    ],
    goals: [
      atLeast(
        'overload',
        'of the sustainable rate accepted under twice of it',
        flood.main.perSecond / spread.perSecond,
        0.9,
      ),
      atMost('overload', 'ms p99 until a refusal', flood.same.refusedP99 ?? Number.NaN, 20),
      atMost('overload', 'MB of memory taken by a flood beside what it stores', memoryBeside(flood) / 1e6, 200),
      atLeast('hot wallet', 'of the rate over many wallets', hot.perSecond / spread.perSecond, 0.9),
      atLeast('fair', 'of another ledger’s requests accepted beside the flood', share(flood.other), 0.99),
      atMost(
        'fair',
        'times its p99 beside the flood of that beside half the rate',
        flood.other.p99 / half.other.p99,
        2,
      ),
    ],
    notes: [
      ...(hasWrk() ? [] : ['wrk is not installed: the flood costs the machine more than it should']),
      'sustainable: the better one of both runs over many wallets',
      `the service ran with --inbox-max ${sizes.inbox}, but for the last two tables; the flood and the probes ran on the same machine`,
      `an accepted intent takes the service's processor ${(flood.main.cpu / spread.cpu).toFixed(2)} times as long under the flood, refusals counted in: were the load on another machine, ${(spread.cpu / flood.main.cpu).toFixed(2)} of the sustainable rate would be left`,
      wrong.length === 0
        ? 'checked: an entry for each answer 201, none rejected, and the sums of the balances of both ledgers'
        : `WRONG: ${wrong.length} findings, the first: ${wrong.slice(0, 5).join('; ')}`,
    ],
    ok: wrong.length === 0,
  };
  return { result, rate: spread.perSecond };
}

/** Twice the sustainable `rate` with the settings that there are where nobody says otherwise; what is wrong afterwards. */
async function measureDefault(session: Session, rate: number): Promise<{ tables: BenchTable[]; wrong: string[] }> {
  const { sizes } = session;
  await runClosed(session, { run: 'warm', intents: sizes.warmup });
  const flood = await runFlood(session, 'flood', rate * FLOOD_FACTOR);
  const wrong = await findWrong(session);
  const connections = floodConnections(sizes);
  const tables = [
    floodTable(`One ledger is flooded over ${connections} connections; the inbox is the default’s`, [flood]),
    probeTable(`Those who send ${sizes.probe}/s on schedule beside that`, [
      probeRow('twice the sustainable rate', 'the same', flood.same),
      probeRow('twice the sustainable rate', 'another', flood.other),
    ]),
  ];
  return { tables, wrong: wrong.map((each) => `WRONG: ${each}`) };
}

const share = ({ accepted, sent }: LoadFigures) => accepted / (sent[0] ?? 0);

function floodTable(title: string, floods: readonly Flood[]): BenchTable {
  return {
    title,
    columns: [
      ...[
        'due/s',
        'sent/s',
        'accepted/s',
        'refused/s',
        'server CPU µs/accepted',
        'server, cores',
        'load, cores',
        'share that waited for its turn',
        'so long, ms',
      ],
      ...['waits for a worker ms', 'in the inbox ms', 'MB before', 'MB in the middle', 'MB at the end'],
    ],
    rows: floods.map(({ rate, main, resident }): BenchCell[] => [
      ...[rate, (main.sent[0] ?? 0) / main.seconds, main.perSecond, refusedOf(main) / main.seconds, main.cpu],
      ...[main.serverCores, main.loadCores],
      ...[main.waits.waitedShare, main.waits.turnWait, main.waits.verifyWait, main.waits.inboxWait],
      ...resident.map((bytes) => bytes / 1e6),
    ]),
  };
}

function probeTable(title: string, rows: BenchCell[][]): BenchTable {
  return {
    title,
    columns: [
      ...['beside', 'in ledger', 'accepted share', 'p50 ms', 'p99 ms', 'p99.9 ms', 'refused p50 ms', 'refused p99 ms'],
      ...['lost', 'sent late p99 ms'],
    ],
    rows,
  };
}

function probeRow(beside: string, ledger: string, figures: LoadFigures): BenchCell[] {
  const { p50, p99, p999, refusedP50, refusedP99, lost, lagP99 } = figures;
  return [beside, ledger, share(figures), p50, p99, p999, refusedP50, refusedP99, lost, lagP99];
}

async function findWrong({ service, sizes }: Session): Promise<string[]> {
  const wrong: string[] = [];
  for (const client of [clientOf(service), clientOf(service, { 'x-ledger': OTHER })]) {
    wrong.push(...(await findWrongBalances(client, sizes.wallets)), ...(await findRejected(client)));
  }
  return wrong;
}

/** Bytes that memory grew by, less what each intent that was accepted takes. */
function memoryBeside({ main, resident }: Flood): number {
  return resident.at(-1)! - resident[0]! - main.accepted * STORED_BYTES;
}

function closedRow(source: string, connections: number, measured: Measured): BenchCell[] {
  const { perSecond, p50, p99, cpu, serverCores, loadCores, waits } = measured;
  const refused = refusedOf(measured) / measured.seconds;
  return [source, connections, perSecond, refused, p50, p99, cpu, serverCores, loadCores, waits.waitedShare];
}

type Plan = Pick<RequestPlan, 'run' | 'intents'> & Partial<RequestPlan>;

function prepare({ scratch, sizes }: Session, plan: Plan): Promise<string[]> {
  return prepareRequests(scratch, { parts: 1, claims: 1, wallets: sizes.wallets, ...plan });
}

async function runClosed(session: Session, plan: Plan, connections = CONNECTIONS): Promise<Measured> {
  const { sizes, service } = session;
  const parts = await prepare(session, { parts: 2, ...plan });
  execFileSync('sync');
  const measured = await countingEntries(clientOf(service), () =>
    withCosts(session, () => driveClosedLoop(service.port, parts, connections, sizes.seconds)),
  );
  removeRequests(parts);
  return measured;
}

function prepareProbe(session: Session, run: string, plan: Partial<RequestPlan>): Promise<string[]> {
  const { probe, seconds } = session.sizes;
  return prepare(session, { run, intents: probe * seconds, ...plan });
}

function driveProbe({ service, sizes }: Session, [part]: string[]): Promise<LoadFigures> {
  return driveOpenLoop(service.port, part!, sizes.probe, PROBE_CONNECTIONS, sizes.seconds);
}

async function runProbe(session: Session, run: string): Promise<LoadFigures> {
  const parts = await prepareProbe(session, run, { ledger: OTHER });
  const figures = await countingEntries(clientOf(session.service), () => driveProbe(session, parts));
  removeRequests(parts);
  return figures;
}

const floodConnections = ({ inbox }: typeof FULL) => inbox + FLOOD_CONNECTIONS_SPARE;

async function runFlood(session: Session, run: string, rate: number): Promise<Flood> {
  const { sizes, service, directory } = session;
  // The flood is there before the probes and after them.
  const seconds = sizes.seconds + 2;
  const parts = await prepare(session, { run, intents: Math.ceil(rate * seconds) });
  const sameParts = await prepareProbe(session, `${run}-same`, {});
  const otherParts = await prepareProbe(session, `${run}-other`, { ledger: OTHER });
  execFileSync('sync');
  const connections = floodConnections(sizes);
  const readResident = () => readUsage(service.pid, directory).residentBytes;
  const resident = [readResident()];
  const readLater = pause((seconds * 1000) / 2).then(() => resident.push(readResident()));
  const [main, same, other] = await countingEntries(clientOf(service), () =>
    Promise.all([
      withCosts(session, () => driveClosedLoop(service.port, parts, connections, seconds, rate)),
      pause(LEAD_MS).then(() => driveProbe(session, sameParts)),
      pause(LEAD_MS).then(() => driveProbe(session, otherParts)),
    ]),
  );
  await readLater;
  resident.push(readResident());
  for (const paths of [parts, sameParts, otherParts]) removeRequests(paths);
  return { rate, main, same, other, resident };
}

async function withCosts({ service, directory }: Session, drive: () => Promise<LoadFigures>): Promise<Measured> {
  const figuresBefore: ServiceFigures = await service.readFigures();
  const before = readUsage(service.pid, directory);
  const load = await drive();
  const after = readUsage(service.pid, directory);
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds;
  return {
    ...load,
    perSecond: load.accepted / load.seconds,
    cpu: (cpuSeconds * 1e6) / load.accepted,
    serverCores: cpuSeconds / load.seconds,
    loadCores: (after.ownSeconds - before.ownSeconds) / load.seconds,
    waits: stagesBetween(figuresBefore, await service.readFigures()),
  };
}
