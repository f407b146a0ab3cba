/**
 * What wallets had at a moment, and what changed it: held to what the server answered at that moment, whatever has become
 * of names, of factors and of the journal's first segments since.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { csvLine } from '../../src/cli/past/form.ts';
import { NEVER, readMoment } from '../../src/cli/past/moment.ts';
import { Statement } from '../../src/cli/past/statement.ts';
import { trialAt } from '../../src/cli/past/trial.ts';
import { decimalText } from '../../src/cli/past/unit.ts';
import { EntryType } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { WAYMARK_STEPS } from '../../src/core/long-versions.ts';
import { nameAt } from '../../src/core/past.ts';
import { readRow } from '../../src/core/records.ts';
import { Books, issue as issued } from '../core/books.ts';
import { type Client, connect, type Json, makeKeys } from '../support/client.ts';
import { Dice } from '../support/dice.ts';
import { freshDirectory } from '../support/directory.ts';
import { destroy, issue, type Kit, limit, makeKit, pause, proofFor, segment, transfer } from '../support/kit.ts';
import { againWith, often, SHARE } from '../support/long.ts';
import { startServer } from '../support/server.ts';
import { ayni, copyWithoutKey, filesIn, plainBooks, prunedBooks, resnapped, rewritten } from './books.ts';

/** A moment at which nothing was on its way, and what the server then said that wallets have. */
interface Look {
  at: string;
  /** By wallet's luid and symbol. */
  has: Map<string, { available: number; reserved: number }>;
}

/** What comes after it has a later moment. */
async function look(client: Client): Promise<Look> {
  const head = (await client.get('/head')).body;
  const at = Date.parse(head.data.moment) + 1;
  while (Date.now() < at) await pause(1);
  const has: Look['has'] = new Map();
  const wallets = (await client.get('/wallets?page.limit=100')).body.data as Json[];
  for (const { luid, data } of wallets) {
    const { body } = await client.get(`/wallets/${segment(data.handle)}/balances?page.limit=100`);
    for (const { data: row } of body.data as Json[]) {
      const key = `${luid} ${row.symbol}`;
      const known = has.get(key) ?? { available: 0, reserved: 0 };
      if (row.amount !== 0) has.set(key, { ...known, [row.schema]: row.amount });
    }
  }
  return { at: new Date(at).toISOString(), has };
}

/** The same by the command; what is zero is left out, as above. */
async function balancesAt(directory: string, flags: string[]): Promise<Look['has']> {
  const { code, out, err } = await ayni('balances', directory, ...flags, '--json');
  expect([code, err], out).toEqual([0, '']);
  const has: Look['has'] = new Map();
  for (const { luid, symbol, available, reserved } of JSON.parse(out).balances as Json[]) {
    const balance = { available: Number(available), reserved: Number(reserved) };
    if (balance.available !== 0 || balance.reserved !== 0) has.set(`${luid} ${symbol}`, balance);
  }
  return has;
}

async function statementOf(directory: string, wallet: string, ...flags: string[]): Promise<Json> {
  const { code, out, err } = await ayni('statement', directory, wallet, ...flags, '--json');
  expect([code, err], out).toEqual([0, '']);
  return JSON.parse(out);
}

const SYMBOLS = ['usd', 'eur'];

/** Does whatever comes to mind in a ledger, and looks now and then. */
class Life {
  readonly looks: Look[] = [];
  /** Luids of all wallets there ever were. */
  readonly luids: string[] = [];
  readonly #dice: Dice;
  readonly #client: Client;
  readonly #kit: Kit;
  readonly #wallets: Json[] = [];
  /** Manual intents that wait for a word. */
  readonly #waiting: Json[] = [];
  #made = 0;

  constructor(dice: Dice, client: Client, kit: Kit) {
    this.#dice = dice;
    this.#client = client;
    this.#kit = kit;
  }

