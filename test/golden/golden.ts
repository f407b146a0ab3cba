/**
 * Golden directories: books as a released version wrote them, which every later one must open, tell the same of, and
 * go on with. `writeGolden` makes one with the build at hand; `faultsOf` opens one and says what is not as it was.
 *
 * A golden directory is `books/`, the data directory as it was after a stop, and `expected.json`, what it must show.
 * It is never written to: everything happens on a copy.
 */
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '../../src/cli/audit/audit.ts';
import { hex } from '../../src/core/bytes.ts';
import { EntryType } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { SEMVER } from '../../src/http/version.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { verifyBy } from '../../src/proof/verify.ts';
import { readBooks } from '../../src/recovery.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { stateDigests } from '../../src/storage/state-digest.ts';
import { filesIn, fillBooks, keyIn } from '../cli/books.ts';
import { type Client, connect, type Json, makeKeys, makeToken, proof, record } from '../support/client.ts';
import { makeDirectory } from '../support/directory.ts';
import { openHook } from '../support/hook.ts';
import { issue, type Kit, limit, makeKit, openLedger, proofFor, segment, transfer, until } from '../support/kit.ts';
import { everyOther } from '../support/long.ts';
import { SAMPLES } from '../support/samples.ts';
import { startServer } from '../support/server.ts';
import { checkStories, hasPython, storyText } from '../support/stories.ts';

export interface Expected {
  /** Of the build that wrote the books. */
  semver: string;
  seq: number;
  chain: string;
  /** How many entries of each type the journal has, by name. */
  entries: Record<string, number>;
  /** Of the state, thing by thing: later versions may know more things, and must agree in these. */
  digests: Record<string, string>;
  /** Answers by ledger and path; later versions may tell more, and must tell this. */
  answers: { ledger: string; path: string; body: Json }[];
}

const keys = makeKeys(Buffer.alloc(32, 21));
const others = makeKeys(Buffer.alloc(32, 22));

// ---------------------------------------------------------------- making one

/** Fills `directory`, which must not be there, with books of every sort of entry, and with what they show. */
export async function writeGolden(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: false });
  const books = join(directory, 'books');
  const server = await startServer({ directory: books, flags: ['--segment-bytes-max', '12000'] });
  const client = connect(server);
  await fillBooks(server, 12);
  const kit = makeKit(client, keys);
  for (const sample of SAMPLES) await kit.make(sample.path, await sample.data(kit));
  await useToken(client);
  // Half of it lies in a snapshot, the rest in the journal behind it.
  server.process.kill('SIGUSR2');
  await until(() => filesIn(books, /^snapshot-.*ays$/).length > 0);
  await labelWallets(client);
  await tellOthers(client, kit);
  await forward(kit);
  await sayOtherwise(client, kit);
  const answers = await answersOf(client);
  await server.stop();
  for (const name of filesIn(books, /^lock-/)) rmSync(join(books, name));
  const expected: Expected = { semver: SEMVER, ...stateOf(books), answers };
  writeFileSync(join(directory, 'expected.json'), `${JSON.stringify(expected, null, 1)}\n`);
}

async function useToken(client: Client): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'golden', sub: 'golden', aud: 'main', iat: now, exp: now + 300, jti: 'once' };
  const reply = await client.get('/wallets', { authorization: `Bearer ${makeToken(claims, keys)}` });
  if (reply.status !== 200) throw new Error(reply.text);
}

/** A ledger with policies, and a wallet with a status and labels by them. */
async function labelWallets(client: Client): Promise<void> {
  const ledger = await openLedger(client, keys, { handle: 'labelled' });
  const there = connect({ url: client.url, publicKey: client.server }, { 'x-ledger': ledger.data.handle });
  const kit = makeKit(there, keys);
  await kit.make('policies', { handle: 'labels', schema: 'labels', record: 'wallet', values: ['vip', 'known'] });
  const values = [{ status: 'active', from: ['created'], signer: { public: others.public } }];
  await kit.make('policies', { handle: 'statuses', schema: 'status', record: 'wallet', values });
  const wallet = await kit.make('wallets', { handle: 'golden', custom: { text: 'ñandú ☀', number: 1e21 } });
  const custom = { moment: new Date().toISOString(), status: 'active', labels: ['vip', 'known'] };
  const reply = await there.post('/wallets/golden/proofs', proofFor(wallet, others, custom));
  if (reply.body.meta.status !== 'active') throw new Error(reply.text);
}

