/** `ayni send` to books without what the file of answers tells of: that is said, and nothing is taken for done. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { connect, type Json } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, until } from '../support/kit.ts';
import { answering, serverOfTest } from '../support/of-test.ts';
import { SLOW } from '../support/slow.ts';
import { ayniProcess, makeKeyFile, type Ran } from './books.ts';
import { answersFile, answersIn, doorTo, enoughAnswers, linesOf, send, startSend } from './senders.ts';

/** Symbol usd and wallet ana, as payments of these tests need them. */
async function beginBooks(url: string, file: string): Promise<void> {
  for (const [path, data] of [
    ['symbols', { handle: 'usd', factor: 100 }],
    ['wallets', { handle: 'ana' }],
  ] as const) {
    const ran = await send(linesOf([data]), `${url}/${path}`, '--key', file, '--answers', answersFile());
    expect(ran).toMatchObject({ code: 0 });
  }
}

const payment = (handle: string): Json => ({ handle, claims: [issue('ana', 'usd', 1)] });

test.each([
  ['new ones', 7],
  ['an older copy', 3],
] as const)(
  'books without what the file of answers tells of, %s: that is said, and nothing taken for done',
  SLOW,
  async (which, taken) => {
    const { file } = await makeKeyFile();
    const { url, leadTo } = await doorTo();
    const begin = async (): Promise<string> => {
      const directory = freshDirectory();
      leadTo(await serverOfTest({ directory }));
      await beginBooks(url, file);
      return directory;
    };
    const pay = (count: number, answers: string): Promise<Ran> => {
      const handles = [...Array.from({ length: count }, (_, at) => `P-${at}`), 'of-last-month'];
      return send(linesOf(handles.map(payment)), `${url}/intents`, '--key', file, '--answers', answers, '--width', '1');
    };
    const answers = answersFile();
    const directory = await begin();
    // Another file tells of it: this one will note it last, though all others are younger.
    expect(await pay(0, answersFile())).toMatchObject({ code: 0 });
    await sleep(1000);
    expect(await pay(3, answersFile())).toMatchObject({ code: 0 });
    const copy = join(freshDirectory(), 'copy');
    expect(await ayniProcess('backup', directory, copy)).toMatchObject({ code: 0 });
    await sleep(1000);
    expect(await pay(5, answers)).toMatchObject({ code: 0 });
    const before = answersIn(answers);
    expect(before.at(-1)).toMatchObject({ handle: 'of-last-month', outcome: 'there' });
    if (which === 'new ones') await begin();
    else leadTo(await serverOfTest({ directory: copy, flags: ['--server-key', join(directory, 'server.key')] }));
    const { code, err } = await pay(6, answers);
    expect(err).toMatch(/tells of P-[34], which the ledger does not have/);
    expect([code, answersIn(answers)]).toEqual([2, before]);
    const again = await pay(6, answersFile());
    expect(again.out).toContain(`${taken} taken, ${7 - taken} there already`);
  },
);

test.each(['while lines are on their way', 'while none is', 'after the last'] as const)(
  'a server that goes on from an older copy under a run, %s, ends it and each run after it',
  SLOW,
  async (when) => {
    const { file } = await makeKeyFile();
    const { url, leadTo } = await doorTo();
    const directory = freshDirectory();
    const first = await serverOfTest({ directory });
    leadTo(first);
    await beginBooks(url, file);
    const payments = Array.from({ length: 60 }, (_, at) => payment(`P-${at}`));
    const answers = answersFile();
    const flags = ['--key', file, '--patience', '600'];
    const { child, ran } = startSend(`${url}/intents`, ...flags, '--answers', answers);
    child.stdin!.write(linesOf(payments.slice(0, 20)));
    await until(enoughAnswers(answers, 20));
    const copy = join(freshDirectory(), 'copy');
    expect(await ayniProcess('backup', directory, copy, '--with-key')).toMatchObject({ code: 0 });
    child.stdin!.write(linesOf(payments.slice(20, 40)));
    await until(enoughAnswers(answers, 40));
    await first.kill();
    if (when === 'while lines are on their way') child.stdin!.write(linesOf(payments.slice(40, 50)));
    const second = await serverOfTest({ directory: copy });
    leadTo(second);
    child.stdin!.end(linesOf(when === 'after the last' ? [] : payments.slice(when === 'while none is' ? 40 : 50)));
    const older = /tells of P-[23]\d, which the ledger does not have as completed: its books are older ones/;
    expect(await ran).toEqual({ code: 2, out: '', err: expect.stringMatching(older) });
    // What the copy took is not noted.
    expect(answersIn(answers).length).toBe(40);
    const again = await send(linesOf(payments), `${url}/intents`, ...flags, '--answers', answers);
    expect(again).toEqual({ code: 2, out: '', err: expect.stringMatching(older) });
    expect((await send(linesOf(payments), `${url}/intents`, ...flags, '--answers', answersFile())).code).toBe(0);
    const balances = await connect(second).get('/wallets/ana/balances');
    expect(balances.body.data[0].data.amount).toBe(60);
  },
);

