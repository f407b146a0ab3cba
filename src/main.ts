/**
 * The plan: read the configuration, lock the directory, recover, wire the rooms, listen; and the same backwards to stop.
 */
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Config, ConfigError, configHelp, readConfig, readPlace, strangeVariables } from './config.ts';
import { GRANTED, setServerRules } from './core/access/index.ts';
import type { DeliveryCommand, LegCommand } from './core/command.ts';
import { dumpState } from './core/dump.ts';
import { Kind } from './core/kinds.ts';
import { openDefaultLedger, whoMay } from './default-ledger.ts';
import { Effects, isLoopback, Outgoing, realTimers } from './effects/index.ts';
import { Engine } from './engine.ts';
import { createApp } from './http/app.ts';
import { NO_BYTES } from './http/call.ts';
import { Making } from './http/making.ts';
import { QUERY_LIMITS } from './http/query.ts';
import { accessErrors, compileSchemas, prepareSchemas } from './http/schemas.ts';
import { type Server, startServer } from './http/server.ts';
import { RecordTexts } from './http/texts.ts';
import { createTokenChecker, TOKEN_LIMITS } from './http/tokens.ts';
import { compileUserSchema } from './http/user-schemas.ts';
import { SEMVER } from './http/version.ts';
import { Waiters } from './http/waiters.ts';
import { Walks } from './http/walks.ts';
import { type MetricsServer, startMetrics } from './metrics.ts';
import { filesMax, fitOpenFiles } from './open-files.ts';
import { signedIntent } from './own-records.ts';
import { createKeyPair, encodeBase64, type KeyPair, keyPairFromSecret } from './proof/keys.ts';
import { ProofPool } from './proof/pool.ts';
import { Sealer } from './proof/sealer.ts';
import { sign, verify } from './proof/verify.ts';
import { recover } from './recovery.ts';
import { realDisk } from './storage/disk.ts';
import { whileHeld } from './storage/held-disk.ts';
import { Journal, RESERVE_BYTES } from './storage/journal.ts';
import { loadOrCreateKey } from './storage/key-file.ts';
import { acquireLock, type Lock } from './storage/lock.ts';
import { takeSnapshot } from './storage/snapshot.ts';
import { packValue } from './storage/values.ts';
import { FULL_TEXT, fatalText, startText, watchClock } from './trouble.ts';
import { urlHost } from './url-host.ts';
import { keepYoungGenerationToFirstThread } from './young-generation.ts';

const ROWS_PER_TASK_MAX = 256;
/** A lone client's signature and ours cost less here than the trip to a worker. */
const INLINE_ROWS_MAX = 3;
const DRAIN_MS_MAX = 10_000;
/** How often intents are looked at that may have waited too long, and threads that may hang. */
const TICK_MS = 1000;
/** So long after the start, which is not to wait for it, and with such pauses the rest is loaded. */
const PREPARE_AFTER_MS = 1000;
const PREPARE_PAUSE_MS = 20;
/** With --log-level debug: how often the event loop is looked at. */
const LOOP_RESOLUTION_MS = 1;
/** After a failure, so long the clients who still wait are given to read that they do. */
const FATAL_LINGER_MS = 200;

// Who read the log may be gone, as `| head` is: that is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

function tell(text: string): void {
  process.stderr.write(`ayni: ${text}\n`);
}

