/**
 * `npm run soak -- --minutes 60`: mixed load on a real server for as long as one likes, in waves that write and waves
 * that only read, ask for nonsense and behave badly. After each wave, when every client has gone, the process is
 * looked at: memory, V8's heap, open files, sockets.
 *
 * The books grow with their entries, and that they may. A plane is fitted through memory over entries and time, which
 * tells the two apart, since waves that write take turns with others; what it rises by over the run has a bound. Files
 * and sockets have to be what they were. Any answer of 5xx ends the run.
 */
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect as open } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readCount } from '../../src/cli/usage.ts';
import { clientOf } from '../engine/process.ts';
import { type Client, type Json, makeKeys, makeToken, proof, record } from '../support/client.ts';
import { Dice } from '../support/dice.ts';
import { makeDirectory } from '../support/directory.ts';
import { readFlags } from '../support/flags.ts';
import { issue, makeKit, pause, transfer, until } from '../support/kit.ts';
import { type Launched, launch } from '../support/server.ts';
import { fitPlane } from './fit.ts';

const MiB = 1024 * 1024;
const LANES = 24;
const WALLETS = Array.from({ length: 50 }, (_, n) => `w${n}`);
/** The share of the run before the first look: code is compiled, pages are taken, caches of texts and proofs fill up. */
const WARM_SHARE = 1 / 3;
const FLAGS = ['--log-level', 'debug', '--snapshot-every', '15000', '--segment-bytes-max', String(8 * MiB)];

/**
 * By how much each may grow over the run: for every entry, and once. The heap has caches of texts and proofs, which
 * hold some 60 MiB when they are full, and a short run ends before they are.
 */
const BOUNDS = {
  rss: { once: 96 * MiB, byEntry: 2000 },
  heap: { once: 64 * MiB, byEntry: 20 },
  outside: { once: 32 * MiB, byEntry: 1500 },
} as const;
const HANDLES_MORE_MAX = 6;

interface Sample {
  minutes: number;
  entries: number;
  rss: number;
  heap: number;
  outside: number;
  files: number;
  sockets: number;
}

const { minutes, waveSeconds, seed } = readFlags('soak', () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      wave: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  return {
    minutes: readCount('--minutes', values.minutes, 1),
    waveSeconds: readCount('--wave', values.wave, 1),
    seed: readCount('--seed', values.seed, 0),
  };
});
const dice = new Dice(seed);
const keys = makeKeys();
const counts = new Map<string, number>();
let made = 0;

const directory = makeDirectory();
const preload = fileURLToPath(new URL('./collecting.js', import.meta.url));
const server = await launch(directory, { flags: FLAGS, env: { NODE_OPTIONS: `--import ${preload}` } });
const client = await clientOf(server);
process.exitCode = 1;
try {
  const samples = await play();
  process.exitCode = judge(samples) ? 0 : 1;
  server.child.kill('SIGTERM');
  if ((await server.ended) !== 0) throw new Error(`it did not end well:\n${server.log().slice(-2000)}`);
} finally {
  server.child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}

async function play(): Promise<Sample[]> {
  const kit = makeKit(client, keys);
  await kit.symbol({ handle: 'usd' });
  for (const handle of WALLETS) await kit.wallet({ handle });
  const samples: Sample[] = [];
  const start = Date.now();
  for (let wave = 0; Date.now() - start < minutes * 60_000; wave++) {
    const before = sum(counts);
    await playWave(wave % 2 === 0 ? write : disturb, waveSeconds * 1000);
    await pause(500);
    const sample = await look(server, client, (Date.now() - start) / 60_000);
    if (sample.minutes > minutes * WARM_SHARE) samples.push(sample);
    const rate = Math.round((sum(counts) - before) / waveSeconds);
    tell(`${wave % 2 === 0 ? 'writes' : 'reads '} ${rate}/s`, sample);
  }
  process.stdout.write(
    `Answers: ${[...counts]
      .sort()
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}\n`,
  );
  return samples;
}

function sum(map: Map<string, number>): number {
  return [...map.values()].reduce((total, count) => total + count, 0);
}

function tell(what: string, { minutes, entries, rss, heap, outside, files, sockets }: Sample): void {
  const size = (bytes: number) => `${(bytes / MiB).toFixed(1)} MiB`.padStart(10);
  process.stdout.write(
    `${minutes.toFixed(1).padStart(6)} min  ${what}  ${entries} entries  rss${size(rss)}  heap${size(heap)}  outside${size(outside)}  ${files} files  ${sockets} sockets\n`,
  );
}

/** So many clients at once, each with one request at a time, on connections of this wave only. */
async function playWave(act: (agent: Agent) => Promise<void>, ms: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: LANES });
  const end = Date.now() + ms;
  const lane = async () => {
    while (Date.now() < end) await act(agent);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  agent.destroy();
}

// ---------------------------------------------------------------- what clients do

async function write(agent: Agent): Promise<void> {
  const handle = `h${made++}`;
  const chance = dice.roll();
  const [from, to] = [dice.pick(WALLETS), dice.pick(WALLETS)];
  if (chance < 0.7) {
    const claims = chance < 0.2 ? [issue(to, 'usd', 100)] : [transfer(from, to, 'usd', 1 + dice.below(20))];
    await ask(
      agent,
      'POST',
      '/intents',
      record({ handle, claims }, keys),
      dice.chance(0.1) ? { prefer: 'wait=5' } : {},
    );
  } else if (chance < 0.8) {
    await ask(agent, 'POST', '/wallets', record({ handle, custom: { n: made } }, keys));
  } else if (chance < 0.9) {
    const { data, hash, luid } = await ask(agent, 'GET', `/wallets/${to}`);
    const changed = record({ ...data, custom: { n: made }, parent: hash }, keys);
    await ask(agent, 'PUT', `/wallets/${to}`, { luid, ...changed });
  } else {
    const { hash } = await ask(agent, 'GET', `/wallets/${to}`);
    await ask(agent, 'POST', `/wallets/${to}/proofs`, proof(hash, keys, { note: made }));
  }
}