/** A ledger that has all intents as completed but one, of which it says something else. */
async function ledgerOf(luid: string, status: number, said: string): Promise<string> {
  const url = await answering((request, response) => {
    const asked = decodeURIComponent(request.url!.split('/').at(-1)!);
    const meta = { proofs: [], status: asked === luid ? said : 'completed' };
    response.writeHead(asked === luid ? status : 200).end(JSON.stringify({ luid: asked, data: {}, meta }));
  });
  return `${url}/v2/intents`;
}

test.each([
  ['taken, 511 lines before the last', 404, 'taken', 511],
  ['taken, and not completed in these books', 200, 'taken', 511],
  ['there, and made last', 404, 'there', 2000],
] as const)('the youngest is asked for, wherever it is noted: %s', async (_, status, outcome, behind) => {
  const { file } = await makeKeyFile();
  const luidOf = (second: string, at: number): string => `$int.0f1lP${second}${String(at).padStart(11, '0')}`;
  const youngest = 3000 - behind - 1;
  const luid = luidOf(outcome === 'there' ? '9' : '1', youngest);
  const url = await ledgerOf(luid, status, 'prepared');
  const noted = Array.from({ length: 3000 }, (_, at) => ({
    line: at + 1,
    handle: `P-${at}`,
    hash: `${at}`,
    luid: at === youngest ? luid : luidOf('1', at),
    outcome,
    status: 'completed',
  }));
  const answers = answersFile();
  writeFileSync(answers, linesOf([{ url, ledger: 'main' }, ...noted]));
  const ran = await send(linesOf([payment('P-new')]), url, '--key', file, '--answers', answers);
  expect([ran.code, ran.out]).toEqual([2, '']);
  expect(ran.err).toContain(`tells of P-${youngest}, which the ledger does not have as completed`);
});

test('what was noted before the last is asked for in the end, too: a server that changed unseen was believed with one line', async () => {
  const { file } = await makeKeyFile();
  let made = 0;
  const url = await answering((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.once('end', () => {
      const meta = { proofs: [], status: 'completed' };
      if (request.method === 'POST') {
        const luid = `$int.0f1lP1${String(made++).padStart(11, '0')}`;
        response.writeHead(201).end(JSON.stringify({ ...JSON.parse(Buffer.concat(parts).toString()), luid, meta }));
        return;
      }
      const luid = decodeURIComponent(request.url!.split('/').at(-1)!);
      // Whoever took the first two is gone once there are ten.
      const isGone = made >= 10 && Number(luid.slice(-3)) < 2;
      response.writeHead(isGone ? 404 : 200).end(JSON.stringify({ luid, data: {}, meta }));
    });
  });
  const flags = ['--key', file, '--width', '1', '--answers', answersFile()];
  const ran = await send(
    linesOf(Array.from({ length: 10 }, (_, n) => payment(`P-${n}`))),
    `${url}/v2/intents`,
    ...flags,
  );
  expect([ran.code, ran.out]).toEqual([2, '']);
  expect(ran.err).toMatch(/tells of P-[01], which the ledger does not have as completed/);
});
