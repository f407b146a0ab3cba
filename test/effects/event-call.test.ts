/** What is called for an event: where, and by which rules. */
import { expect, test } from 'vitest';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { eventCall } from '../../src/effects/event-call.ts';
import type { OutgoingCall } from '../../src/effects/outgoing.ts';
import { eventTextsOf } from '../../src/event-texts.ts';
import { allEvents, placedAt } from '../../src/events.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { Books, issue } from '../core/books.ts';
import { SERVER } from '../engine/house.ts';

const RULE = (bank: string) => ({ schema: 'header', authorization: `Bearer ${bank}` });

/** A ledger with a bridge and an effect whose events go to it, and another one where both have the same names. */
function open(): Books {
  const books = Books.open().symbols('usd');
  books.create(Kind.ledger, { handle: 'second', access: [{ action: 'any', record: 'any' }] }, 0);
  for (const ledger of [1, 2]) {
    const config = { server: `http://bank-${ledger}/v2//` };
    books.create(Kind.bridge, { handle: 'bank', config, secure: [RULE(`bank-${ledger}`)] }, ledger);
    const action = { schema: 'bridge', bridge: 'bank' };
    books.create(Kind.effect, { handle: 'mail:e+1@x', signal: 'wallet-created', action }, ledger);
  }
  return books;
}

/** The call for the last event of an entry to the record of this kind and handle. */
function callTo(books: Books, kind: Kind, handle: string, ledger = 1): OutgoingCall {
  const { state } = books;
  const event = [...allEvents(state, placedAt(state, state.log.length)!, 0)].at(-1)!;
  const sealer = new Sealer(SERVER);
  const told = { state, sealer, eventTexts: eventTextsOf(sealer, 10_000) };
  return eventCall(told, findHandle(state, ledger, kind, handle), event);
}

test.each([1, 2])(
  'an event goes to the bridge of its own ledger, by the rules that the bridge has (ledger %i)',
  (ledger) => {
    const books = open();
    books.create(Kind.wallet, { handle: 'w' }, ledger);
    const { method, url, secure, body } = callTo(books, Kind.effect, 'mail:e+1@x', ledger);
    const to = `http://bank-${ledger}/v2/effects/mail%3Ae%2B1%40x`;
    expect({ method, url, secure }).toEqual({ method: 'POST', url: to, secure: [RULE(`bank-${ledger}`)] });
    expect(JSON.parse(body).data).toMatchObject({ signal: 'wallet-created', wallet: { data: { handle: 'w' } } });
  },
);

test('an event goes to a webhook as it is named, without the rules of any bridge', () => {
  const books = open();
  const action = { schema: 'webhook', endpoint: 'https://hook/a//' };
  books.create(Kind.effect, { handle: 'hook', signal: 'wallet-created', action });
  books.wallets('w');
  const { method, url, secure } = callTo(books, Kind.effect, 'hook');
  expect({ method, url, secure }).toEqual({ method: 'POST', url: 'https://hook/a//', secure: [] });
});

test('where the bridge is no more the call goes nowhere, though another ledger has one of that name', () => {
  const books = open();
  books.drop(Kind.bridge, 'bank', {}, 2);
  books.create(Kind.wallet, { handle: 'w' }, 2);
  const { url, secure } = callTo(books, Kind.effect, 'mail:e+1@x', 2);
  expect({ url, secure }).toEqual({ url: 'nowhere:', secure: [] });
});

test('a status goes to the bridge by the rules that it has', () => {
  const books = open().wallets('w');
  books.create(Kind.intent, { handle: 'pay:1+1@w', claims: [issue('w', 1)] });
  const { method, url, secure, body } = callTo(books, Kind.bridge, 'bank');
  const to = 'http://bank-1/v2/intents/pay%3A1%2B1%40w';
  expect({ method, url, secure }).toEqual({ method: 'PUT', url: to, secure: [RULE('bank-1')] });
  expect(JSON.parse(body)).toMatchObject({ data: { handle: 'pay:1+1@w' }, meta: { status: 'completed' } });
});
