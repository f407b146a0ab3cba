/**
 * How the server is doing, for Prometheus and whoever reads its format: `GET /metrics` on a port of its own, where the
 * operator asked for one. It is no part of the ledger's interface, is not signed, and says nothing of any record.
 *
 * Nothing is counted here: the rooms count for themselves, and are read when somebody asks. What a process of Node is
 * usually asked for (processor time, memory, collections, the event loop's lateness) comes from prom-client. Histograms
 * are written here, since those of prom-client would have to be told each value.
 */
import { createRequire } from 'node:module';
import type { Counter, Gauge, Registry } from 'prom-client';
import type { Effects } from './effects/index.ts';
import type { Engine } from './engine.ts';
import type { Followers } from './followers.ts';
import type { Histogram } from './histogram.ts';
import type { Server } from './http/server.ts';
import { SEMVER } from './http/version.ts';
import type { ProofPool } from './proof/pool.ts';
import { openSidePort, type SidePort } from './side-port.ts';
import type { Snapshots } from './snapshots.ts';
import type { Journal } from './storage/journal.ts';

/** Whose figures are told. Sums go on from the start. */
interface Watched {
  engine: Engine;
  pool: ProofPool;
  journal: Journal;
  effects: Effects;
  followers: Followers;
  /** Null before the port is open. */
  server(): Server | null;
  /**
   * Room on the disk of the data. Throws where the directory is gone: then nothing is told, and the server ends soon.
   */
  freeBytes(): number;
  snapshots: Snapshots;
}

const WATCHERS_MAX = 64;
/** Statuses that alerts ask for, told from the start: a rate sees no rise in what begins with its first answers. */
const ALERTED: readonly [status: number, count: number][] = [500, 503].map((status) => [status, 0]);

/** One number, or one for each value of a label. */
type Told = number | Iterable<readonly [value: string | number, told: number]>;

interface Metric {
  type: 'counter' | 'gauge';
  name: string;
  help: string;
  label?: string;
  tell: (watched: Watched) => Told;
}