/** Nothing of this leaves an entry but tokens that are good once, now and then. */
async function disturb(agent: Agent): Promise<void> {
  const chance = dice.roll();
  const wallet = dice.pick(WALLETS);
  if (chance < 0.2) await ask(agent, 'GET', `/wallets/${wallet}/balances`);
  else if (chance < 0.35) await ask(agent, 'GET', `/intents?data.claims.source=${wallet}&page.limit=20`);
  else if (chance < 0.45)
    await ask(agent, 'GET', `/intents?page.index=${dice.below(50)}&sort.meta.moment=${dice.pick([1, -1])}`);
  else if (chance < 0.5)
    await ask(agent, 'GET', `/wallets?data.custom.n.$gt=${dice.below(made)}&data.handle.$regex=7$`);
  else if (chance < 0.6) await ask(agent, 'GET', `/wallets/${wallet}/changes`);
  else if (chance < 0.7) await ask(agent, 'POST', '/intents', record({ handle: 'x', claims: [] }, keys));
  else if (chance < 0.8) await ask(agent, 'POST', '/wallets', record({ handle: wallet }, keys));
  else if (chance < 0.85) await ask(agent, 'GET', `/wallets/${wallet}`, undefined, { authorization: token() });
  else if (chance < 0.9) await ask(agent, 'POST', '/wallets', `{"hash":"${'x'.repeat(dice.below(200_000))}`);
  else if (chance < 0.95) await goAway(`GET /v2/intents?page.limit=100 HTTP/1.1\r\nhost: a\r\n\r\n`);
  else await goAway('POST /v2/intents HTTP/1.1\r\nhost: a\r\ncontent-length: 50000\r\n\r\n{"half":');
}

function token(): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'soak', sub: 'soak', aud: 'main', iat: now, exp: now + 30 };
  return `Bearer ${makeToken(dice.chance(0.1) ? { ...claims, jti: `j${made++}` } : claims, keys)}`;
}

/** A client that hangs up before its answer, or in the middle of its request. */
function goAway(text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = open(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.write(text);
    setTimeout(() => socket.destroy(), dice.below(20));
    count('gone');
  });
}

function ask(
  agent: Agent,
  method: string,
  path: string,
  body?: Json,
  headers: Record<string, string> = {},
): Promise<Json> {
  return new Promise((resolve, reject) => {
    const call = request(`${server.url}${path}`, { agent, method, headers });
    call.on('error', reject);
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode } = response;
        const text = Buffer.concat(chunks).toString();
        count(String(statusCode));
        if (statusCode! >= 500) reject(new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 300)}`));
        else resolve(JSON.parse(text));
      });
    });
    call.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

function count(what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

// ---------------------------------------------------------------- what becomes of the process

async function look({ child, log }: Launched, { url }: Client, minutes: number): Promise<Sample> {
  const pid = child.pid!;
  const lines = () =>
    log()
      .split('\n')
      .filter((line) => line.includes('Figures {'));
  const before = lines().length;
  process.kill(pid, 'SIGWINCH');
  await until(() => lines().length > before);
  const figures = JSON.parse(
    lines()
      .at(-1)!
      .replace(/^.*Figures /, ''),
  );
  const head = (await (await fetch(`${url}/head`, { headers: { connection: 'close' } })).json()) as Json;
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const sockets = targets.filter((target) => target.startsWith('socket:')).length;
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
  const { heapUsed, arrayBuffers, external } = figures.memory;
  return {
    minutes,
    entries: head.data.seq,
    rss,
    heap: heapUsed,
    outside: Math.max(arrayBuffers, external),
    files: targets.length - sockets,
    sockets,
  };
}

function judge(samples: readonly Sample[]): boolean {
  if (samples.length < 4) {
    process.stdout.write('Too short to judge: there must be four waves after the first third of the run.\n');
    return false;
  }
  let isGood = true;
  const told = (ok: boolean, what: string) => {
    isGood &&= ok;
    process.stdout.write(`${ok ? 'good' : 'BAD '}  ${what}\n`);
  };
  const [first, last] = [samples[0]!, samples.at(-1)!];
  const [entries, time] = [last.entries - first.entries, last.minutes - first.minutes];
  for (const name of ['rss', 'heap', 'outside'] as const) {
    const { once, byEntry } = BOUNDS[name];
    const rows = samples.map((sample) => ({ causes: [sample.entries, sample.minutes], value: sample[name] }));
    const [, perEntry, perMinute] = fitPlane(rows) as [number, number, number];
    const grown = perEntry * entries + perMinute * time;
    const size = (bytes: number) => `${(bytes / MiB).toFixed(1)} MiB`;
    const parts = `${perEntry.toFixed(0)} bytes an entry, ${size(perMinute)} a minute`;
    const most = once + byEntry * entries;
    told(grown <= most, `${name}: grown by ${size(grown)} with ${entries} entries, at most ${size(most)} (${parts})`);
  }
  for (const name of ['files', 'sockets'] as const) {
    const most = Math.max(...samples.map((sample) => sample[name]));
    const what = `${name}: ${first[name]} at first, ${most} at most, ${last[name]} at last`;
    told(most <= first[name] + HANDLES_MORE_MAX, what);
  }
  return isGood;
}
