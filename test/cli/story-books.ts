/** Books with a record of every sort of past, whose stories are told. */
import { cpSync } from 'node:fs';
import { expect } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { type Client, connect, type Json, makeKeys, record } from '../support/client.ts';
import { makeDirectory } from '../support/directory.ts';
import { issue, type Kit, makeKit, openLedger, proofFor, segment, transfer } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { checkStories, storyText } from '../support/stories.ts';

/** What the server told when the books were made. */
interface Told {
  /** What it answered for each record, by kind and handle. */
  answers: Map<string, Json>;
  /** Handles of wallets that were made at once, and the story of one that shares a frame with others. */
  crowd: string[];
  shared: string;
  droppedLuid: string;
  /** Of one that was changed before it was dropped. */
  changedLuid: string;
  /** The intent that a route made. */
  routedLuid: string;
}

let made: ReturnType<typeof make> | null = null;

/** They are made once in a process, and go when the suite ends; whoever looks at them changes nothing. */
export const storyBooks = (): ReturnType<typeof make> => {
  made ??= make();
  return made;
};

async function make() {
  const [whole, pruned] = [makeDirectory(), makeDirectory()];
  const server = await startServer({ directory: whole });
  const key = server.publicKey;
  const client = connect(server);
  const told = await fill(client, whole);
  await server.stop();
  cpSync(whole, pruned, { recursive: true });
  const again = await startServer({
    directory: pruned,
    flags: ['--snapshot-every', '10', '--segment-bytes-max', '4096', '--body-depth-max', '512'],
  });
  const kit = makeKit(connect(again), makeKeys());
  const symbol = await kit.symbol({ handle: 'late-symbol' });
  let lateIntent = '';
  for (let n = 0; n < 30; n++) lateIntent = (await kit.done([issue('ana', symbol, 1)])).data.handle;
  let custom = {};
  for (let level = 0; level < 505; level++) custom = { a: custom };
  await kit.make('wallets', { handle: 'deep', custom });
  await again.stop();
  const story = (kinds: string, id: string, directory = whole, ledger = 'main') =>
    storyText(directory, { ledger, kind: kindOf(kinds), id });
  const check = (texts: string[], by = key) => checkStories(texts, by);
  return { ...told, whole, pruned, key, lateIntent, story, check };
}

const kindOf = (kinds: string) => Kind[kinds.slice(0, -1) as keyof typeof Kind];