async function serve(given: Config, directory: string): Promise<void> {
  // Before anything is made, or books are read for minutes: what cannot be used starts nothing.
  const rules = given.accessRules === '' ? null : serverRules(given.accessRules);
  keepYoungGenerationToFirstThread();
  const { config, connectionsCutMax, note: filesNote } = fitOpenFiles(given, filesMax());
  // Of what is no trouble.
  const inform = config.logLevel === 'error' ? () => {} : tell;
  if (filesNote !== null) inform(filesNote);
  const began = performance.now();
  // Known from the first moment on: to a process that does not know it, the signal is the end.
  let takeSnapshotNow = () => tell('No snapshot is taken yet: the server is still starting.');
  process.on('SIGUSR2', () => takeSnapshotNow());
  realDisk.mkdir(directory);
  const lock = acquireLock(realDisk, directory);
  const disk = whileHeld(realDisk, lock);
  const server: KeyPair = loadOrCreateKey(disk, directory, (secret) =>
    secret === undefined ? createKeyPair() : keyPairFromSecret(secret),
  );
  const signHash = (hash: Uint8Array) => sign(hash, server);
  const verifyHash = (hash: Uint8Array, signature: Uint8Array) => verify(server.public, hash, signature);

  const { state, end, entries, refused, notes } = recover({
    disk,
    directory,
    verify: verifyHash,
    hashSeed: randomInt(2 ** 32),
  });
  state.compileSchema = compileUserSchema;
  for (const note of notes) tell(note);
  const recoveredMs = Math.round(performance.now() - began);
  inform(`Recovered ${end.seq} entries, ${entries} of them from the journal, in ${recoveredMs} ms.`);
  const lookAtClock = watchClock(tell);
  lookAtClock(end.moment, Date.now());

  const journal = Journal.open(disk, directory, end, {
    segmentBytesMax: config.segmentBytesMax,
    reserveBytes: RESERVE_BYTES,
    durability: config.durability,
    sign: signHash,
  });
  const pool = new ProofPool({
    workers: config.workers,
    server,
    rowsPerTaskMax: ROWS_PER_TASK_MAX,
    inlineRowsMax: INLINE_ROWS_MAX,
    keyTablesMax: config.keyTablesMax,
    looksMax: config.threadSecondsMax,
  });
  let listening: Server | null = null;
  let metrics: MetricsServer | null = null;
  const snapshots = { taken: 0, lastEntry: 0, lastMs: 0 };

  const waiters = new Waiters();
  const sealer = new Sealer(server);
  const engine = new Engine({
    state,
    journal,
    pool,
    clock: Date.now,
    stopwatch: () => performance.now(),
    inboxMax: config.inboxMax,
    inboxBytesMax: config.inboxBytesMax,
    pipelineMax: config.pipelineMax,
    pipelineBytesMax: config.pipelineBytesMax,
    pipelineMsMax: config.pipelineMsMax,
    batchEntriesMax: config.batchEntriesMax,
    batchBytesMax: config.batchBytesMax,
    batchMsMax: config.batchMsMax,
    snapshotEvery: config.snapshotEvery,
    // A snapshot that was due and did not come about, for lack of room, say, is not due again at once.
    sinceSnapshot: entries % config.snapshotEvery,
    async snapshot() {
      const { extra, parts } = dumpState(state);
      const content = { ...journal.position, extra: packValue(extra), parts };
      const options = { sign: signHash, verify: verifyHash, refused };
      const { file, bytes, removed, ms } = await takeSnapshot(disk, directory, content, options);
      Object.assign(snapshots, { taken: snapshots.taken + 1, lastEntry: content.seq, lastMs: ms });
      inform(`Took ${file}: ${bytes} bytes written in ${Math.round(ms)} ms, ${removed.length} older files removed.`);
    },
    signIntent: (luid, value, moment) => signedIntent(server, luid, value, moment),
    publish(entries, seq) {
      waiters.publish(entries, seq);
      effects.publish(entries, seq);
    },
    fatal(error) {
      tell(fatalText(error, directory));
      // What becomes of a call cannot be noted any more, so none that comes after it may go out.
      effects.close();
      process.exitCode = 1;
      setTimeout(() => process.exit(1), FATAL_LINGER_MS);
    },
  });

  const defect = (error: Error) => tell(`A defect of ours, in one request: ${error.stack}`);
  const outgoing = new Outgoing({ ...config, allowPrivate: isLoopback(config.host) });
  const note = (command: LegCommand | DeliveryCommand, done = () => {}) =>
    engine.submit({ command, checks: NO_BYTES, seals: NO_BYTES, answer: done });
  const effects = new Effects({
    ...config,
    state,
    sealer,
    timers: realTimers,
    call: outgoing.call,
    seq: end.seq,
    defect,
    noteLeg: (leg) => note({ op: 'leg', kind: Kind.intent, moment: engine.now(), caller: GRANTED, ...leg }),
    noteDelivery: (delivery, done) =>
      note({ op: 'delivery', moment: engine.now(), caller: GRANTED, ...delivery }, done),
  });

  if (rules !== null) setServerRules(state, rules);
  const defaultLedger = await openDefaultLedger(engine, server, config, directory, tell);

  // Before anybody is told that this process is there to be asked.
  const tellFigures = config.logLevel === 'debug' ? watchFigures(engine, pool) : () => {};
  const app = createApp({
    house: {
      engine,
      state,
      server,
      sealer,
      texts: new RecordTexts(),
      pool,
      waiters,
      walks: new Walks(),
      making: new Making(),
      effects,
      clock: Date.now,
      validate: compileSchemas({ claimsMax: config.claimsMax, proofsMax: config.proofsMax }),
      queryLimits: { ...QUERY_LIMITS, pageLimitMax: config.pageLimitMax },
      listMsMax: config.listMsMax,
      listProofMsMax: config.listProofMsMax,
      preferWaitSecondsMax: config.preferWaitSecondsMax,
      head: () => journal.position,
      defect,
    },
    tokens: createTokenChecker({ ...TOKEN_LIMITS, verify }),
    defaultLedger,
    publicUrl: config.publicUrl,
    bodyDepthMax: config.bodyDepthMax,
  });
  const ticker = setInterval(() => {
    engine.tick();
    lookAtClock(engine.now(), Date.now());
  }, TICK_MS);
  ticker.unref();
  // Goes on while the server stops, which waits for threads too.
  setInterval(() => lookAt(pool, lock, engine), TICK_MS).unref();
  const fullness = setInterval(() => {
    if (!engine.isFull(true)) return;
    tell(FULL_TEXT);
    clearInterval(fullness);
  }, TICK_MS).unref();

  const preparing = setTimeout(() => prepare(pool).catch(defect), PREPARE_AFTER_MS);
  preparing.unref();

  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    inform(`${signal}: stops listening, finishes what is on its way.`);
    const closed = listening?.close();
    // Whoever waits for an intent's end hears how far it came, instead of a broken connection.
    waiters.end();
    await closed;
    clearInterval(ticker);
    clearTimeout(preparing);
    effects.close();
    outgoing.close();
    await engine.drained();
    await journal.close();
    await pool.close();
    lock.release();
    metrics?.close();
    tellFigures();
    process.exit(process.exitCode ?? 0);
  };
  // Known before the port is open: whoever finds it open, or reads that it is, may send them at once.
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      stop(signal).catch((error: Error) => {
        tell(fatalText(error, directory));
        process.exit(1);
      });
    });
  }

  takeSnapshotNow = () => engine.requestSnapshot();

  if (config.metrics !== '') {
    const watched = { engine, pool, journal, effects, server: () => listening, snapshots };
    metrics = await startMetrics(readPlace(config.metrics), watched);
    inform(`Tells how it is doing at ${metrics.url}.`);
  }

  listening = await startServer(
    {
      host: config.host,
      port: config.port,
      bodyBytesMax: config.bodyBytesMax,
      bodyMsMax: config.bodyMsMax,
      connectionsMax: config.connectionsMax,
      connectionsCutMax,
      arrivingBytesMax: config.arrivingBytesMax,
      unreadBytesMax: config.unreadBytesMax,
      drainMsMax: DRAIN_MS_MAX,
    },
    app,
  );
  if (isStopping) return;
  effects.start();
  process.stdout.write(
    startLine(config, whoMay(config, state), listening.port, directory, encodeBase64(server.public)),
  );
}

