/**
 * The plan: read the configuration, open the books, wire the rooms, listen; and the same backwards to stop.
 */
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type HeldBooks, hasBooks, leaveBooks, openBooks, showBooks } from './books.ts';
import { type Config, ConfigError, configHelp, memoryNote, readConfig, readPlace, strangeVariables } from './config.ts';
import { setServerRules } from './core/access/index.ts';
import { tellFault } from './core/refusal.ts';
import { mayBegin, noBooksError, openDefaultLedger, whoMay } from './default-ledger.ts';
import { exitProcess } from './exit.ts';
import { COPY_NAME_FILE } from './followers.ts';
import { accessErrors } from './http/schemas.ts';
import { holdPort, type Server, startServer } from './http/server.ts';
import { SEMVER } from './http/version.ts';
import { type Log, logAt, tell } from './log.ts';
import { startMetrics } from './metrics.ts';
import { type Fitted, filesMax, fitOpenFiles } from './open-files.ts';
import { PeerFiles } from './peer-tls.ts';
import { encodeBase64 } from './proof/keys.ts';
import { holdSidePort, type SidePort } from './side-port.ts';
import { freeBytes, realDisk } from './storage/disk.ts';
import { refuseHalfCopy } from './storage/segments.ts';
import { fatalText, overdueText, startText, watchClock } from './trouble.ts';
import { urlHost } from './url-text.ts';
import { startWatch, watchFigures } from './watch.ts';
import { endProcess, openDoor, type Rooms, wireRooms } from './wiring.ts';
import { fitYoungGeneration, longLivedBytesMax } from './young-generation.ts';

const DRAIN_MS_MAX = 10_000;
/** Long heads of requests that wait may take one part in so many of V8's heap. */
const HEADS_PART = 16;
const STUCK_LOOK_MS = 100;
/** The exit code of all commands whose command line cannot be used: trying again would change nothing. */
const UNUSABLE_SETTINGS = 2;
/**
 * Exit codes of a stop that somebody asked for. SIGHUP comes from log rotation too, which means no stop: systemd takes
 * 0, and the signal itself, for a stop that was meant, and would not start the server again.
 */
const STOPPED = { SIGTERM: 0, SIGINT: 0, SIGHUP: 129 };

// Who read the log may be gone, as `| head` is: that is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
// With nobody to hear it Node opens a debugger, and whoever has an account on this machine may ask that for the key.
// Log rotation sends it, and who means SIGUSR2.
process.on('SIGUSR1', () => tell('SIGUSR1 does nothing here. SIGUSR2 takes a snapshot.'));

/** What there is to stop. */
interface Running {
  rooms: Rooms;
  books: HeldBooks;
  /** Whether what is in the journal is on the disk, and by this server's doing. */
  isDurable: boolean;
  endWatch: () => void;
  /** Tells the figures, where they were asked for. */
  tellFigures: () => void;
  /** The ports beside that of the ledgers, where they were asked for. */
  metrics: SidePort | null;
  followers: SidePort | null;
  /** Null until the port is open. */
  listening: Server | null;
  isStopping: boolean;
}

async function serve(given: Config, directory: string): Promise<void> {
  // Before anything is made, or books are read for minutes: what cannot be used starts nothing.
  const rules = given.accessRules === '' ? null : serverRules(given.accessRules);
  const peers = checkFollowers(given);
  const { config, connectionsCutMax } = fitToProcess(given);
  const log = logAt(config.logLevel);
  // Known from the first moment on: to a process that does not know it, the signal is the end.
  let takeSnapshotNow = () => tell('No snapshot is taken yet: the server is still starting.');
  process.on('SIGUSR2', () => takeSnapshotNow());

  const isReadOnly = config.readOnly === 'yes';
  if (!hasBooks(directory)) await checkBeginning(config, directory);
  const books = (isReadOnly ? showBooks : openBooks)(directory, config.serverKey, log);
  const lookAtClock = watchClock(tell);
  lookAtClock(books.end.moment, Date.now(), performance.now());

  const rooms = wireRooms(config, books, log);
  const { state, engine, pool, server } = rooms;
  if (rules !== null) setServerRules(state, rules);
  const defaultLedger = await openDefaultLedger(engine, server, config, books, tell);

  // All signals are known before the port is open: whoever finds it open, or reads that it is, may send them at once.
  const tellFigures = config.logLevel === 'debug' ? watchFigures(engine, pool, log) : () => {};
  const door = openDoor(config, rooms, defaultLedger, log);
  const waits = [engine.diskWait, { look: () => rooms.followers.count() }];
  const { scrub } = rooms.snapshots;
  const endWatch = startWatch({ engine, pool, lock: books.lock, lookAtClock, scrub, waits, expires: !isReadOnly }, log);
  const running: Running = {
    rooms,
    books,
    isDurable: !isReadOnly && config.durability === 'sync',
    endWatch,
    tellFigures,
    metrics: null,
    followers: null,
    listening: null,
    isStopping: false,
  };
  stopOnSignals(running, directory, log);
  takeSnapshotNow = () => {
    if (isReadOnly) tell('No snapshot is taken: the server is read-only.');
    // Once it has stopped the directory may be another server's, whatever this process still waits for.
    else if (running.isStopping) tell('No snapshot is taken: the server stops.');
    else engine.requestSnapshot();
  };
  if (!isReadOnly && books.entries >= config.snapshotEvery) tell(overdueText(books.entries, config.snapshotEvery));
  if (config.followers !== '') running.followers = await openToFollowers(config, peers, running, log);
  if (config.metrics !== '') running.metrics = await openMetrics(config, directory, running, log);
  if (config.followersMin > 0) await guard(config.followersMin, running);
  if (running.isStopping) return;
  const headBytesMax = Math.min(config.arrivingBytesMax, longLivedBytesMax() / HEADS_PART);
  const limits = { ...config, headBytesMax, connectionsCutMax, drainMsMax: DRAIN_MS_MAX };
  running.listening = await startServer(limits, door);
  if (running.isStopping) return void running.listening.close();
  if (!isReadOnly) rooms.effects.start();
  const who = whoMay(config, state);
  process.stdout.write(startLine(config, who, running.listening.port, directory, encodeBase64(server.public)));
}