const METRICS: readonly Metric[] = [
  {
    type: 'gauge',
    name: 'ayni_build_info',
    help: 'Always 1, by the version that runs',
    label: 'version',
    tell: () => [[SEMVER, 1]],
  },
  {
    type: 'counter',
    name: 'ayni_requests_total',
    help: 'Requests that came past the door, by what became of them',
    label: 'outcome',
    tell: ({ engine: { stats } }) => Object.entries({ accepted: stats.accepted, refused: stats.refused }),
  },
  {
    type: 'counter',
    name: 'ayni_http_answers_total',
    help: 'Answers, by HTTP status',
    label: 'status',
    tell: ({ server }) => [...new Map([...ALERTED, ...(server()?.answers() ?? [])])],
  },
  {
    type: 'gauge',
    name: 'ayni_http_connections',
    help: 'Open connections',
    tell: ({ server }) => server()?.connections() ?? 0,
  },
  {
    type: 'gauge',
    name: 'ayni_http_held_bytes',
    help: 'Held for clients that are slow to send or to read, or wait: bodies that have not arrived whole, long heads, answers not taken',
    label: 'of',
    tell: ({ server }) => server()?.held() ?? [],
  },
  {
    type: 'gauge',
    name: 'ayni_requests_waiting',
    help: 'Requests that wait for their turn or are on their way to the disk',
    tell: ({ engine }) => engine.waiting,
  },
  {
    type: 'counter',
    name: 'ayni_stage_seconds_total',
    help: 'Time that requests (turn, verify_wait, inbox), their tasks (verify) and batches (clear, disk, copies) spent in each stage',
    label: 'stage',
    tell: (watched) => stagesOf(watched).map(([stage, , ms]) => [stage, ms / 1000]),
  },
  {
    type: 'counter',
    name: 'ayni_stage_passes_total',
    help: 'How often each stage was passed through: seconds by passes is the mean',
    label: 'stage',
    tell: (watched) => stagesOf(watched).map(([stage, passes]) => [stage, passes]),
  },
  {
    type: 'gauge',
    name: 'ayni_last_entry',
    help: 'Sequence number of the last entry on the disk',
    tell: ({ journal }) => journal.position.seq,
  },
  { type: 'gauge', name: 'ayni_ledgers', help: 'Ledgers', tell: ({ engine: { state } }) => state.ledgers.length - 1 },
  {
    type: 'gauge',
    name: 'ayni_records',
    help: 'Records of all kinds and ledgers, dropped ones too',
    tell: ({ engine: { state } }) => state.rows.lines.length,
  },
  {
    type: 'gauge',
    name: 'ayni_intents_open',
    help: 'Intents that have not come to their end',
    tell: ({ engine: { state } }) => state.open.size,
  },
  {
    type: 'gauge',
    name: 'ayni_records_bytes',
    help: 'Memory that records, their indexes and balances take',
    tell: ({ engine }) => engine.room.recordsBytes,
  },
  {
    type: 'gauge',
    name: 'ayni_records_bytes_max',
    help: 'Memory that they may take: --records-bytes-max',
    tell: ({ engine }) => engine.room.recordsBytesMax,
  },
  {
    type: 'gauge',
    name: 'ayni_books_memory_share',
    help: 'Share of the memory for records and V8 together that they take; from 31/32 on nothing new comes in',
    tell: ({ engine: { room } }) => room.bothBytes / room.bothBytesMax,
  },
  {
    type: 'gauge',
    name: 'ayni_v8_heap_share',
    help: 'Share of its own heap that V8 found in use at its last full collection; from 0.7 on nothing new comes in',
    tell: ({ engine }) => engine.room.v8Share(),
  },
  {
    type: 'gauge',
    name: 'ayni_disk_free_bytes',
    help: 'Room on the disk of the data; without any the server ends',
    tell: ({ freeBytes }) => freeBytes(),
  },
  {
    type: 'gauge',
    name: 'ayni_disk_waited_seconds',
    help: 'How long answers have been waiting for the disk now',
    tell: ({ engine }) => engine.diskWait.seconds,
  },
  {
    type: 'gauge',
    name: 'ayni_followers',
    help: 'Copies that are kept going, as they have said within the last minute',
    tell: ({ followers }) => followers.entries.length,
  },
  {
    type: 'gauge',
    name: 'ayni_followers_last_entry',
    help: 'The last entry that all of them have; 0 where there is none of them',
    tell: ({ followers: { entries } }) => (entries.length === 0 ? 0 : Math.min(...entries)),
  },
  {
    type: 'gauge',
    name: 'ayni_followers_waited_seconds',
    help: 'How long too few copies have had what is here: --followers-min',
    tell: ({ followers }) => followers.wait.seconds,
  },
  {
    type: 'gauge',
    name: 'ayni_calls',
    help: 'Calls of bridges and webhooks that are due, and of these on their way',
    label: 'state',
    tell: ({ effects }) => {
      const { jobs, inFlight } = effects.counts();
      return Object.entries({ due: jobs, in_flight: inFlight });
    },
  },
  {
    type: 'gauge',
    name: 'ayni_effects_behind_entries',
    help: 'Entries since the oldest that an effect has not been told of: 0 where all keep up',
    tell: ({ effects }) => effects.behind(),
  },
  {
    type: 'counter',
    name: 'ayni_snapshots_total',
    help: 'Snapshots taken since the start',
    tell: ({ snapshots }) => snapshots.taken,
  },
  {
    type: 'gauge',
    name: 'ayni_snapshot_last_entry',
    help: 'The entry that the last of them was taken after, 0 before the first',
    tell: ({ snapshots }) => snapshots.lastEntry,
  },
  {
    type: 'gauge',
    name: 'ayni_snapshot_seconds',
    help: 'How long the last of them took',
    tell: ({ snapshots }) => snapshots.lastMs / 1000,
  },
  {
    type: 'counter',
    name: 'ayni_scrubbed_bytes_total',
    help: 'What of the snapshots and the journal was read again since the start',
    tell: ({ snapshots }) => snapshots.scrub?.stats.bytes ?? 0,
  },
  {
    type: 'counter',
    name: 'ayni_scrub_changed_total',
    help: 'How often a part, a snapshot or a segment was found to have been changed by the disk, or taken away',
    tell: ({ snapshots }) => snapshots.scrub?.stats.changed ?? 0,
  },
  {
    type: 'counter',
    name: 'ayni_scrub_mended_total',
    help: 'Parts that the disk had changed, and that were written anew',
    tell: ({ snapshots }) => snapshots.scrub?.stats.mended ?? 0,
  },
];

