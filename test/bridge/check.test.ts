/** "They tell the same story", says the check at the end of two-banks: here is what it must not overlook. */
import { describe, expect, test } from 'vitest';
import { type EntryRow, findDisagreements, type Story } from '../../src/cli/two-banks/check.ts';
import type { Payment } from '../../src/cli/two-banks/traffic.ts';
import { type Json, makeKeys, record } from '../support/client.ts';

const keys = makeKeys();

function paymentOf(handle: string, amount: number): Payment {
  const moves = [{ from: { bank: 'a', account: 'ana' }, to: { bank: 'b', account: 'luz' }, amount }];
  return { handle, moves, record: record({ handle, claims: [{ amount }] }, keys, [{ status: 'created' }]) };
}

function entriesOf({ handle, record: { hash } }: Payment, amount: number, state: string): [EntryRow, EntryRow] {
  const row = { amount, state, intent: { handle, hash } };
  return [
    { handle: `deb_${handle}`, kind: 'debit', account: 'ana', ...row },
    { handle: `cre_${handle}`, kind: 'credit', account: 'luz', ...row },
  ];
}

/** One payment of 30 that was done, one of 70 that was not. */
function trueStory(): Story {
  const [done, undone] = [paymentOf('done', 30), paymentOf('undone', 70)];
  const [debits, credits] = [
    [entriesOf(done, 30, 'committed'), entriesOf(undone, 70, 'aborted')].map(([debit]) => debit),
    [entriesOf(done, 30, 'committed'), entriesOf(undone, 70, 'failed')].map(([, credit]) => credit),
  ];
  const stored = (payment: Payment, status: string): Json => ({
    ...payment.record,
    meta: { ...payment.record.meta, status },
  });
  const account = (handle: string, available: number) => ({ handle, available, held: 0, incoming: 0 });
  const heard = () =>
    new Map([
      ['done', 'completed'],
      ['undone', 'rejected'],
    ]);
  return {
    payments: [done, undone],
    stored: new Map([
      ['done', stored(done, 'completed')],
      ['undone', stored(undone, 'rejected')],
    ]),
    banks: [
      {
        name: 'a',
        accounts: [account('ana', 70)],
        opened: 100,
        out: 30,
        in: 0,
        entries: debits,
        heard: heard(),
        waiting: 0,
      },
      {
        name: 'b',
        accounts: [account('luz', 130)],
        opened: 100,
        out: 0,
        in: 30,
        entries: credits,
        heard: heard(),
        waiting: 0,
      },
    ],
    balances: new Map([
      ['a', { available: -30, reserved: 0 }],
      ['b', { available: 30, reserved: 0 }],
    ]),
    funds: 100,
  };
}

test('the truth', () => {
  expect(findDisagreements(trueStory())).toEqual([]);
});

describe('a lie:', () => {
  const LIES: [what: string, found: RegExp, tell: (story: Json) => void][] = [
    ['an intent that is gone', /undone is not at the ledger/, ({ stored }) => stored.delete('undone')],
    [
      'an intent with other content',
      /not what was signed/,
      ({ stored }) => Object.assign(stored.get('done'), { hash: '' }),
    ],
    [
      'an intent with other claims',
      /not that of its data/,
      ({ stored }) => Object.assign(stored.get('done').data, { claims: [] }),
    ],
    [
      'an intent that never ends',
      /is pending, for ever/,
      ({ stored }) => (stored.get('undone').meta.status = 'pending'),
    ],
    ['done here, not there', /should have done/, ({ banks }) => (banks[1].entries[0].state = 'aborted')],
    ['done nowhere, and completed', /should have done/, ({ banks }) => banks[0].entries.shift()],
    ['done twice', /should have done/, ({ banks }) => banks[0].entries.push({ ...banks[0].entries[0] })],
    ['done although rejected', /undone is rejected/, ({ banks }) => (banks[0].entries[1].state = 'committed')],
    ['another amount', /should have done/, ({ banks }) => (banks[1].entries[0].amount = 31)],
    ['another account', /should have done/, ({ banks }) => (banks[1].entries[0].account = 'ana')],
    ['an account with too much', /account ana is 71/, ({ banks }) => (banks[0].accounts[0].available = 71)],
    ['a hold that is left', /held of ana is 1/, ({ banks }) => (banks[0].accounts[0].held = 1)],
    ['a promise that is left', /promised to luz is 1/, ({ banks }) => (banks[1].accounts[0].incoming = 1)],
    ['an entry that is left', /deb_undone is still prepared/, ({ banks }) => (banks[0].entries[1].state = 'prepared')],
    ['money that went out', /went out is 31/, ({ banks }) => (banks[0].out = 31)],
    ['money that came in', /came in is 29/, ({ banks }) => (banks[1].in = 29)],
    ['another balance at the ledger', /balance at the ledger is -29/, (s) => (s.balances.get('a').available = -29)],
    ['a reserve at the ledger', /still reserves is 5/, ({ balances }) => (balances.get('b').reserved = 5)],
    ['a report not sent', /reports to be sent is 1/, ({ banks }) => (banks[0].waiting = 1)],
    ['a status it was not told', /has heard that done is undefined/, ({ banks }) => banks[0].heard.delete('done')],
    ['an old status', /is prepared, and it is completed/, ({ banks }) => banks[1].heard.set('done', 'prepared')],
    ['money out of nothing', /hold 200 together, and were opened with 199/, ({ banks }) => (banks[0].opened = 99)],
  ];
  test.each(LIES)('%s', (_, found, tell) => {
    const story = trueStory();
    tell(story);
    expect(findDisagreements(story).join('\n')).toMatch(found);
  });
});
