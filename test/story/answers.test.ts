/**
 * What a server answers, checked as the page in a browser checks it: all of it is signed, none of it is called proven, and
 * nothing that is signed can be changed.
 */
import { describe, expect, test } from 'vitest';
import { checkText } from '../../src/story/check.ts';
import { type Json, makeKeys } from '../support/client.ts';
import { issue, proofFor, segment, transfer } from '../support/kit.ts';
import { againWith, oneOfEach } from '../support/long.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const { client, kit, server } = await serverOfFile(keys);
const check = (text: string) => checkText(text, server.publicKey);

await kit.symbol({ handle: 'usd' });
await kit.wallet({ handle: 'ana', custom: { text: '<img src=x onerror=alert(1)> ñ ☀', n: 1.5e-7 } });
await kit.wallet({ handle: 'luz' });
await kit.done([issue('ana', 'usd', 500)]);
await kit.done([transfer('ana', 'luz', 'usd', 20)], { data: { handle: 'good' } });
await kit.refused([transfer('luz', 'ana', 'usd', 90_000)], { data: { handle: 'bad' } });
const anchor = await kit.make('anchors', { handle: 'moved', wallet: 'ana', target: 'luz', custom: { n: 0 } });
const { parent: _, ...data } = anchor.data;
const changed = (await kit.change('anchors', anchor, { ...data, custom: { n: 1 } })).body;
const given = { moment: new Date().toISOString(), status: 'connected' };
await client.post('/anchors/moved/proofs', proofFor(changed, makeKeys(), given));

const PATHS: [path: string, title: RegExp][] = [
  ['/wallets/ana', /^wallet ana$/],
  ['/intents/good', /^intent good$/],
  ['/intents/bad', /^intent bad$/],
  ['/anchors/moved', /^anchor moved$/],
  ['/signers/system', /^signer system$/],
  ['/ledger', /^ledger /],
  ['/head', /^a head/],
  ['/wallets?page.limit=2', /^a list of 2$/],
  ['/intents', /^a list of 3$/],
  ['/wallets/ana/balances', /^a list of /],
  ['/wallets/ana/anchors', /^a list of 1$/],
  ['/anchors/moved/changes', /^a list of /],
  ['/anchors/moved/changes/1', /^anchor moved$/],
  ['/events?after=0', /^a list of /],
  ['/wallets/nobody', /^a refusal$/],
  [`/wallets/${segment('not an address')}`, /^a refusal$/],
  ['', /^an answer$/],
];

const texts = new Map<string, string>();
for (const [path] of PATHS) texts.set(path, (await client.get(path)).text);

describe('what a server answers', () => {
  test.each(PATHS)('%s is signed', (path, title) => {
    const { verdict, said, parts } = check(texts.get(path)!);
    expect([verdict, said]).toEqual(['signed', expect.stringMatching(/^Proven is /)]);
    expect(parts[0]!.title).toMatch(title);
  });

  test('of a record all statuses are shown, with who signed them', () => {
    const { parts } = check(texts.get('/intents/bad')!);
    expect(parts[0]!.proofs.map(({ by, status }) => [by.slice(0, 7), status])).toEqual([
      ['the key', 'created'],
      ...['pending', 'failed', 'aborted', 'rejected'].map((status) => ['the ser', status]),
    ]);
    const [luid, status] = ['luid', 'status'].map((name) => parts[0]!.facts.find((fact) => fact.name === name)!);
    expect([luid!.by, status!.by.slice(0, 20)]).toEqual(['signed by the server', 'signed by the server']);
  });

  test('a status by another key is not told as the word of the server', () => {
    const { facts } = check(texts.get('/anchors/moved')!).parts[0]!;
    const status = facts.find(({ name }) => name === 'status')!;
    expect([status.value, status.by]).toEqual([
      'connected',
      expect.stringMatching(/^signed by the key .*nobody has signed$/),
    ]);
  });

  test('records in a list, and in an event, are shown with their own proofs', () => {
    const list = check(texts.get('/wallets?page.limit=2')!);
    expect(list.parts.map(({ title }) => title)).toEqual(['a list of 2', 'in it: wallet luz', 'in it: wallet ana']);
    expect(list.parts[1]!.proofs).toHaveLength(2);
    const events = JSON.parse(texts.get('/events?after=0')!).data as Json[];
    for (const event of events) {
      const { verdict, parts } = check(JSON.stringify(event));
      expect([verdict, parts[0]!.title]).toEqual(['signed', `event ${event.data.signal}`]);
    }
    expect(events.length).toBeGreaterThan(5);
  });

  test('nothing that is signed can be changed', () => {
    const leaves = PATHS.flatMap(([path]) => {
      const whole = JSON.parse(texts.get(path)!);
      return leavesOf(whole).map((place) => ({ path, place }));
    });
    // Beside what is signed stands what is shown as nobody's word.
    const isSigned = ({ place: [first, second] }: { place: string[] }) =>
      first === 'data' || first === 'hash' || (first === 'meta' && second === 'proofs');
    const signed = leaves.filter(isSigned);
    const some = oneOfEach(signed, ({ path, place }) => path + place.join('.').replace(/\b\d+\b/g, 'n'));
    expect(some.length).toBeGreaterThan(100);
    const missed = some.filter(({ path, place }) => check(changedAt(texts.get(path)!, place)).verdict !== 'wrong');
    expect(missed, againWith()).toEqual([]);
  });

  test('what is not signed is shown as the word of nobody, whatever it is', () => {
    const whole = JSON.parse(texts.get('/wallets/ana')!);
    const text = JSON.stringify({ ...whole, approved: true, meta: { ...whole.meta, labels: ['vip'], status: 'rich' } });
    const { facts } = check(text).parts[0]!;
    const byNobody = facts.filter(({ by }) => by.startsWith('nobody')).map(({ name }) => name);
    expect(byNobody.sort()).toEqual(['approved', 'labels', 'owners', 'status']);
  });
});

function leavesOf(value: Json, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]));
}

function changedAt(text: string, place: string[]): string {
  const whole = JSON.parse(text);
  const last = place.at(-1)!;
  const holder = place.slice(0, -1).reduce((value, name) => value[name], whole);
  const was = holder[last];
  if (typeof was === 'number') holder[last] = was + 1;
  else if (typeof was === 'boolean') holder[last] = !was;
  else if (typeof was !== 'string' || was === '') holder[last] = 'x';
  else
    holder[last] =
      was.slice(0, was.length >> 1) + (was[was.length >> 1] === '1' ? '2' : '1') + was.slice((was.length >> 1) + 1);
  return JSON.stringify(whole);
}
