/**
 * A server killed in every phase of an intent that two banks take part in: after the restart exactly the calls that are
 * due are made again, with the same bytes, and no others; and each intent comes to its end.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LEG_STATES } from '../../src/core/entry.ts';
import { framesOf } from '../cli/books.ts';
import { Bank, inStatus, readIntent, report, type Town } from '../support/bank.ts';
import { type Client, connect, type Json, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { type Call, type Hook, openHook } from '../support/hook.ts';
import { makeKit, pause, proofFor, segment, transfer, until } from '../support/kit.ts';
import { type Server, startServer } from '../support/server.ts';

const keys = makeKeys();

type Action = '' | 'commit' | 'abort';
type What = 'debits' | 'credits';

/** One intent on its way from a bank of its own to another, as far as its phase says. */
interface Life {
  /** The server's, while it runs. */
  directory: string;
  intent: Json;
  banks: Record<What, Bank>;
  wallets: [string, string];
}

interface Phase {
  /** Brings the intent there, from the debit having been asked. */
  way: (life: Life, client: Client) => Promise<void>;
  commit?: 'manual';
  /** The credit's bank does not take calls to abort. */
  isDeaf?: true;
  due: [What, Action][];
  status: string;
  /** Brings it to its end after the restart. */
  rest: (life: Life, client: Client) => Promise<void>;
  end: 'completed' | 'rejected';
}

/** Legs of an intent between two banks. */
const CREDIT = 1;

/** How far a leg is by the books on the disk. */
function legState({ directory, intent }: Life, leg: number): string | undefined {
  let state: string | undefined;
  for (const entry of framesOf(directory).flatMap(({ entries }) => entries)) {
    if (entry.luid !== intent.luid || !('outcome' in entry)) continue;
    const marks = entry.outcome?.links?.marks ?? [];
    for (let at = 0; at < marks.length; at += 2) if (marks[at] === leg) state = LEG_STATES[marks[at + 1]!];
  }
  return state;
}

async function say(life: Life, client: Client, what: What, status: string): Promise<void> {
  const bank = life.banks[what];
  const entry = await bank.entry(life.intent, what);
  expect(await report(client, life.intent, entry, bank.keys, status)).toBe(200);
}

/** Reports in turn: `debits prepared`, … */
const reports =
  (...words: string[]) =>
  async (life: Life, client: Client): Promise<void> => {
    for (const word of words) {
      const [what, status] = word.split(' ') as [What, string];
      await say(life, client, what, status);
    }
  };

const BOTH_PREPARED = ['debits prepared', 'credits prepared'];
const BOTH_COMMITTED = ['debits committed', 'credits committed'];

const PHASES: Record<string, Phase> = {
  'the debit is asked': {
    way: reports(),
    due: [['debits', '']],
    status: 'pending',
    rest: reports(...BOTH_PREPARED, ...BOTH_COMMITTED),
    end: 'completed',
  },
  'the debit is prepared, the credit asked': {
    way: reports('debits prepared'),
    due: [['credits', '']],
    status: 'pending',
    rest: reports('credits prepared', ...BOTH_COMMITTED),
    end: 'completed',
  },
  'all are prepared, and it rests': {
    way: reports(...BOTH_PREPARED),
    commit: 'manual',
    due: [],
    status: 'prepared',
    async rest(life, client) {
      await client.post(
        `/intents/${segment(life.intent.luid)}/proofs`,
        proofFor(life.intent, keys, { action: 'commit' }),
      );
      await reports(...BOTH_COMMITTED)(life, client);
    },
    end: 'completed',
  },
  'both are to commit': {
    way: reports(...BOTH_PREPARED),
    due: [
      ['debits', 'commit'],
      ['credits', 'commit'],
    ],
    status: 'committed',
    rest: reports(...BOTH_COMMITTED),
    end: 'completed',
  },
  'one has committed, and the other not': {
    way: reports(...BOTH_PREPARED, 'credits committed'),
    due: [['debits', 'commit']],
    status: 'committed',
    rest: reports('debits committed'),
    end: 'completed',
  },
  'the credit failed, the debit is to abort': {
    async way(life, client) {
      await reports('debits prepared', 'credits failed')(life, client);
      await life.banks.credits.asked(life.intent, 'credits', 'abort');
      // Whoever failed need only have heard: that it has is in the books a moment later.
      await until(() => legState(life, CREDIT) !== 'dismissing');
    },
    due: [['debits', 'abort']],
    status: 'aborted',
    rest: reports('debits aborted'),
    end: 'rejected',
  },
  'the credit failed and cannot be told, the debit is to abort': {
    way: reports('debits prepared', 'credits failed'),
    isDeaf: true,
    due: [
      ['debits', 'abort'],
      ['credits', 'abort'],
    ],
    status: 'aborted',
    rest: reports('debits aborted', 'credits aborted'),
    end: 'rejected',
  },
  'it is completed': {
    way: reports(...BOTH_PREPARED, ...BOTH_COMMITTED),
    due: [],
    status: 'completed',
    rest: reports(),
    end: 'completed',
  },
};