/** An event that was delivered, and an intent through a bridge that was prepared, reported and completed, and sets a limit. */
async function tellOthers(client: Client, kit: Kit): Promise<void> {
  const hook = await openHook();
  const filter = { 'wallet.data.schema': 'watched' };
  const action = { schema: 'webhook', endpoint: `${hook.url}/hook` };
  await kit.make('effects', { handle: 'watches', signal: 'wallet-created', filter, action });
  await kit.wallet({ handle: 'watched', schema: 'watched' });
  await hook.waitFor(({ path }) => path === '/hook');
  const symbol = await kit.symbol({ handle: 'bridged-usd' });
  await kit.make('bridges', { handle: 'bank', schema: 'rest', config: { server: `${hook.url}/bank` } });
  await kit.wallet({ handle: 'at-bank', bridge: 'bank' });
  await kit.done([limit('at-bank', symbol, 'minBalance', -1000)]);
  // The daily limit counts what the same intent has set aside.
  const claims = [transfer('at-bank', 'watched', symbol, 70), limit('watched', symbol, 'dailyAmount', 1000)];
  const { body: sent } = await kit.send(claims, { data: { handle: 'through-bank' } });
  const report = async (entry: string, status: string) => {
    const added = proof(sent.hash, others, { moment: new Date().toISOString(), handle: entry, status });
    await client.post('/intents/through-bank/proofs', added);
  };
  const [debit] = await hook.waitFor(({ path }) => path === '/bank/debits');
  const entry: string = debit!.body.data.handle;
  await report(entry, 'prepared');
  await hook.waitFor(({ path }) => path === `/bank/debits/${entry}/commit`);
  await report(entry, 'committed');
  await until(async () => (await client.get('/intents/through-bank')).body.meta.status === 'completed');
  // That the event was taken must be in the books, or a later start would tell it again.
  await until(async () => (await client.get('/effects/watches/events')).body.data[0].meta.status === 'delivered');
  await hook.close();
}

/** An intent that routes pass on: two of one thread. */
async function forward(kit: Kit): Promise<void> {
  const symbol = await kit.symbol({ handle: 'routed-usd' });
  await kit.wallet({ handle: 'end' });
  await kit.wallet({ handle: 'passes-on', routes: [{ action: 'forward', target: 'end' }] });
  await kit.funded(symbol, 100, { handle: 'rich' });
  await kit.send([transfer('rich', 'passes-on', symbol, 30)], { data: { handle: 'passed-on' } });
}

/** Intents whose proofs say nothing, or more than most do; money that comes from nowhere, or moves many ways at once. */
async function sayOtherwise(client: Client, kit: Kit): Promise<void> {
  const symbol = await kit.symbol({ handle: 'said-usd' });
  await kit.wallet({ handle: 'one' });
  await kit.wallet({ handle: 'other' });
  const send = async (handle: string, claims: Json[], customs: Json[], more: Json = {}) => {
    const { text, body, status } = await client.post('/intents', record({ handle, claims, ...more }, keys, customs));
    if (status !== 201) throw new Error(text);
    return body;
  };
  await send('says-nothing', [issue('one', symbol, 1000)], []);
  // A leap second.
  const custom = { moment: '2016-12-31T23:59:60.000Z', note: 'ñandú', status: 'created' };
  await send('says-more', [transfer('one', 'other', symbol, 5), issue('other', symbol, 1)], [custom], {
    custom: { before: 'ñandú 😀 ☀', key: keys.public },
  });
  const access = [{ action: 'any', signer: { public: keys.public } }];
  const moments = ['9999-12-31T23:59:59.999Z', '1969-07-20T20:17:40.000Z', '2026-02-30T00:00:00.000Z'];
  for (const [n, moment] of moments.entries()) {
    await send(`said-${n}`, [transfer('one', 'other', symbol, 2 ** n)], [{ moment, status: 'created' }], {
      access,
    });
  }
}