/** A histogram, or one for each set of labels: never by what clients name, so that there are as many for ever. */
interface HistogramMetric {
  name: string;
  help: string;
  /** What a value is to be divided by. */
  scale: number;
  tell: (watched: Watched) => [labels: string, histogram: Histogram][];
}

const HISTOGRAMS: readonly HistogramMetric[] = [
  {
    name: 'ayni_request_seconds',
    help: 'Time of requests from when they were here whole until their answer was handed to the network; wait: who asked to wait',
    scale: 1000,
    tell: ({ server }) =>
      Object.entries(server()?.times() ?? {}).flatMap(([request, times]) =>
        Object.entries(times).map(([outcome, histogram]): [string, Histogram] => [
          `request="${request}",outcome="${outcome}"`,
          histogram,
        ]),
      ),
  },
  {
    name: 'ayni_disk_seconds',
    help: 'Time of batches from when they were handed over until the disk had them',
    scale: 1000,
    tell: ({ engine }) => [['', engine.spreads.diskMs]],
  },
  {
    name: 'ayni_batch_entries',
    help: 'Entries that were written and synced together',
    scale: 1,
    tell: ({ engine }) => [['', engine.spreads.entries]],
  },
];

function histogramsText(watched: Watched): string {
  const lines: string[] = [];
  for (const { name, help, scale, tell } of HISTOGRAMS) {
    lines.push('', `# HELP ${name} ${help}`, `# TYPE ${name} histogram`);
    for (const [labels, histogram] of tell(watched)) {
      let all = 0;
      for (const [bound, count] of histogram.cumulative()) {
        const le = Number.isFinite(bound) ? bound / scale : '+Inf';
        lines.push(`${name}_bucket{${labels === '' ? '' : `${labels},`}le="${le}"} ${count}`);
        all = count;
      }
      const braces = labels === '' ? '' : `{${labels}}`;
      lines.push(`${name}_sum${braces} ${histogram.sum / scale}`, `${name}_count${braces} ${all}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Of each stage how often it was passed through, and the milliseconds that took in all. */
function stagesOf({ engine: { stats }, pool }: Watched): [stage: string, passes: number, ms: number][] {
  const { queue, trip } = pool.stats;
  return [
    ['turn', stats.waited, stats.turnMs],
    ['verify_wait', queue.count, queue.totalMs],
    ['verify', trip.count, trip.totalMs],
    ['inbox', stats.cleared, stats.inboxMs],
    ['clear', stats.batches, stats.clearMs],
    ['disk', stats.frames, stats.diskMs],
    ['copies', stats.frames, stats.copiesMs],
  ];
}

/** Listens; port 0 takes a free one. Rejects with ListenError where the port cannot be had. */
export function startMetrics(at: { host: string; port: number }, watched: Watched): Promise<SidePort> {
  const registry = register(watched);
  return openSidePort({ ...at, flag: '--metrics', connectionsMax: WATCHERS_MAX }, (request, response) => {
    const [path] = request.url!.split('?');
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => {
        // prom-client's mean of nothing, where a second look comes quickly; not all who read these know it in that way.
        const figures = text.replaceAll(' Nan\n', ' NaN\n');
        response.writeHead(200, { 'content-type': registry.contentType }).end(`${figures}${histogramsText(watched)}`);
      },
      () => response.writeHead(500).end(),
    );
  });
}

function register(watched: Watched): Registry {
  // Loaded where somebody wants it.
  const { Registry, Counter, Gauge, collectDefaultMetrics } = createRequire(import.meta.url)(
    'prom-client',
  ) as PromClient;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { type, name, help, label, tell } of METRICS) {
    const labelNames = label === undefined ? [] : [label];
    const Type = type === 'counter' ? Counter : Gauge;
    const metric: Counter | Gauge = new Type({
      ...{ name, help, labelNames, registers: [registry] },
      collect() {
        metric.reset();
        const told = tell(watched);
        if (typeof told === 'number') metric.inc(told);
        else for (const [value, number] of told) metric.inc({ [label!]: value }, number);
      },
    });
  }
  return registry;
}

type PromClient = typeof import('prom-client');