/** The configuration as far as this process has memory and files for it; what it has too little of is told. */
function fitToProcess(given: Config): Fitted {
  for (const note of [fitYoungGeneration(), memoryNote()]) if (note !== null) tell(note);
  const fitted = fitOpenFiles(given, filesMax());
  if (fitted.note !== null) tell(fitted.note);
  return fitted;
}

/** Throws where what is said of copies makes no sense. Returns how who follows is known; null: nobody is asked. */
function checkFollowers({ followers, followersMin, followersTls, durability, readOnly }: Config): PeerFiles | null {
  if (readOnly === 'yes' && followers !== '')
    throw new ConfigError('--followers: nothing is added to books that are read-only; copy them (ayni backup)');
  if (followersMin > 0 && followers === '')
    throw new ConfigError('--followers-min: there is no port for who follows (--followers)');
  if (followersMin > 0 && durability === 'none')
    throw new ConfigError('--followers-min: with --durability none copies may have what this disk has not');
  if (followersTls === '') return null;
  if (followers === '') throw new ConfigError('--followers-tls: there is no port for who follows (--followers)');
  return new PeerFiles(realDisk, resolve(followersTls));
}

/**
 * Rejects where no books are to begin: before a directory, a lock or a key is made where a disk is to be mounted, or a
 * key is asked for that nothing needs.
 */
async function checkBeginning(config: Config, directory: string): Promise<void> {
  if (!mayBegin(config)) throw noBooksError(directory);
  if (realDisk.exists(join(directory, COPY_NAME_FILE))) throw unfinishedError(directory);
  refuseHalfCopy(realDisk, directory);
  // Books that were made for nothing would keep the rules that this start asks for from the next one.
  await tryPorts(config);
}

/** New books, under the key of those that are to come there, and open to all, are not what a copy is started for. */
function unfinishedError(directory: string): ConfigError {
  return new ConfigError(
    `${directory} is a copy of which nothing is whole yet, and no books are begun there: run \`ayni follow\` again, or start on another copy. For new books name another directory`,
  );
}

/** Rejects where one of the ports that are asked for cannot be had. Each is held until all are: two may be the same. */
async function tryPorts({ host, port, metrics, followers }: Config): Promise<void> {
  const held = [await holdPort(host, port)];
  try {
    for (const [flag, place] of Object.entries({ '--metrics': metrics, '--followers': followers })) {
      if (place !== '') held.push(await holdSidePort({ ...readPlace(place), flag }));
    }
  } finally {
    for (const letGo of held) letGo();
  }
}

async function openMetrics(config: Config, directory: string, running: Running, { inform }: Log): Promise<SidePort> {
  const watched = { ...running.rooms, server: () => running.listening, freeBytes: () => freeBytes(directory) };
  const metrics = await startMetrics(readPlace(config.metrics), watched);
  inform(`Tells how it is doing at ${metrics.url}/metrics.`);
  return metrics;
}

async function openToFollowers(
  config: Config,
  peers: PeerFiles | null,
  { rooms: { followers } }: Running,
  { inform }: Log,
): Promise<SidePort> {
  const open = await followers.listen(readPlace(config.followers), peers);
  inform(`Its books can be followed at ${open.url}.`);
  return open;
}

/**
 * Nobody is answered before the copies have what there is: somebody may have been answered with less of it before the
 * start.
 */