/** A record of every sort of past. */
async function fill(client: Client, directory: string): Promise<Told> {
  const answers = new Map<string, Json>();
  const keys = makeKeys();
  const kit = makeKit(client, keys);
  const custom = {
    text: 'ñandú ☀ \u2028 "\\\t',
    numbers: [1.5, 1e21, 1e-7, 123456.75, -0.000001, 5e-324, 1e20],
    deep: [{}],
  };
  await kit.symbol({ handle: 'usd' });
  await kit.wallet({ handle: 'ana', custom });
  await kit.wallet({ handle: 'luz' });
  const { crowd, shared } = await makeCrowd(kit, directory);
  await kit.done([issue('ana', 'usd', 500)]);
  await kit.done([transfer('ana', 'luz', 'usd', 20)], { data: { handle: 'good' } });
  await kit.refused([transfer('luz', 'ana', 'usd', 90_000)], { data: { handle: 'bad' } });
  await kit.send([transfer('ana', 'luz', 'usd', 7)], { data: { handle: 'aborted', config: { commit: 'manual' } } });
  const waiting = (await client.get('/intents/aborted')).body;
  await client.post(
    '/intents/aborted/proofs',
    proofFor(waiting, keys, { action: 'abort', moment: new Date().toISOString() }),
  );
  await kit.wallet({ handle: 'post-box', routes: [{ action: 'forward', target: 'luz' }] });
  const { meta } = await kit.done([issue('post-box', 'usd', 3)], { data: { handle: 'passed-on' } });
  const { data: thread } = (await client.get(`/intents?meta.thread=${meta.thread}`)).body;
  const routedLuid: string = thread.find(({ data }: Json) => data.handle !== 'passed-on').luid;
  let anchor = await kit.make('anchors', { handle: 'moved', wallet: 'ana', target: 'luz', custom: { n: 0 } });
  for (let n = 1; n < 4; n++) {
    const { parent: _, ...data } = anchor.data;
    anchor = (await kit.change('anchors', anchor, { ...data, custom: { n } })).body;
    const given = { moment: new Date().toISOString(), status: 'connected', step: n };
    await client.post('/anchors/moved/proofs', proofFor(anchor, keys, given));
  }
  const loud = await kit.make('anchors', { handle: 'loud', wallet: 'ana', target: 'luz' });
  const louder = record({ ...loud.data, custom: { n: 1 }, parent: loud.hash.toUpperCase() }, keys);
  expect((await client.put('/anchors/loud', louder)).status).toBe(200);
  await kit.make('effects', {
    handle: 'listens',
    signal: 'wallet-limited',
    action: { schema: 'webhook', endpoint: 'http://127.0.0.1:9/' },
  });
  const two = record({ handle: 'signed-twice' }, [keys, makeKeys()], [{ n: 1 }, { n: 2 }]);
  expect((await client.post('/wallets', two)).status).toBe(201);
  const loose = await kit.make('wallets', { handle: 'gone' });
  const droppedLuid: string = loose.luid;
  const brief = await kit.make('anchors', { handle: 'brief', wallet: 'ana', target: 'luz', custom: { n: 0 } });
  const { parent: _, ...first } = brief.data;
  const changed = (await kit.change('anchors', brief, { ...first, custom: { n: 1 } })).body;
  const changedLuid: string = changed.luid;
  expect((await client.del('/anchors/brief', kit.dropBody(changed))).status).toBe(204);
  await client.del('/wallets/gone', kit.dropBody(loose));
  const elsewhere = { 'x-ledger': (await openLedger(client, keys, { handle: 'elsewhere' })).data.handle as string };
  await client.post('/wallets', record({ handle: 'ana', custom: { secret: 'of another tenant' } }, keys), elsewhere);
  // What is rejected here is done there: the same content, so the same hash.
  await client.post('/symbols', record({ handle: 'usd', factor: 100 }, keys), elsewhere);
  await client.post('/wallets', record({ handle: 'luz' }, keys), elsewhere);
  const rich = { handle: 'rich', claims: [issue('luz', 'usd', 100_000)] };
  await client.post('/intents', record(rich, keys), elsewhere);
  const { data } = (await client.get('/intents/bad')).body;
  await client.post('/intents', record(data, keys), elsewhere);
  const moody = await kit.make('wallets', { handle: 'moody' });
  for (const status of ['verified', 'Not a status', 'suspended']) {
    const given = { moment: new Date().toISOString(), status };
    expect((await client.post('/wallets/moody/proofs', proofFor(moody, keys, given))).status).toBe(200);
  }
  // The same content there, of which somebody says what nobody says of this one.
  const namesake = (await client.post('/wallets', record(moody.data, keys), elsewhere)).body;
  const praise = { moment: new Date().toISOString(), status: 'approved' };
  await client.post('/wallets/moody/proofs', proofFor(namesake, keys, praise), elsewhere);
  await kit.make('policies', { handle: 'labels', schema: 'labels', record: 'wallet', values: ['vip', 'known'] });
  for (const [handle, ...said] of [
    ['labelled', ['vip', 'known'], ['-vip']],
    ['bare', ['vip'], ['-vip']],
  ] as [string, ...string[][]][]) {
    const wallet = await kit.make('wallets', { handle });
    for (const labels of said) {
      const given = { moment: new Date().toISOString(), labels };
      expect((await client.post(`/wallets/${handle}/proofs`, proofFor(wallet, keys, given))).status).toBe(200);
    }
  }
  for (const [kinds, handle] of RECORDS) {
    answers.set(`${kinds} ${handle}`, (await client.get(`/${kinds}/${segment(handle)}`)).body);
  }
  return { answers, crowd, shared, droppedLuid, changedLuid, routedLuid };
}

/**
 * Wallets made at once, and more of them until one shares a frame with others: on a busy machine each may come alone. `shared`
 * is the story of that one.
 */
async function makeCrowd(kit: Kit, directory: string): Promise<{ crowd: string[]; shared: string }> {
  const crowd: string[] = [];
  const isShared = (text: string) => JSON.parse(text).chain.frames.some((frame: Json) => frame.entries?.length > 1);
  for (;;) {
    const more = Array.from({ length: 40 }, (_, n) => `neighbour${String(crowd.length + n).padStart(4, '0')}`);
    crowd.push(...more);
    await Promise.all(more.map((handle) => kit.wallet({ handle })));
    for (const id of more) {
      const shared = storyText(directory, { ledger: 'main', kind: Kind.wallet, id });
      if (isShared(shared)) return { crowd, shared };
    }
  }
}

export const RECORDS: [kinds: string, handle: string][] = [
  ['wallets', 'ana'],
  ['wallets', 'luz'],
  ['wallets', 'signed-twice'],
  ['wallets', 'moody'],
  ['wallets', 'labelled'],
  ['wallets', 'bare'],
  ['symbols', 'usd'],
  ['intents', 'good'],
  ['intents', 'bad'],
  ['intents', 'aborted'],
  ['intents', 'passed-on'],
  ['anchors', 'moved'],
  ['anchors', 'loud'],
  ['effects', 'listens'],
  ['signers', 'system'],
  ['ledgers', 'main'],
];