/** Ends the process where a thread hangs, or where the books are another server's by now. */
function lookAt(pool: ProofPool, lock: Lock, engine: Engine): void {
  try {
    pool.look();
    lock.check();
  } catch (error) {
    engine.stop(error as Error);
  }
}

/** Does in small steps what the first burst, and the first body of each kind, would have to wait for. */
async function prepare(pool: ProofPool): Promise<void> {
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, PREPARE_PAUSE_MS).unref());
  await pool.prepare(pause);
  await prepareSchemas(pause);
}

/**
 * Counts how long the event loop was kept from its timers, and tells all figures on SIGWINCH and when called: one line
 * of JSON. Sums go on from the start; the event loop's delays are those since the last line.
 */
function watchFigures(engine: Engine, pool: ProofPool): () => void {
  const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delays.enable();
  // The monitor tells how long its own timer took, its interval included.
  const lateMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
  const tellFigures = () => {
    const [p50, p99, p999] = [50, 99, 99.9].map((share) => lateMs(delays.percentile(share)));
    const loopLateMs = { p50, p99, p999, max: lateMs(delays.max) };
    delays.reset();
    const memory = process.memoryUsage();
    tell(`Figures ${JSON.stringify({ engine: engine.stats, proofs: pool.stats, loopLateMs, memory })}`);
  };
  // Of the signals that end no process that does not know them, so that asking the wrong one does no harm.
  process.on('SIGWINCH', tellFigures);
  return tellFigures;
}

/** The server's own rules. Signers and policies belong to ledgers, so these can only speak of keys. */
function serverRules(text: string): unknown[] {
  const list = JSON.parse(text) as unknown[];
  const error = accessErrors(list)?.[0];
  if (error !== undefined) throw new ConfigError(`--access-rules: ${error.instancePath} ${error.message}`);
  if (/"(?:policy|handle|custom|schema|\$circle)":/.test(JSON.stringify(list))) {
    throw new ConfigError('--access-rules: rules of the server name signers by public key, and no policies');
  }
  return list;
}

function startLine({ host, durability }: Config, who: string, port: number, directory: string, key: string): string {
  const risk = durability === 'none' ? ' DURABILITY NONE: answers do not wait for the disk.' : '';
  return `ayni ${SEMVER} serves http://${urlHost(host)}:${port}/v2, ${who}, data in ${directory}, key ${key}.${risk}\n`;
}

let directory = '';
try {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) process.stdout.write(`ayni ${SEMVER}\n\n${configHelp()}\n`);
  else {
    const config = readConfig(args, process.env);
    const strange = strangeVariables(process.env);
    if (strange.length > 0) tell(`${strange.join(', ')}: no setting has that name, see --help; passed over.`);
    directory = resolve(config.data);
    await serve(config, directory);
  }
} catch (error) {
  // A failure of the disk on the way has been told by then.
  if (process.exitCode === undefined) tell(startText(error as Error, directory));
  process.exit(1);
}