async function guard(min: number, { followers: port, rooms: { followers, server } }: Running): Promise<void> {
  // Who begins the first of them has to know port and key, which a first start has only just made.
  tell(
    `Serves once ${min} of its copies (--followers-min) have all there is, from ${port!.url}; its key is ${encodeBase64(server.public)}.`,
  );
  // Nothing else does that there is yet.
  const keepsAlive = setInterval(() => {}, DRAIN_MS_MAX);
  await followers.guard(min);
  clearInterval(keepsAlive);
}

function stopOnSignals(running: Running, directory: string, { inform }: Log): void {
  for (const [signal, code] of Object.entries(STOPPED)) {
    process.on(signal, () => {
      if (running.isStopping) return;
      running.isStopping = true;
      (code === 0 ? inform : tell)(`${signal}: stops listening, finishes what is on its way.`);
      stop(running, code, inform).catch((error: Error) => {
        tell(fatalText(error, directory));
        exitProcess(1);
      });
    });
  }
}

/** The plan backwards: nobody comes in any more, what is on its way comes to its end, the files are closed. */
async function stop(running: Running, code: number, inform: Log['inform']): Promise<void> {
  const { waiters, effects, outgoing, engine, followers, journal, pool, snapshots } = running.rooms;
  const closed = running.listening?.close();
  const watch = setInterval(() => endWithoutCopies(running), STUCK_LOOK_MS);
  // Whoever waits for an intent's end hears how far it came, instead of a broken connection.
  waiters.end();
  await closed;
  running.endWatch();
  effects.close();
  outgoing.close();
  // What nobody waits for is in the books, and copies get it after the next start.
  await either(engine.drained(), () => followers.isCutOff && !engine.owesAnswers && !engine.isWriting);
  clearInterval(watch);
  const { haveAll, text } = await followers.caughtUp();
  if (running.followers !== null) (haveAll ? inform : tell)(text);
  running.followers?.close();
  // One of them may have had all, and something may have followed from that.
  await either(engine.drained(), () => followers.wait.isOn && !engine.isWriting);
  await snapshots.scrub?.close();
  await journal.close();
  leaveBooks(running.books, running.isDurable ? journal.position : null);
  running.metrics?.close();
  running.tellFigures();
  // All is on the disk, and somebody else may have the directory, whatever becomes of the threads.
  endProcess(pool, Number(process.exitCode ?? code));
}

/**
 * Where copies do not come for what is to be answered, whoever waits for it is told; nothing else would end that. A
 * disk that does not answer is waited for: what it was told to write nobody can take back, and no process ends before
 * it does.
 */
function endWithoutCopies({ rooms: { engine, followers } }: Running): void {
  if (followers.isCutOff && engine.owesAnswers) engine.fail(followers.notCopied());
}

/** Resolves when one of both is so. */
async function either(first: Promise<void>, second: () => boolean): Promise<void> {
  let isFirst = false;
  first = first.then(() => {
    isFirst = true;
  });
  while (!isFirst && !second()) await Promise.race([first, pause(STUCK_LOOK_MS)]);
}

/** The server's own rules. Signers and policies belong to ledgers, so these can only speak of keys. */
function serverRules(text: string): unknown[] {
  const list = JSON.parse(text) as unknown[];
  const error = accessErrors(list)?.[0];
  if (error !== undefined) throw new ConfigError(`--access-rules: ${tellFault(error)}`);
  if (/"(?:policy|handle|custom|schema|\$circle)":/.test(JSON.stringify(list))) {
    throw new ConfigError('--access-rules: rules of the server name signers by public key, and no policies');
  }
  return list;
}

function startLine(config: Config, who: string, port: number, directory: string, key: string): string {
  const { host, durability, readOnly } = config;
  const risk = durability === 'none' ? ' DURABILITY NONE: answers do not wait for the disk.' : '';
  const how = readOnly === 'yes' ? ' READ-ONLY: it takes nothing in, calls nobody, writes nothing.' : risk;
  return `ayni ${SEMVER} serves http://${urlHost(host)}:${port}/v2, ${who}, data in ${directory}, key ${key}.${how}\n`;
}

let directory = '';
try {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) process.stdout.write(`ayni ${SEMVER}\n\n${configHelp()}\n`);
  else {
    const config = readConfig(args, process.env);
    const strange = strangeVariables(process.env);
    if (strange.length > 0) tell(`${strange.join(', ')}: no setting has that name, see --help; passed over.`);
    // As it is named until that is known: there is no way to it from a directory that is gone.
    directory = config.data;
    directory = resolve(directory);
    await serve(config, directory);
  }
} catch (error) {
  // A failure of the disk on the way has been told by then.
  if (process.exitCode === undefined) tell(startText(error as Error, directory));
  exitProcess(error instanceof ConfigError ? UNUSABLE_SETTINGS : 1);
}