describe.each([
  ['from the journal', []],
  ['from a snapshot and what came after it', ['--snapshot-every', '20']],
])('killed and started again, %s', (_, flags) => {
  const lives = new Map<string, Life>();
  const directory = freshDirectory();
  let hook: Hook;
  let second: Server;
  let client: Client;
  let symbol: string;
  /** Calls before the kill. */
  let before: Call[];

  beforeAll(async () => {
    hook = await openHook();
    const first = await startServer({ directory, flags });
    client = connect(first);
    const kit = makeKit(client, keys);
    symbol = await kit.symbol();
    const town: Town = { client, kit, hook, symbol };
    const deaf: Bank[] = [];
    hook.answer = ({ path }) => (deaf.some((bank) => path.startsWith(`${bank.path}/`)) ? refuseAbort(path) : 202);
    for (const [name, { way, commit, isDeaf, status }] of Object.entries(PHASES)) {
      const banks = { debits: await Bank.open(town), credits: await Bank.open(town) };
      if (isDeaf) deaf.push(banks.credits);
      const wallets: [string, string] = [await banks.debits.wallet(), await banks.credits.wallet()];
      const data = commit === undefined ? {} : { config: { commit } };
      const intent = (await kit.send([transfer(...wallets, symbol, 25)], { data })).body;
      const life = { directory, intent, banks, wallets };
      lives.set(name, life);
      await banks.debits.asked(intent, 'debits');
      await way(life, client);
      await inStatus(client, intent, status);
    }
    for (const [name, { due }] of Object.entries(PHASES)) {
      const { banks, intent } = lives.get(name)!;
      for (const [what, action] of due) await banks[what].asked(intent, what, action);
    }
    await first.kill();
    before = [...hook.calls];
    second = await startServer({ directory, flags });
    client = connect(second);
    // Longer than it takes until the last of what is due has come.
    for (const [name, { due }] of Object.entries(PHASES)) {
      for (const [what, action] of due)
        await lives.get(name)!.banks[what].asked(lives.get(name)!.intent, what, action, before.length);
    }
    await pause(700);
  });
  afterAll(async () => {
    await second?.stop();
    await hook?.close();
  });

  test.each(Object.entries(PHASES))('while %s', async (name, { due, status, rest, end }) => {
    const life = lives.get(name)!;
    const late = hook.calls.slice(before.length);
    const mine = [life.banks.debits, life.banks.credits].flatMap(({ path }) =>
      late.filter((call) => call.path.startsWith(`${path}/`)),
    );
    const pathsDue = due.map(([what, action]) => {
      const { path } = life.banks[what];
      return action === '' ? `${path}/${what}` : expect.stringMatching(`^${path}/${what}/[^/]+/${action}$`);
    });
    const paths = [...new Set(mine.map(({ path }) => path))];
    expect(paths).toHaveLength(due.length);
    expect(paths).toEqual(expect.arrayContaining(pathsDue));
    for (const { path, text } of mine) {
      expect(before.filter((call) => call.path === path).map((call) => call.text)).toContain(text);
    }
    expect((await readIntent(client, life.intent)).meta.status).toBe(status);
    await rest(life, client);
    await inStatus(client, life.intent, end);
    const kit = makeKit(client, keys);
    const moved = end === 'completed' ? 25 : 0;
    expect(await Promise.all(life.wallets.map((wallet) => kit.balance(wallet, symbol)))).toEqual([-moved || 0, moved]);
    for (const wallet of life.wallets) expect(await kit.balance(wallet, symbol, 'reserved')).toBe(0);
  });
});

const refuseAbort = (path: string): number => (path.endsWith('/abort') ? 503 : 202);
