/**
 * How many connections and calls there may be at once, where the system lets the process have few files open. Each of
 * them is an open file, as segments and snapshots are: whoever opened connections until there was none left would end
 * the server when it needs the next for its books.
 */
import { type Config, ConfigError } from './config.ts';
import { readWhole, realDisk } from './storage/disk.ts';

/** What the server itself has open, and needs for the journal, a snapshot, modules that it loads later, and who asks for metrics. */
const OWN_FILES = 128;
const FILES_PER_WORKER = 8;
/** Past the most there may be, as many again are taken to be told so, or are kept idle: see http/server.ts and effects/outgoing.ts. */
const FILES_EACH = 2;
/** Of all that is left, so much is for calls. */
const CALLS_SHARE = 1 / 4;
const LEFT_MIN = 16;

const LIMITS = '/proc/self/limits';
const LIMITS_BYTES_MAX = 8192;

/** How many files this process may have open; null where nobody says. Node has raised it as far as it may by itself. */
export function filesMax(): number | null {
  if (!realDisk.exists(LIMITS)) return null;
  const text = Buffer.from(readWhole(realDisk, LIMITS, LIMITS_BYTES_MAX)).toString();
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? null : Number(soft);
}

/** The configuration with as many connections and calls as fit, and what is to be told of that, or null. */
export function fitOpenFiles(config: Config, limit: number | null): { config: Config; note: string | null } {
  const { workers, connectionsMax, callsInFlightMax } = config;
  const own = OWN_FILES + FILES_PER_WORKER * workers;
  const wanted = own + FILES_EACH * (connectionsMax + callsInFlightMax);
  if (limit === null || limit >= wanted) return { config, note: null };
  const left = limit - own;
  if (left < LEFT_MIN) {
    throw new ConfigError(
      `This process may have ${limit} files open, too few for ${workers} --workers; raise that (ulimit -n) to at least ${own + LEFT_MIN}`,
    );
  }
  const calls = Math.min(callsInFlightMax, Math.floor((left * CALLS_SHARE) / FILES_EACH));
  const connections = Math.min(connectionsMax, Math.floor(left / FILES_EACH) - calls);
  const fitted = Object.freeze({ ...config, connectionsMax: connections, callsInFlightMax: calls });
  const fewer = [
    ...(connections < connectionsMax ? [`takes ${connections} connections at once, not ${connectionsMax}`] : []),
    ...(calls < callsInFlightMax ? [`makes ${calls} calls at once, not ${callsInFlightMax}`] : []),
  ];
  const note = `This process may have ${limit} files open (ulimit -n): it ${fewer.join(', and ')}. It needs ${wanted} for all of them.`;
  return { config: fitted, note };
}
