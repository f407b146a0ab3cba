/**
 * Two banks, one ledger, payments between them, and kill -9 for anybody at any time. At the end all three must tell
 * the same story.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { randomFrom } from '../../bridge/chaos.ts';
import { isFinal } from '../../core/entry.ts';
import { type Client, connect, type StoredRecord } from '../client.ts';
import { runInParallel } from '../parallel.ts';
import { type Actor, type Cast, engage } from './cast.ts';
import { type BankBooks, completed, type EntryRow, findDisagreements, type Story } from './check.ts';
import { makePayment, type Payment, send } from './traffic.ts';

interface PlayPlan {
  directory: string;
  /** Decides about payments and kills; the machine decides when they meet. */
  seed: number;
  payments: number;
  clients: number;
  /** Sending ends after this time, whatever is left. */
  sendMsMax: number;
  /** Whether somebody is killed now and then. */
  kills: boolean;
  /** How the banks misbehave; null where they do not. */
  chaos: string | null;
  /**
   * How long banks may take to join, and nothing may come to its end once everybody is back, before what is left is
   * told.
   */
  endMsMax: number;
  say(line: string): void;
}

const SYMBOL = 'usd';
const ACCOUNTS = ['ana', 'luz', 'eva', 'joe', 'sol', 'rut', 'leo', 'ian'];
const FUNDS = 10_000;
const LIMIT = 1_000_000;
const AMOUNT_MAX = 50;
const READERS = 8;
const POLL_MS = 300;
/** Between two kills, and until the killed are started again. */
const PEACE_MS_MAX = 1500;
const AWAY_MS_MAX = 600;

/** Plays it, and answers what is wrong at the end; empty where nothing is. */
export async function play(plan: PlayPlan): Promise<string[]> {
  const { say } = plan;
  const cast = await engage({ ...plan, symbol: SYMBOL, accounts: ACCOUNTS, funds: FUNDS, limit: LIMIT });
  const actors = [cast.ledger, ...cast.banks];
  try {
    for (const actor of actors) await actor.start();
    const client = connect(cast.ledger.url);
    for (const { name } of cast.banks) await joined(client, name, plan.endMsMax);
    say(`1  A ledger at ${cast.ledger.url}, and two banks: ${cast.banks.map(({ url }) => url).join(' and ')}.`);
    say(`   Each bank has ${ACCOUNTS.length} accounts with ${FUNDS} ${SYMBOL}, and a wallet at the ledger.`);
    const payments = await storm(cast, client, plan);
    const findings = [...payments.refused];
    const story = await collect(cast, client, payments.sent, plan.endMsMax);
    findings.push(...findDisagreements(story));
    tell(story, actors, say);
    findings.push(...(await checkRestart(cast, story)));
    return findings;
  } finally {
    for (const actor of actors) await actor.stop('SIGTERM');
  }
}

/** What `ayni verify` says of the ledger's files, or why it could not say anything: null where nothing is wrong. */
export function audit(directory: string): string | null {
  const ayni = fileURLToPath(new URL('../../bin/ayni.js', import.meta.url));
  const done = spawnSync(process.execPath, [ayni, 'verify', `${directory}/ledger`], { encoding: 'utf8' });
  if (done.status === 0) return null;
  const how = done.error?.message ?? (done.signal === null ? `exit code ${done.status}` : `ended by ${done.signal}`);
  return `${done.stdout}${done.stderr}ayni verify: ${how}`;
}

/** Waits until the bank has its wallet, and the wallet its limit. */
async function joined(client: Client, name: string, msMax: number): Promise<void> {
  const late = performance.now() + msMax;
  for (;;) {
    const { status, body } = await client.get<{ data: unknown[] }>(`/wallets/${name}/limits`);
    if (status === 200 && body.data.length > 0) return;
    if (performance.now() > late) throw new Error(`${name} did not join the ledger`);
    await pause(POLL_MS);
  }
}

/** Sends payments while somebody kills; everybody is back when it ends. */
async function storm(cast: Cast, client: Client, plan: PlayPlan) {
  const random = randomFrom(plan.seed);
  const [a, b] = cast.banks;
  const traffic = { banks: [a.name, b.name] as const, accounts: ACCOUNTS, symbol: SYMBOL, amountMax: AMOUNT_MAX };
  const begin = performance.now();
  const [sent, refused]: [Payment[], string[]] = [[], []];
  let isOver = false;
  const killing = plan.kills ? kill([cast.ledger, a, b], randomFrom(plan.seed + 1), () => isOver) : Promise.resolve();
  killing.catch(() => {
    isOver = true;
  });
  try {
    await runInParallel(plan.payments, plan.clients, async (number) => {
      if (isOver || performance.now() - begin > plan.sendMsMax) return;
      const payment = makePayment(number, traffic, random);
      const late = performance.now() + plan.endMsMax;
      const refusal = await send(client, payment, () => performance.now() > late);
      if (refusal === null) sent.push(payment);
      else refused.push(`${payment.handle} was ${refusal}`);
    });
  } finally {
    isOver = true;
    await killing;
  }
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  plan.say(`2  ${plan.clients} clients sent ${sent.length} payments in ${seconds} s.`);
  return { sent, refused };
}

async function kill(actors: Actor[], random: () => number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await pause(random() * PEACE_MS_MAX);
    const chosen = actors.filter(() => random() < 0.5);
    await Promise.all(chosen.map((actor) => actor.stop('SIGKILL')));
    await pause(random() * AWAY_MS_MAX);
    await Promise.all(chosen.map((actor) => actor.start()));
  }
}