  async live(rounds: number): Promise<void> {
    for (const handle of SYMBOLS) await this.#kit.symbol({ handle });
    for (const handle of ['ana', 'luz', 'bank', 'svc@bank', 'svc']) await this.#open({ handle });
    await this.#open({ handle: 'passes-on', routes: [{ action: 'forward', target: 'luz' }] });
    await this.#open({ handle: 'stands-in', routes: [{ action: 'credit', target: 'luz' }] });
    await this.#open({ handle: 'paid-for', routes: [{ action: 'debit', target: 'ana' }] });
    for (const symbol of SYMBOLS) await this.#kit.done([issue('ana', symbol, 500), issue('luz', symbol, 300)]);
    for (let round = 0; round < rounds; round++) {
      await this.#dice.weigh<() => Promise<void>>([
        [() => this.#send({}), 12],
        [() => this.#send({ config: { commit: 'manual' } }), 4],
        [() => this.#answer(), 4],
        [() => this.#rename(), 1],
        [() => this.#replace(), 1],
      ])();
      if (this.#dice.chance(0.1)) this.looks.push(await look(this.#client));
    }
    this.looks.push(await look(this.#client));
  }

  async #open(data: Json): Promise<void> {
    const wallet = await this.#kit.make('wallets', data);
    this.#wallets.push(wallet);
    this.luids.push(wallet.luid);
  }

  /** A name that claims know a wallet by: some by longer ones than it has. */
  #name(): string {
    if (this.#dice.chance(0.2)) return this.#dice.pick(['x:1@bank', 'svc:2@bank', '3@bank', 'svc:4']);
    return this.#dice.pick(this.#wallets).data.handle;
  }

  async #send(more: Json): Promise<void> {
    const claims = Array.from({ length: 1 + this.#dice.few(4) }, () => {
      const [symbol, amount] = [this.#dice.pick(SYMBOLS), this.#dice.between(1, 60)];
      return this.#dice.weigh<() => Json>([
        [() => transfer(this.#name(), this.#name(), symbol, amount), 8],
        [() => issue(this.#name(), symbol, amount), 2],
        [() => destroy(this.#name(), symbol, amount), 1],
        [() => limit(this.#dice.pick(this.#wallets).data.handle, symbol, 'maxBalance', 10_000), 1],
      ])();
    });
    const { body, status, text } = await this.#kit.send(claims, { data: more });
    expect(status, text).toBe(201);
    if (more.config !== undefined) this.#waiting.push(body);
  }

  async #answer(): Promise<void> {
    const intent = this.#waiting.splice(this.#dice.below(this.#waiting.length || 1), 1)[0];
    if (intent === undefined) return;
    const custom = { action: this.#dice.pick(['commit', 'abort']), moment: new Date().toISOString() };
    await this.#client.post(`/intents/${segment(intent.luid)}/proofs`, proofFor(intent, this.#kit.keys, custom));
  }

  /** Who had the name before is found by its luid alone, or by nobody. */
  async #rename(): Promise<void> {
    const at = this.#dice.below(this.#wallets.length);
    const wallet = this.#wallets[at]!;
    const { parent: _, ...data } = wallet.data;
    const handle = this.#dice.pick([`other-${this.#made++}`, ...this.#free()]);
    const { status, body, text } = await this.#kit.change('wallets', wallet, { ...data, handle }, wallet.luid);
    expect(status, text).toBe(200);
    this.#wallets[at] = body;
  }

  /** One that has nothing goes, and another one has its name. */
  async #replace(): Promise<void> {
    const at = this.#dice.below(this.#wallets.length);
    const gone = this.#wallets[at]!;
    const { handle } = gone.data;
    const { status } = await this.#client.del(`/wallets/${segment(handle)}`, this.#kit.dropBody(gone));
    if (status !== 204) return;
    this.#wallets.splice(at, 1);
    await this.#open({ handle });
  }

  /** Names that wallets had in the beginning, and that nobody has now. */
  #free(): string[] {
    const taken = new Set(this.#wallets.map(({ data }) => data.handle));
    return ['ana', 'luz', 'bank', 'svc@bank', 'svc'].filter((handle) => !taken.has(handle));
  }
}

describe('a ledger in which anything happens', () => {
  const seeds = Array.from({ length: often(1, 12) }, (_, index) => SHARE + 1000 * index);
  test.each(seeds)(
    'had at each moment what its server said then, and statements lead from one to the next (%i)',
    async (seed) => {
      const dice = new Dice(seed);
      const directory = freshDirectory();
      const flags = ['--snapshot-every', '25', '--segment-bytes-max', '12000'];
      const server = await startServer({ directory, flags });
      const client = connect(server);
      const life = new Life(dice, client, makeKit(client, makeKeys()));
      const again = againWith();
      await life.live(often(60, 300));
      const { looks, luids } = life;
      // The server still runs.
      expect(await balancesAt(directory, []), again).toEqual(looks.at(-1)!.has);
      await server.stop();
      for (const { at, has } of looks) expect(await balancesAt(directory, ['--at', at]), `${again} ${at}`).toEqual(has);
      const all = await statementOf(directory, '--all');
      for (const luid of luids) {
        expect(partOf(all, luid), again).toEqual(await endsAndChanges(directory, luid));
        const first = dice.below(looks.length);
        const [from, to] = [looks[first]!, looks[dice.between(first, looks.length - 1)]!];
        await expectStatement(directory, luid, from, to, `${again} ${luid} ${from.at} ${to.at}`);
      }
      const range = ['--from', looks[0]!.at, '--to', looks.at(-1)!.at];
      const ranged = await statementOf(directory, '--all', ...range);
      for (const luid of luids) {
        expect(partOf(ranged, luid), again).toEqual(await endsAndChanges(directory, luid, ...range));
      }
    },
  );

  /** What the statement of all says of one wallet. */
  function partOf(all: Json, luid: string): Json {
    const own = (list: Json[]) =>
      list
        .filter(({ walletLuid }) => walletLuid === luid)
        .map(({ wallet, walletLuid, ...rest }) => {
          expect(wallet).toEqual(expect.any(String));
          return rest;
        });
    return { opening: own(all.opening), changes: own(all.changes), closing: own(all.closing) };
  }

  async function endsAndChanges(directory: string, luid: string, ...flags: string[]): Promise<Json> {
    const { opening, changes, closing } = await statementOf(directory, luid, ...flags);
    return { opening, changes, closing };
  }

  async function expectStatement(
    directory: string,
    luid: string,
    from: Look,
    to: Look,
    message: string,
  ): Promise<void> {
    const { opening, changes, closing } = await statementOf(directory, luid, '--from', from.at, '--to', to.at);
    for (const symbol of SYMBOLS) {
      const [before, after] = [from, to].map(
        ({ has }) => has.get(`${luid} ${symbol}`) ?? { available: 0, reserved: 0 },
      );
      const own = (changes as Json[]).filter((change) => change.symbol === symbol);
      const standing = (list: Json[]) => list.find((each) => each.symbol === symbol) ?? { balance: '0', reserved: '0' };
      expect(standing(opening), message).toMatchObject(amountsOf(before!));
      expect(standing(closing), message).toMatchObject(amountsOf(after!));
      let balance = before!.available + before!.reserved;
      for (const change of own) {
        balance += Number(change.change);
        expect(Number(change.balance), message).toBe(balance);
      }
      expect(balance, message).toBe(after!.available + after!.reserved);
    }
  }

  function amountsOf({ available, reserved }: { available: number; reserved: number }): Json {
    return { balance: String(available + reserved), reserved: String(reserved) };
  }
});

describe('a wallet to which everything has happened', () => {
  const directory = freshDirectory();
  const keys = makeKeys();
  let before: Look;
  let held: Look;
  let first = '';
  let luz = '';
  let written = '';

  beforeAll(async () => {
    const server = await startServer({ directory });
    const client = connect(server);
    const kit = makeKit(client, keys);
    const symbol = await kit.make('symbols', { handle: 'usd', factor: 100 });
    const ana = await kit.make('wallets', { handle: 'ana' });
    luz = (await kit.make('wallets', { handle: 'luz' })).luid;
    for (const handle of ['bank', '+1-1']) await kit.wallet({ handle });
    await kit.wallet({ handle: 'for-luz', routes: [{ action: 'credit', target: 'luz' }] });
    await kit.wallet({ handle: 'to-luz', routes: [{ action: 'forward', target: 'luz' }] });
    await kit.done([issue('ana', 'usd', 1000)], { data: { handle: 'i1' } });
    await kit.done([transfer('ana', 'luz', 'usd', 250)], { data: { handle: 'i2' } });
    before = await look(client);
    const several = [
      transfer('ana', 'for-luz', 'usd', 30),
      transfer('luz', 'x:1@bank', 'usd', 5),
      transfer('luz', 'luz', 'usd', 7),
      limit('luz', 'usd', 'maxBalance', 100_000),
      issue('luz', 'usd', 9),
      destroy('luz', 'usd', 10),
    ];
    first = (await kit.done(several, { data: { handle: 'i3' } })).luid;
    const manual = { config: { commit: 'manual' } };
    const { body } = await kit.send([transfer('luz', 'ana', 'usd', 20)], { data: { handle: 'i4', ...manual } });
    const undone = await kit.send([transfer('luz', 'ana', 'usd', 1)], { data: { handle: 'i5', ...manual } });
    held = await look(client);
    // Whoever has the name when it is committed is not who it was set aside for.
    await kit.change('wallets', ana, { handle: 'ana-once' }, 'ana');
    await kit.wallet({ handle: 'ana' });
    for (const [intent, action] of [
      [body, 'commit'],
      [undone.body, 'abort'],
    ] as const) {
      const custom = { action, moment: new Date().toISOString() };
      expect((await client.post(`/intents/${intent.luid}/proofs`, proofFor(intent, keys, custom))).status).toBe(200);
    }
    await kit.done([transfer('bank', 'to-luz', 'usd', 2)], { data: { handle: 'i6' } });
    await kit.done([transfer('luz', '+1-1', 'usd', 4)], { data: { handle: 'i7' } });
    await kit.refused([transfer('luz', 'ana', 'usd', 90_000)], { data: { handle: 'i8' } });
    await kit.change('symbols', symbol, { handle: 'dollar', factor: 1000 }, 'usd');
    written = (await client.get('/head')).body.data.moment;
    await server.stop();
  });

  /** Moments are told by their order, handles that the server drew by nothing. */
  const plain = (text: string) =>
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT')
      .replaceAll(/\$\w+\.[\w-]{17}/g, 'LUID')
      .replaceAll(/ +/g, ' ');

  test('has a statement for people', async () => {
    const { code, out, err } = await ayni('statement', directory, 'luz', '--from', before.at, '--to', held.at);
    expect([code, err]).toEqual([0, '']);
    expect(plain(out)).toBe(`Statement of wallet luz (LUID) in ledger main, from MOMENT until MOMENT began

 change balance symbol, what, and by which intent
 2.50 usd, to begin with
MOMENT 0.30 2.80 usd, transfer from ana, intent i3
MOMENT -0.05 2.75 usd, transfer to x:1@bank, intent i3
MOMENT -0.07 2.68 usd, transfer to luz, intent i3
MOMENT 0.07 2.75 usd, transfer from luz, intent i3
MOMENT 0.09 2.84 usd, issue, intent i3
MOMENT -0.10 2.74 usd, destroy, intent i3
 2.74 usd, in the end, 0.21 of it reserved
`);
  });

  test('has one for spreadsheets, none of whose texts is a formula, by the factor that its symbol had in the end', async () => {
    const { code, out, err } = await ayni('statement', directory, luz, '--from', held.at, '--csv');
    expect([code, err]).toEqual([0, '']);
    expect(
      out.split('\r\n').map((line) => plain(line).replace(/int-\w+|intent-\w+|(?<=,)[\w-]{20,}(?=,)/, 'HANDLE')),
    ).toEqual([
      'moment,symbol,action,counterparty,change,balance,reserved,intent,intent luid',
      'MOMENT,dollar,opening,,,0.274,0.021,,',
      'MOMENT,dollar,transfer,ana,-0.020,0.254,,i4,LUID',
      expect.stringMatching(/^MOMENT,dollar,transfer,to-luz,0.002,0.256,,[^,]+,LUID$/),
      "MOMENT,dollar,transfer,'+1-1,-0.004,0.252,,i7,LUID",
      ',dollar,closing,,,0.252,0.000,,',
      '',
    ]);
  });

  test('is in that of all wallets, under the name that it had then', async () => {
    const people = await ayni('statement', directory, '--all', '--from', before.at, '--to', held.at);
    expect([people.code, people.err]).toEqual([0, '']);
    expect(plain(people.out).split('\n').slice(0, 8)).toEqual([
      'Statement of all wallets in ledger main, from MOMENT until MOMENT began',
      '',
      ' change balance symbol, what, and by which intent',
      ' 7.50 ana: usd, to begin with',
      ' 2.50 luz: usd, to begin with',
      'MOMENT -0.30 7.20 ana: usd, transfer to for-luz, intent i3',
      'MOMENT 0.30 2.80 luz: usd, transfer from ana, intent i3',
      'MOMENT -0.05 2.75 luz: usd, transfer to x:1@bank, intent i3',
    ]);
    const { code, out, err } = await ayni('statement', directory, '--all', '--from', held.at, '--csv');
    expect([code, err]).toEqual([0, '']);
    const lines = plain(out).split('\r\n');
    expect(lines.slice(0, 3)).toEqual([
      'wallet,wallet luid,moment,symbol,action,counterparty,change,balance,reserved,intent,intent luid',
      'ana,LUID,MOMENT,dollar,opening,,,0.720,0.000,,',
      'luz,LUID,MOMENT,dollar,opening,,,0.274,0.021,,',
    ]);
    expect(lines).toContain('ana-once,LUID,MOMENT,dollar,transfer,luz,0.020,0.740,,i4,LUID');
    expect(lines).toContain("'+1-1,LUID,MOMENT,dollar,transfer,luz,0.004,0.004,,i7,LUID");
    expect(lines).toContain('ana-once,LUID,,dollar,closing,,,0.740,0.000,,');
    for (const args of [[directory], [directory, 'luz', '--all']]) {
      await expect(ayni('statement', ...args)).resolves.toMatchObject({ code: 2, out: '' });
    }
  });

  test('had before a moment what was decided before it, and nothing of that moment itself', async () => {
    const { changes } = await statementOf(directory, 'luz');
    const { moment } = changes.find(({ luid }: Json) => luid === first);
    const balanceUntil = async (to: string) => (await statementOf(directory, 'luz', '--to', to)).closing[0].balance;
    expect(await balanceUntil(moment)).toBe('250');
    expect(await balanceUntil(String(Date.parse(moment) + 1))).toBe('274');
    const { opening } = await statementOf(directory, 'luz', '--from', moment, '--to', moment);
    expect(opening[0].balance).toBe('250');
  });

  test('is in the balances, under the name that it had then', async () => {
    const then = await ayni('balances', directory, '--at', held.at);
    expect([then.code, then.err]).toEqual([0, '']);
    expect(plain(then.out)).toMatch(/^Balances in ledger main when MOMENT began, after entry \d+\n/);
    expect(plain(then.out)).toContain('\n available reserved balance usd\n');
    expect(plain(then.out)).toContain('\n 2.53 0.21 2.74 luz\n');
    expect(plain(then.out)).toContain('\n 7.20 0.00 7.20 ana\n');
    const told =
      'usd: 10.09 issued, 0.10 destroyed, 9.99 stand; wallets have 9.78 available and 0.21 reserved: they agree.';
    expect(then.out).toContain(`\n${told}\n`);
    const now = await ayni('balances', directory, '--csv', '--wallet', 'ana-once');
    expect(now.out.split('\r\n').map(plain)).toEqual([
      'wallet,wallet luid,symbol,symbol luid,available,reserved,balance',
      'ana-once,LUID,dollar,LUID,0.740,0.000,0.740',
      '',
    ]);
    expect(now.err).toContain('dollar: 1.009 issued, 0.010 destroyed, 0.999 stand; ');
  });

  test('is told to end where the books do, if a moment is asked for that they do not reach', async () => {
    const { end } = JSON.parse((await ayni('balances', directory, '--json')).out);
    // It was received after all of these, and is not later than its frame.
    const moved = JSON.parse((await ayni('statement', directory, 'luz', '--json')).out).changes as Json[];
    expect(end >= moved.at(-1)!.moment && end <= written, end).toBe(true);
    const said = `The last entry here is of ${end}: what was decided after it is not in this.\n`;
    const never = '2999-01-01T00:00Z';
    for (const command of [
      ['balances', directory, '--at'],
      ['statement', directory, 'luz', '--to'],
      // What it begins with then was told as if nothing could have come before.
      ['statement', directory, 'luz', '--from'],
    ]) {
      const [name, ...args] = command as [string, ...string[]];
      const asked = (...rest: string[]) => ayni(name, ...args, ...rest);
      expect((await asked(never)).out.endsWith(`\n${said}`)).toBe(true);
      expect((await asked(never, '--csv')).err.endsWith(said)).toBe(true);
      expect(JSON.parse((await asked(never, '--json')).out).end).toBe(end);
      expect((await asked(end)).out).not.toContain('The last entry');
    }
  });

  test('was paid to whom its claims named then, though others have these names since', async () => {
    const { changes, closing } = await statementOf(directory, 'ana-once');
    expect((changes as Json[]).map(({ intent, change }) => [intent, change])).toEqual([
      ['i1', '1000'],
      ['i2', '-250'],
      ['i3', '-30'],
      ['i4', '20'],
    ]);
    expect(closing).toMatchObject([{ symbol: 'dollar', factor: 1000, balance: '740', reserved: '0' }]);
    expect(await statementOf(directory, 'ana')).toMatchObject({ opening: [], changes: [], closing: [] });
  });

  test('is read without the key, and not with another one', async () => {
    const copy = copyWithoutKey(directory);
    expect((await ayni('statement', copy, 'luz')).code).toBe(0);
    const { code, err } = await ayni('statement', copy, 'luz', '--against', makeKeys().public);
    expect([code, err]).toEqual([1, expect.stringContaining('not signed by this server')]);
  });

  test('whose claims do not say what was booked is told of', async () => {
    const swapped = await rewritten(directory, (frames) => {
      for (const { entries } of frames) {
        for (const entry of entries) {
          if (entry.type === EntryType.intent && entry.handle === 'i2')
            entry.data = entry.data.replace(':250,', ':251,');
        }
      }
    });
    const { code, err } = await ayni('statement', swapped, 'luz');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^ayni: entry \d+: the claims of intent i2 lead to 251 dollar, its postings to 250\n$/),
    ]);
    expect((await ayni('statement', swapped, 'luz', '--json')).out).toContain('"ok":false}');
  });
});

test('where there are no books, or no directory, that is what is told', async () => {
  for (const command of [['balances'], ['statement', 'luz']]) {
    const [name, ...wallet] = command as [string, ...string[]];
    const there = freshDirectory();
    expect((await ayni(name, there, ...wallet)).err).toContain(`${there} holds no books`);
    expect((await ayni(name, join(there, 'x'), ...wallet)).err).toContain(`there is no directory ${join(there, 'x')}`);
  }
});

test('what was issued of one symbol and is in wallets as another does not agree', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const kit = makeKit(connect(server), makeKeys());
  for (const handle of ['usd', 'eur']) await kit.symbol({ handle, factor: 1 });
  await kit.wallet({ handle: 'ana' });
  await kit.done([issue('ana', 'usd', 3), issue('ana', 'eur', 5)]);
  await server.stop();
  const swapped = await rewritten(directory, (frames) => {
    for (const { entries } of frames) {
      for (const entry of entries) {
        if (entry.type !== EntryType.intent) continue;
        // Each other's: what an intent makes of which symbol its own sums do not tell.
        entry.data = entry.data.replace(/:[35],/g, (amount) => (amount === ':3,' ? ':5,' : ':3,'));
      }
    }
  });
  expect((await ayni('balances', directory)).code).toBe(0);
  const { code, out } = await ayni('balances', swapped);
  expect(code).toBe(1);
  expect(out).toContain(
    'usd: 5 issued, 0 destroyed, 5 stand; wallets have 3 available and 0 reserved: they DO NOT AGREE.\n',
  );
  expect(out).toContain(
    'eur: 3 issued, 0 destroyed, 3 stand; wallets have 5 available and 0 reserved: they DO NOT AGREE.\n',
  );
});

test('balances of now that a snapshot gives otherwise than its entries are told of, and so is a statement up to now', async () => {
  const lying = await resnapped(await prunedBooks(), ({ balances }) => balances.add(0, 1, balances.moment(0)));
  const { code, out } = await ayni('balances', lying);
  expect([code, out]).toEqual([
    1,
    expect.stringMatching(/\nA server would show it otherwise: wallet .* postings add up to /),
  ]);
  const { balances, ok } = JSON.parse((await ayni('balances', lying, '--json')).out);
  expect(ok).toBe(false);
  const { code: end, err } = await ayni('statement', lying, balances[0].luid);
  expect([end, err]).toEqual([1, expect.stringContaining('its postings add up to')]);
});

test('moments from before the first segment that is left are as well known as later ones', async () => {
  const books = await prunedBooks();
  expect(filesIn(books, /^journal-0*1\.ayj$/)).toEqual([]);
  const { balances } = JSON.parse((await ayni('balances', books, '--json')).out);
  const [{ luid, symbol }] = balances;
  const { changes } = await statementOf(books, luid);
  const at = (changes as Json[]).findIndex(({ moment }) => moment > changes[0].moment);
  const { balance } = changes[at - 1];
  const { closing } = await statementOf(books, luid, '--to', changes[at].moment);
  expect(closing).toMatchObject([{ symbol, balance, reserved: '0' }]);
  const then = await balancesAt(books, ['--at', changes[at].moment, '--wallet', luid]);
  expect([...then]).toEqual([[`${luid} ${symbol}`, { available: Number(balance), reserved: 0 }]]);
});

describe('a wallet that was paid and changed very many times', () => {
  const PAID = 400;
  const symbols = ['usd', 'eur', 'pen', 'bob'];
  const books = Books.open()
    .symbols(...symbols)
    .wallets('w');
  const { state } = books;
  const wallet = findHandle(state, 1, Kind.wallet, 'w');
  let handle = 'w';
  for (let n = 0; n < PAID; n++) {
    books.intent(...symbols.map((symbol) => issued(handle, 1, symbol)));
    const next = n % 5 === 0 ? `w${n}` : handle;
    books.update(Kind.wallet, handle, { handle: next, custom: { n } });
    books.addProof(readRow(state, wallet).entry, { n });
    handle = next;
  }
  const count = books.countSteps();
  beforeEach(() => {
    count.steps = 0;
  });
  // For each line all entries were passed by that the wallet has had since: hours where both were a million.
  const most = WAYMARK_STEPS * PAID * (symbols.length + 1);

  test.each([{ wallet }, { ledger: 1 }])(
    'has a statement that passes by few of its entries for each line: %j',
    (whose) => {
      const statement = new Statement(state, whose, 0, NEVER);
      statement.opening();
      const names: string[] = [];
      const addresses: number[] = [];
      for (const { moved } of statement.changes()) {
        names.push(statement.nameOf(wallet));
        addresses.push(moved.address);
      }
      expect(count.steps).toBeLessThan(most);
      expect(statement.difference).toBeNull();
      expect(names).toHaveLength(PAID * symbols.length);
      expect(names).toEqual(addresses.map((address) => nameAt(state, wallet, address)));
      expect(new Set(names).size).toBe(1 + PAID / 5);
    },
  );

  test('has balances that pass by few of its entries for each time it was paid', () => {
    const { past } = trialAt(state, 1, NEVER);
    expect(count.steps).toBeLessThan(most);
    expect(past.nameOf(wallet)).toBe(handle);
    expect(readRow(state, wallet).added).toHaveLength(1);
  });
});

describe('books of every release', () => {
  const golden = join(process.cwd(), 'test', 'golden');
  test.each(readdirSync(golden).filter((name) => /^\d/.test(name)))(
    '%s agree, and so does the statement of each wallet',
    async (release) => {
      const books = copyWithoutKey(join(golden, release, 'books'));
      const { code, out } = await ayni('balances', books, '--json');
      expect(code, out).toBe(0);
      const { balances } = JSON.parse(out);
      expect(balances.length).toBeGreaterThan(5);
      for (const luid of new Set<string>(balances.map(({ luid }: Json) => luid))) await statementOf(books, luid);
    },
  );
});

describe('a command line', () => {
  test.each([
    ['2026-11-01T00:00Z', 1793491200000],
    ['2026-11-01T00:00:00.5-05:00', 1793509200500],
    ['1793491200000', 1793491200000],
    ['0', 0],
    ['2024-02-29T23:59:59Z', 1709251199000],
  ])('%s is a moment', (text, moment) => {
    expect(readMoment('--at', text, NEVER)).toBe(moment);
  });

  // A day begins at another moment in each zone; seconds are no milliseconds; some days are in no calendar.
  test.each([
    '2026-11-01',
    '2026-11-01T00:00',
    '2026',
    '1793491200',
    '2026-02-30T00:00Z',
    '2026-13-01T00:00Z',
    '2026-11-01T25:00Z',
    'now',
    '',
  ])('%j is none', async (text) => {
    const { code, out, err } = await ayni('balances', 'nowhere', '--at', text);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('--at: must be a moment with its zone');
  });

  test.each([
    [['balances', 'nowhere', '--csv', '--json'], 'one of --csv and --json'],
    [['statement', 'nowhere'], 'a directory, and a wallet'],
    [
      ['statement', 'nowhere', 'ana', '--from', '1793491200001', '--to', '1793491200000'],
      '--from: must not be after --to',
    ],
  ])('%j is refused', async (args, why) => {
    const { code, out, err } = await ayni(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(why);
  });

  test.each([
    [['--ledger', 'none'], 'the books have no ledger none'],
    [['--wallet', 'none'], 'ledger main has no wallet none'],
  ])('that names what is not there, %j, is told so', async (flags, why) => {
    const { code, out, err } = await ayni('balances', await plainBooks(), ...flags);
    expect([code, out, err]).toEqual([1, '', `ayni: ${why}\n`]);
  });
});

describe('an amount is written exactly', () => {
  test.each([
    [0n, 100, '0.00'],
    [-5n, 100, '-0.05'],
    [123n, 1, '123'],
    [-123456n, 1000, '-123.456'],
    [9_007_199_254_740_993n, 10 ** 15, '9.007199254740993'],
  ])('%s by %i is %s', (amount, factor, text) => {
    expect(decimalText(amount, { handle: '', luid: '', factor })).toBe(text);
  });
});

test('a line of CSV holds what it was given', () => {
  expect(csvLine(['a,b', 'say "so"', '-5', '-5.25', '-5-5', '=1', '+1', '@1', ''])).toBe(
    `"a,b","say ""so""",-5,-5.25,'-5-5,'=1,'+1,'@1,\r\n`,
  );
});
