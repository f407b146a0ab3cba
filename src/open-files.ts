/**
 * How many connections and calls there may be at once, where the system lets the process have few files open. Each of
 * them is an open file, as segments and snapshots are: whoever opened connections until there was none left would end
 * the server when it needs the next for its books.
 */
import { type Config, ConfigError } from './config.ts';
import { readWhole, realDisk } from './storage/disk.ts';

/**
 * What the server itself has open, and needs for the journal, a snapshot, modules that it loads later, and who asks for
 * metrics.
 */
const OWN_FILES = 128;
const FILES_PER_WORKER = 8;
/** Each call may leave an idle connection behind: see effects/outgoing.ts. */
const FILES_PER_CALL = 2;
/**
 * Of all that is left, so much is for calls; and of the connections' room so much for those that are told that there
 * are too many.
 */
const CALLS_SHARE = 1 / 4;
const TOLD_SHARE = 1 / 5;
/** Past the most connections there may be, at most as many again are taken, to be told that there are too many. */
const TAKEN_PER_CONNECTION = 2;
const LEFT_MIN = 16;

const LIMITS = '/proc/self/limits';
const LIMITS_BYTES_MAX = 8192;

/** How many files this process may have open; null where nobody says. Node has raised it as far as it may by itself. */
export function filesMax(): number | null {
  if (!realDisk.exists(LIMITS)) return null;
  const text = readWhole(realDisk, LIMITS, LIMITS_BYTES_MAX).toString();
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? null : Number(soft);
}

export interface Fitted {
  config: Config;
  /** Of connections more than this are cut at once, told nothing. */
  connectionsCutMax: number;
  /** What the operator is to know, or null. */
  note: string | null;
}

/** The configuration with as many connections and calls as fit. */
export function fitOpenFiles(config: Config, limit: number | null): Fitted {
  const { workers, connectionsMax, callsInFlightMax } = config;
  const cutMax = TAKEN_PER_CONNECTION * connectionsMax;
  if (limit === null) return { config, connectionsCutMax: cutMax, note: null };
  const own = OWN_FILES + FILES_PER_WORKER * workers;
  const left = limit - own;
  if (left < LEFT_MIN) {
    throw new ConfigError(
      `This process may have ${limit} files open, too few for ${workers} --workers; raise that (ulimit -n) to at least ${own + LEFT_MIN}`,
    );
  }
  const calls = Math.min(callsInFlightMax, Math.floor((left * CALLS_SHARE) / FILES_PER_CALL));
  const room = left - FILES_PER_CALL * calls;
  const connections = Math.min(connectionsMax, Math.floor(room * (1 - TOLD_SHARE)));
  const connectionsCutMax = Math.min(cutMax, room);
  const fewer = [
    ...(connections < connectionsMax ? [`takes ${connections} connections at once, not ${connectionsMax}`] : []),
    ...(calls < callsInFlightMax ? [`makes ${calls} calls at once, not ${callsInFlightMax}`] : []),
  ];
  if (fewer.length === 0) return { config, connectionsCutMax, note: null };
  const fitted = Object.freeze({ ...config, connectionsMax: connections, callsInFlightMax: calls });
  const wanted = own + FILES_PER_CALL * callsInFlightMax + Math.ceil(connectionsMax / (1 - TOLD_SHARE));
  const note = `This process may have ${limit} files open (ulimit -n): it ${fewer.join(', and ')}. It needs ${wanted} for all of them.`;
  return { config: fitted, connectionsCutMax, note };
}