/** Everybody's books, once every payment has come to its end, or none does any more. */
async function collect(cast: Cast, client: Client, payments: Payment[], endMsMax: number): Promise<Story> {
  const ends = new Ends(endMsMax);
  const stored = new Map<string, StoredRecord>();
  await runInParallel(payments.length, READERS, async (position) => {
    const { handle } = payments[position]!;
    for (;;) {
      const { status, body } = await client.get(`/intents/${handle}`);
      if (status === 200) stored.set(handle, body);
      if (status !== 200 || isFinal(body.meta.status ?? '')) return ends.met();
      if (ends.areOver) return;
      await pause(POLL_MS);
    }
  });
  const banks = await Promise.all(cast.banks.map((bank) => settled(bank, stored, endMsMax)));
  const balances = new Map<string, { available: number; reserved: number }>();
  for (const { name } of cast.banks) {
    const { body } = await client.get<{ data: { data: { schema: string; amount: number } }[] }>(
      `/wallets/${name}/balances`,
    );
    const amount = (schema: string) => body.data.find(({ data }) => data.schema === schema)?.data.amount ?? 0;
    balances.set(name, { available: amount('available'), reserved: amount('reserved') });
  }
  return { payments, stored, banks, balances, funds: FUNDS };
}

/** The bank's books, once it has told and heard all there is to tell and to hear, or nothing of that comes any more. */
export async function settled(
  bank: Pick<Actor, 'name' | 'url'>,
  stored: Map<string, StoredRecord>,
  endMsMax: number,
): Promise<BankBooks> {
  const ends = new Ends(endMsMax);
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    const books = await readBank(bank);
    const left = books.waiting + books.entries.filter((entry) => isOpen(entry, books, stored)).length;
    if (left < before) ends.met();
    before = Math.min(before, left);
    if (left === 0 || ends.areOver) return books;
    await pause(POLL_MS);
  }
}

/** Whether the bank has not done it, or not heard what became of its intent. */
function isOpen({ state, intent }: EntryRow, { heard }: BankBooks, stored: Map<string, StoredRecord>): boolean {
  return state === 'prepared' || heard.get(intent.handle) !== stored.get(intent.handle)?.meta.status;
}

/**
 * Whether to wait on. What a bank that misbehaves does not take is sent again a second later, and news of intents go
 * one at a time: a thousand payments may take ten minutes, and all is well as long as one after the other comes to its
 * end.
 */
class Ends {
  readonly #msMax: number;
  #late: number;

  constructor(msMax: number) {
    this.#msMax = msMax;
    this.#late = performance.now() + msMax;
  }

  met(): void {
    this.#late = performance.now() + this.#msMax;
  }

  get areOver(): boolean {
    return performance.now() > this.#late;
  }
}

async function readBank({ name, url }: Pick<Actor, 'name' | 'url'>): Promise<BankBooks> {
  const client = connect(url);
  const read = async <Data>(path: string): Promise<Data> => (await client.get<{ data: Data }>(path)).body.data;
  const readAll = async <Row>(list: string): Promise<Row[]> => {
    const rows: Row[] = [];
    for (;;) {
      const page = (await read<Record<string, Row[]>>(`/${list}?from=${rows.length}`))[list]!;
      rows.push(...page);
      if (page.length === 0) return rows;
    }
  };
  const entries = await readAll<EntryRow>('entries');
  const intents = await readAll<{ handle: string; status: string }>('intents');
  const heard = new Map(intents.map(({ handle, status }) => [handle, status]));
  const accounts = await read<Omit<BankBooks, 'name' | 'entries' | 'heard' | 'waiting'>>('/accounts');
  const { reports } = await read<{ reports: { waiting: number } }>('/');
  return { name, ...accounts, entries, heard, waiting: reports.waiting };
}

/** A bank that is stopped and started once more has the same books. */
async function checkRestart({ banks }: Cast, story: Story): Promise<string[]> {
  const findings: string[] = [];
  for (const [index, bank] of banks.entries()) {
    const code = await bank.stop('SIGTERM');
    if (code !== 0) findings.push(`${bank.name} ended with ${code}`);
    await bank.start();
    const [before, after] = [story.banks[index]!, await readBank(bank)];
    if (!isDeepStrictEqual(before, after)) findings.push(`${bank.name} has other books after a restart`);
  }
  return findings;
}

function tell(story: Story, actors: Actor[], say: PlayPlan['say']): void {
  const done = completed(story);
  const reasons = new Map<string, number>();
  for (const [, { meta }] of story.stored) {
    // The ledger's own word; a bank says failed of an entry.
    const failed = meta.proofs.find(({ custom }) => `${custom?.reason}`.startsWith('core.'))?.custom;
    if (failed === undefined) continue;
    const reason = `${failed.failId ?? failed.reason}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  say(`   kill -9: ${actors.map(({ name, kills }) => `${name} ${kills} times`).join(', ')}.`);
  say(`3  ${done.length} payments were completed, ${story.payments.length - done.length} rejected:`);
  for (const [reason, count] of [...reasons].toSorted()) say(`   ${`${count}`.padStart(5)}  ${reason}`);
  say('4  The books:');
  for (const { name, accounts, out, in: received, entries } of story.banks) {
    const sum = accounts.reduce((total, { available }) => total + available, 0);
    const balance = story.balances.get(name)?.available ?? 0;
    say(`   ${name}: ${sum} in its accounts, ${out} went out, ${received} came in, ${entries.length} entries;`);
    say(`           its wallet at the ledger has ${balance}.`);
  }
}
