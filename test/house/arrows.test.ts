/**
 * The house's walls: which room may import which, which file alone may import a dependency, and the words the core must
 * not know, because replay rests on the core being a function of its inputs.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/pages.ts';

const src = join(ROOT, 'src');

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    const text = readFileSync(join(src, file), 'utf8');
    const imports = [...text.matchAll(/(?:from|import|import\(|\))\s*\(?'([^']+)'/g)].map((match) => match[1]!);
    return { file, text, imports };
  });

function room(file: string): string {
  const [first, second] = file.split('/');
  return second === undefined ? first!.replace('.ts', '') : first!;
}

/** The rooms that a file imports from, beside its own. */
function roomsIn(file: string, imports: readonly string[]): string[] {
  return imports
    .filter((path) => path.startsWith('.'))
    .map((path) => room(relative(src, resolve(src, dirname(file), path))))
    .filter((other) => other !== room(file) && !other.startsWith('..'));
}

/** A room, and the rooms it may import from; files of src/ itself are rooms of their own. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  memory: [],
  core: ['memory'],
  wait: [],
  'text-ring': ['memory'],
  proof: ['core', 'memory'],
  storage: ['core'],
  recovery: ['core', 'storage'],
  turns: [],
  'young-generation': [],
  exit: [],
  'v8-heap': ['young-generation'],
  'url-text': [],
  entrance: ['turns'],
  luids: ['core'],
  histogram: [],
  batch: ['core', 'storage'],
  room: ['core'],
  engine: ['histogram', 'room', 'turns', 'entrance', 'luids', 'batch', 'wait', 'core', 'proof'],
  'own-records': ['core', 'proof'],
  genesis: ['core', 'proof', 'own-records', 'engine'],
  'default-ledger': ['config', 'core', 'engine', 'genesis', 'proof', 'url-text'],
  machine: ['storage'],
  config: ['core', 'machine', 'url-text'],
  'peer-tls': ['storage'],
  'side-port': ['memory', 'peer-tls', 'storage', 'url-text'],
  followers: ['config', 'peer-tls', 'proof', 'side-port', 'storage', 'wait'],
  snapshots: ['core', 'storage', 'trouble'],
  metrics: ['engine', 'followers', 'histogram', 'proof', 'snapshots', 'storage', 'http', 'effects', 'side-port'],
  'open-files': ['config', 'storage'],
  trouble: ['storage'],
  log: ['trouble'],
  books: ['log', 'proof', 'recovery', 'storage', 'v8-heap'],
  watch: ['log', 'engine', 'http', 'proof', 'storage', 'trouble', 'wait'],
  render: ['core', 'proof'],
  'event-members': ['memory', 'core', 'proof', 'render'],
  events: ['event-members', 'core', 'proof', 'render'],
  'event-texts': ['events', 'proof', 'text-ring'],
  http: [
    'histogram',
    'memory',
    'text-ring',
    'core',
    'proof',
    'render',
    'events',
    'effects',
    'engine',
    'genesis',
    'side-port',
    'url-text',
  ],
  effects: ['memory', 'core', 'proof', 'render', 'event-members', 'events', 'event-texts', 'turns', 'url-text'],
  // What anybody needs who speaks to a ledger: it shares with the ledger what anybody must know, and nothing else.
  client: ['proof'],
  // Somebody else's system: the same.
  bridge: ['client', 'proof'],
  // What checks a story shares with what tells it the canonical text and the rule for signatures.
  story: ['proof'],
};
/** The wiring sees everything. */
const WIRING = ['main', 'wiring', 'cli'];

/** But for the demo bank, which is somebody else's: only the commands that run one see it, and no tool of a client or auditor. */
const RUNS_A_BANK = ['cli/bridge.ts', 'cli/two-banks/play.ts'];

/** A package, and the only files that may import it. */
const DOORS: Record<string, readonly string[]> = {
  'uWebSockets.js': ['http/server.ts'],
  piscina: ['proof/threads.ts'],
  'sodium-native': ['proof/verify-sodium.ts'],
  '@noble/ed25519': ['proof/verify-noble.ts'],
  '@noble/hashes': ['proof/verify-noble.ts', 'story/bytes.ts'],
  msgpackr: ['storage/values.ts'],
  re2js: ['http/regex.ts'],
  typebox: ['http/schemas.ts', 'http/schema-errors.ts'],
  ajv: ['http/user-schemas.ts'],
  'node:fs': ['storage/disk.ts'],
  'prom-client': ['metrics.ts'],
  'node:http': [
    'followers.ts',
    'side-port.ts',
    'effects/outgoing.ts',
    'client/agent.ts',
    'bridge/ledger.ts',
    'bridge/server.ts',
  ],
  'node:https': ['side-port.ts', 'effects/outgoing.ts', 'client/agent.ts', 'bridge/ledger.ts'],
  'node:tls': ['peer-tls.ts', 'side-port.ts'],
  'node:dns': ['effects/addresses.ts'],
};

describe('rooms', () => {
  test.each(files.filter(({ file }) => !WIRING.includes(room(file))))(
    '$file imports only along the arrows',
    ({ file, imports }) => {
      const rooms = roomsIn(file, imports);
      const allowed = MAY_IMPORT[room(file)];
      expect(allowed, `${room(file)} has no row`).toBeDefined();
      expect(rooms.filter((other) => !allowed!.includes(other))).toEqual([]);
    },
  );

  test('only what runs the demo bank imports it', () => {
    const users = files
      .filter(({ file, imports }) => roomsIn(file, imports).includes('bridge'))
      .map(({ file }) => file);
    expect(users.sort()).toEqual(RUNS_A_BANK);
  });

  test.each(Object.entries(DOORS))('%s has one door', (name, doors) => {
    const users = files
      .filter(({ imports }) => imports.some((path) => path === name || path.startsWith(`${name}/`)))
      .map(({ file }) => file)
      .filter((file) => !file.startsWith('cli/'));
    expect(users.filter((file) => !doors.includes(file))).toEqual([]);
    expect(users.length).toBeGreaterThan(0);
  });
});

describe('the core is a function of its inputs', () => {
  const BANNED = [
    /\bDate\.now\b/,
    /\bnew Date\(\)/,
    /\bMath\.random\b/,
    /\basync\b/,
    /\bawait\b/,
    /\bPromise\b/,
    /\bset(?:Timeout|Immediate|Interval)\b/,
    /\bprocess\./,
    /\bperformance\b/,
    /\bBuffer\b/,
    /'node:/,
  ];
  const pure = files.filter(({ file }) => file.startsWith('core/') || file.startsWith('memory/'));
  test.each(pure)('$file knows no clock, chance, waiting or machine', ({ text }) => {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(BANNED.filter((word) => word.test(code)).map(String)).toEqual([]);
  });
});