/** One record of each kind and ledger, the newest, with its history; every wallet's balances. */
async function answersOf(client: Client): Promise<Expected['answers']> {
  const answers: Expected['answers'] = [];
  const ledgers = (await client.get('/ledgers?page.limit=100')).body.data.map((one: Json) => one.data.handle);
  for (const ledger of ledgers) {
    const headers = { 'x-ledger': ledger };
    const ask = async (path: string) => {
      const { body } = await client.get(path, headers);
      // What a list says of itself is signed anew each time.
      answers.push({ ledger, path, body: Array.isArray(body.data) ? { data: body.data } : body });
      return body;
    };
    for (const path of ['ledgers', ...SAMPLES.map((sample) => sample.path), 'intents']) {
      const { data } = (await client.get(`/${path}?page.limit=100`, headers)).body;
      for (const {
        data: { handle },
      } of data.slice(0, 2)) {
        await ask(`/${path}/${segment(handle)}`);
        await ask(`/${path}/${segment(handle)}/changes`);
      }
      if (path !== 'wallets') continue;
      for (const {
        data: { handle },
      } of data)
        await ask(`/wallets/${segment(handle)}/balances`);
    }
  }
  return answers;
}

// ---------------------------------------------------------------- opening one

function stateOf(books: string): Omit<Expected, 'semver' | 'answers'> {
  const isServers = verifyBy(keyIn(books).public);
  const { state, end } = readBooks({ disk: realDisk, directory: books, verify: isServers, hashSeed: 1 });
  const names = new Map<number, string>(Object.entries(EntryType).map(([name, type]) => [type, name]));
  const entries: Record<string, number> = {};
  readJournal(realDisk, books, JOURNAL_START, {
    verifyFrame: isServers,
    onEntry({ type }) {
      const name = names.get(type)!;
      entries[name] = (entries[name] ?? 0) + 1;
    },
  });
  const digests = Object.fromEntries([...stateDigests(state)].map(([thing, digest]) => [thing, hex(digest)]));
  return { seq: end.seq, chain: hex(end.chain), entries, digests };
}

/** A copy that a server may be started on: version control keeps no rights. */
function copyBooks(golden: string): string {
  const copy = makeDirectory();
  cpSync(join(golden, 'books'), copy, { recursive: true });
  chmodSync(join(copy, 'server.key'), 0o600);
  return copy;
}

/** Opens a golden directory with the build at hand, goes on with it, and says everything that is not as expected. */
export async function faultsOf(golden: string): Promise<string[]> {
  const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Expected;
  const imprint = imprintOf(golden);
  const books = copyBooks(golden);
  try {
    const faults = [...stateFaults(books, expected)];
    // By the journal alone it is the same.
    const alone = copyBooks(golden);
    for (const name of filesIn(alone, /^(snapshot|part)-/)) rmSync(join(alone, name));
    faults.push(...stateFaults(alone, expected).map((fault) => `without its snapshots, ${fault}`));
    rmSync(alone, { recursive: true });
    const report = await audit({ disk: realDisk, directory: books, key: null, workers: 0, otherRules: true });
    if (report.finding !== null) faults.push(`the audit finds ${report.finding.file}: ${report.finding.what}`);
    faults.push(...(await servedFaults(books, expected)));
    if (imprintOf(golden) !== imprint) faults.push('the golden directory itself was written to');
    return faults;
  } finally {
    rmSync(books, { recursive: true, force: true });
  }
}

function stateFaults(books: string, expected: Expected): string[] {
  const { digests, ...found } = stateOf(books);
  const { semver: _, answers: __, digests: stated, ...rest } = expected;
  const faults = JSON.stringify(found) === JSON.stringify(rest) ? [] : [`it holds ${JSON.stringify(found)}`];
  for (const [thing, digest] of Object.entries(stated)) {
    if (digests[thing] !== digest) faults.push(`its state differs in ${thing}`);
  }
  return faults;
}

