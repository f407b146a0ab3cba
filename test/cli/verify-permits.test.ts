/**
 * The audit of what rests on permissions that stand in no entry, of tokens and of rules of the server's own: taken for given,
 * counted, and no excuse for anything else.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { bearer, connect, type Json, type Keys, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, limit, openLedger, proofFor, transfer } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { framesOf, look, plainBooks, rewritten } from './books.ts';
import { type Frames, pick, pickTransfer } from './lies.ts';

const plain = await plainBooks();

const waits = (entry: Entry) => entry.type === EntryType.intent && entry.outcome.steps.length === 0;
const named = (frames: Frames, handle: string) => pick<IntentEntry>(frames, (entry) => entry.handle === handle);

describe('permissions that stand in no entry', () => {
  const [owner, clerk] = [makeKeys(), makeKeys()];
  const directory = freshDirectory();
  const statuses: string[] = [];

  beforeAll(async () => {
    const server = await startServer({ directory });
    const client = connect(server);
    const byToken = (keys: Keys) => ({ bearer: { $signer: { public: keys.public } } });
    const ledger = await openLedger(client, owner, {
      access: [
        { action: 'any', record: 'any', ...byToken(owner) },
        { action: { $in: ['access', 'create'] }, record: 'intent', ...byToken(clerk) },
        { action: { $in: ['access', 'create'] }, record: 'intent-proof', ...byToken(clerk) },
      ],
    });
    const handle: string = ledger.data.handle;
    const headers = (keys: Keys) => ({ 'x-ledger': handle, ...bearer(keys, handle) });
    const post = async (path: string, body: Json, keys: Keys) => {
      const reply = await client.post(path, body, headers(keys));
      if (reply.status >= 300) throw new Error(reply.text);
      return reply.body;
    };
    await post('/symbols', record({ handle: 'inti', factor: 1 }, owner), owner);
    for (const wallet of ['a', 'b']) await post('/wallets', record({ handle: wallet }, owner), owner);
    await post('/intents', record({ handle: 'i-0', claims: [issue('a', 'inti', 50)] }, owner), owner);
    const sent = record({ handle: 'i-1', claims: [transfer('a', 'b', 'inti', 5)] }, clerk);
    const waits = await post('/intents', sent, clerk);
    const moment = new Date().toISOString();
    for (const keys of [clerk, owner]) {
      await post('/intents/i-1/proofs', proofFor(waits, keys, { moment, note: keys.public }), keys);
      statuses.push((await client.get('/intents/i-1', headers(owner))).body.meta.status);
    }
    // Whoever may not spend is not told that there is too little, or that it is too much.
    const most = { handle: 'most', claims: [limit('a', 'inti', 'dailyAmount', 1)] };
    await post('/intents', record(most, owner), owner);
    for (const [intent, claim] of [
      ['i-2', transfer('b', 'a', 'inti', 500)],
      ['i-3', transfer('a', 'b', 'inti', 2)],
      // That a name leads nowhere, everybody is.
      ['i-4', transfer('a', 'nobody', 'inti', 2)],
    ] as const) {
      await post('/intents', record({ handle: intent, claims: [claim] }, clerk), clerk);
      statuses.push((await client.get(`/intents/${intent}`, headers(owner))).body.meta.status);
    }
    await server.stop();
  });

  test('are taken for given, counted, and told', async () => {
    expect(statuses).toEqual(['pending', 'completed', 'pending', 'pending', 'rejected']);
    const report = await look(directory);
    expect(report.finding).toBeNull();
    expect(report.counts.permitted).toBeGreaterThan(5);
    expect(report.notes.join()).toContain(`${report.counts.permitted} decisions rest on permissions`);
    const entries = framesOf(directory).flatMap((frame) => frame.entries);
    const { luid } = entries.find(({ handle }) => handle === 'inti')!;
    const seq = entries.findIndex((entry) => entry.luid === luid) + 1;
    expect(report.notes.join()).toContain(`the first is entry ${seq}, ${luid}.`);
  });

  test('are taken for given where they let a proof count that anybody may add', async () => {
    const own = freshDirectory();
    const server = await startServer({ directory: own });
    const client = connect(server);
    const byToken = { bearer: { $signer: { public: clerk.public } } };
    const ledger = await openLedger(client, owner, {
      access: [
        { action: { $in: ['access', 'create', 'issue'] }, record: 'any', signer: {} },
        { action: { $in: ['commit', 'abort'] }, record: 'intent', ...byToken },
      ],
    });
    const handle: string = ledger.data.handle;
    const token = bearer(clerk, handle);
    const post = async (path: string, body: Json, headers = {}) => {
      const reply = await client.post(path, body, { 'x-ledger': handle, ...headers });
      if (reply.status >= 300) throw new Error(reply.text);
      return reply.body;
    };
    await post('/symbols', record({ handle: 'inti', factor: 1 }, owner));
    await post('/wallets', record({ handle: 'a', access: [{ action: 'spend', ...byToken }] }, owner));
    await post('/wallets', record({ handle: 'b' }, owner));
    await post('/intents', record({ handle: 'seed', claims: [issue('a', 'inti', 50)] }, owner));
    const ends: string[] = [];
    for (const action of ['commit', 'abort']) {
      const data = { handle: action, claims: [transfer('a', 'b', 'inti', 5)], config: { commit: 'manual' } };
      const waits = await post('/intents', record(data, owner));
      for (const custom of [{ note: 'go on' }, { action }]) {
        const moment = new Date().toISOString();
        for (const headers of [{}, token]) {
          const proof = proofFor(waits, clerk, { moment, ...custom, by: Object.keys(headers).join() });
          ends.push((await post(`/intents/${action}/proofs`, proof, headers)).meta.status);
        }
      }
    }
    await server.stop();
    expect(ends).toEqual(
      ['commit', 'abort'].flatMap((action) => {
        return ['pending', 'prepared', 'prepared', action === 'commit' ? 'completed' : 'rejected'];
      }),
    );
    const report = await look(own);
    expect([report.finding, report.counts.permitted]).toEqual([null, 4]);
    // Told is what is wrong with an intent that waits, as it does by what its signer may do.
    const reasoned = await rewritten(
      own,
      (frames) => void Object.assign(named(frames, 'commit').outcome, { reason: 'core.other' }),
    );
    const what = 'outcome.reason would be "", not "core.other"';
    expect((await look(reasoned)).finding).toMatchObject({ kind: 'decided', what });
  });

  test.each<[string, (frames: Frames) => void, RegExp]>([
    [
      'a payment of less than was asked',
      (frames) => void pickTransfer(frames, EntryType.step).outcome.postings[2]!--,
      /^nothing is due$/,
    ],
    [
      'money that nobody issued',
      (frames) => void named(frames, 'i-0').outcome.postings[2]!++,
      /^outcome\.postings\.2 /,
    ],
    [
      'an intent that waits, with a reason',
      (frames) => void Object.assign(pick<IntentEntry>(frames, waits).outcome, { reason: 'core.other' }),
      /^outcome\./,
    ],
    [
      'an intent that waits although a name in it leads nowhere',
      (frames) => void Object.assign(named(frames, 'i-4').outcome, { steps: [], reason: '', detail: '' }),
      /^outcome\.steps would be \["failed","aborted","rejected"\], not \[\]$/,
    ],
  ])('excuse no lie: %s', async (_, lie, what) => {
    const { finding } = await look(await rewritten(directory, lie));
    expect(finding).toMatchObject({ kind: 'decided', what: expect.stringMatching(what) });
  });

  test('do not excuse an intent that everybody could have made and that is kept waiting', async () => {
    let luid = '';
    const kept = await rewritten(plain, (frames) => {
      const entry = pickTransfer(frames);
      Object.assign(entry.outcome, { steps: [], postings: [] });
      ({ luid } = entry);
    });
    expect((await look(kept)).finding).toMatchObject({ kind: 'decided', luid });
  });
});