async function servedFaults(books: string, expected: Expected): Promise<string[]> {
  const faults: string[] = [];
  const first = await startServer({ directory: books });
  const client = connect(first);
  for (const { ledger, path, body } of expected.answers) {
    const now = (await client.get(path, { 'x-ledger': ledger })).body;
    const place = differenceBetween(body, now, '');
    if (place !== null) faults.push(`${path} in ${ledger} differs at ${place}`);
  }
  const kit = makeKit(client, makeKeys());
  const symbol = await kit.symbol({ handle: 'written-later' });
  const wallet = await kit.wallet({ handle: 'written-later' });
  await kit.done([issue(wallet, symbol, 5)], { data: { handle: 'written-later' } });
  await changeOld(client);
  first.process.kill('SIGUSR2');
  const before = filesIn(books, /^snapshot-.*ays$/).length;
  await until(() => filesIn(books, /^snapshot-.*ays$/).length !== before);
  await first.kill();
  const second = await startServer({ directory: books });
  const again = makeKit(connect(second), makeKeys());
  if ((await again.balance(wallet, symbol)) !== 5) faults.push('what was written later is not there');
  const { path, ledger, body } = expected.answers[0]!;
  const place = differenceBetween(body, (await connect(second).get(path, { 'x-ledger': ledger })).body, '');
  if (place !== null) faults.push(`after that ${path} in ${ledger} differs at ${place}`);
  await second.stop();
  const report = await audit({ disk: realDisk, directory: books, key: null, workers: 0, otherRules: true });
  if (report.finding !== null) faults.push(`gone on with, the audit finds ${report.finding.what}`);
  return [...faults, ...storyFaults(books, expected)];
}

/** Gives a record of the golden directory another version, so that its story was written by two builds. */
async function changeOld(client: Client): Promise<void> {
  const old = (await client.get('/wallets/watched')).body;
  const reply = await makeKit(client, keys).change('wallets', old, { ...old.data, custom: { changed: 'later' } });
  if (reply.status !== 200) throw new Error(reply.text);
}

/** Records that were there and stayed, changed later, and came later: another program proves the story of each. */
function storyFaults(books: string, expected: Expected): string[] {
  if (!hasPython) return [];
  const names: [kind: Kind, id: string, ledger: string][] = [
    [Kind.wallet, 'golden', 'labelled'],
    [Kind.wallet, 'watched', 'main'],
    [Kind.intent, 'through-bank', 'main'],
    [Kind.intent, 'passed-on', 'main'],
    [Kind.intent, 'written-later', 'main'],
  ];
  const others = expected.answers.flatMap(({ ledger, path }): typeof names => {
    const [, plural, id, more] = path.split('/');
    return plural === 'intents' && more === undefined ? [[Kind.intent, decodeURIComponent(id!), ledger]] : [];
  });
  // That other program takes its time for each.
  names.push(...everyOther(others, 4));
  const texts = names.map(([kind, id, ledger]) => storyText(books, { ledger, kind, id }));
  const results = checkStories(texts, encodeBase64(keyIn(books).public));
  return results.flatMap(({ said }, n) => (said.startsWith('Proven') ? [] : [`the story of ${names[n]![1]}: ${said}`]));
}

/** Where `now` lacks something of `then`, or has it otherwise; members may have been added. */
function differenceBetween(then: Json, now: Json, at: string): string | null {
  if (typeof then !== 'object' || then === null) return then === now ? null : at;
  if (typeof now !== 'object' || now === null) return at;
  if (Array.isArray(then) && then.length !== now.length) return at;
  for (const [name, value] of Object.entries(then)) {
    const place = differenceBetween(value, now[name], `${at}.${name}`);
    if (place !== null) return place;
  }
  return null;
}

function imprintOf(directory: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(name);
    if (/\.(ay[jsp]|json|key)$/.test(name)) hash.update(readFileSync(join(directory, name)));
  }
  return hash.digest('hex');
}
