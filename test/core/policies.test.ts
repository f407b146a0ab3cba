/** Status and labels policies: what a proof may give a record, by whom, from where, and with how many others. */
import { describe, expect, test } from 'vitest';
import { isGranted } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import { ANY_STATUS, LEDGERS_KEPT, STATUSES_KEPT, STATUSES_MAX } from '../../src/core/counts.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { POLICIES_MAX } from '../../src/core/norms.ts';
import { readRow } from '../../src/core/records.ts';
import type { State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { stateDigest } from '../support/state-digest.ts';
import type { Books } from './books.ts';
import { keyOf, make, only, openBooks, prove, publicOf, recordOf, recovered, said } from './proof-world.ts';

const { wallet } = Kind;
const VIOLATION = 'record.status-policy-violation';
/** Of a status more than there is room for: no policy is violated. */
const FULL = 'record.invalid';

/** Books with a wallet `w` and status policies of these values for wallets. */
function withStatuses(...values: object[]): Books {
  const books = openBooks();
  make(books, wallet, { handle: 'w' });
  make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'wallet', values });
  return books;
}

function withLabels(...values: unknown[]): Books {
  const books = openBooks();
  for (const handle of ['w', 'v']) make(books, wallet, { handle });
  make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values });
  return books;
}

const status = (books: Books, handle = 'w', kind: Kind = wallet) => recordOf(books.state, kind, handle).status;
const labels = (books: Books, handle = 'w') => recordOf(books.state, wallet, handle).labels.join(' ');
const sets = (books: Books, letter: string, wish: unknown, handle = 'w') =>
  said(prove(books, wallet, handle, letter, { status: wish }));
const puts = (books: Books, letter: string, words: unknown, handle = 'w') =>
  said(prove(books, wallet, handle, letter, { labels: words }));

describe('status policies', () => {
  test('a kind without them takes any status from any proof', () => {
    const books = openBooks();
    make(books, wallet, { handle: 'w' });
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'anchor', values: [] });
    make(books, Kind.policy, { handle: 'q', schema: 'access', record: 'wallet', values: [] });
    expect([sets(books, 'a', 'active'), status(books)]).toEqual(['ok', 'active']);
  });

  test.each([
    ['on-hold', true],
    ['level-2', true],
    ['KYC_ok', true],
    ['v1.2', true],
    ['2nd', true],
    ['x'.repeat(32), true],
    ['x'.repeat(33), false],
    ['on hold', false],
    ['-closed', false],
    ['geprüft', false],
    ['', false],
  ])('%s as a status: %s', (wish, isOne) => {
    const books = openBooks();
    make(books, wallet, { handle: 'w' });
    expect([sets(books, 'a', wish), status(books)]).toEqual(['ok', isOne ? wish : 'created']);
  });

  test.each<[string, object[], string, unknown, string, string]>([
    ['a status nobody lists', [{ status: 'active' }], 'a', 'closed', VIOLATION, 'created'],
    ['a listed status, by anybody', [{ status: 'active' }], 'a', 'active', 'ok', 'active'],
    ['what is no status at all', [{ status: 'active' }], 'a', 'Active!', VIOLATION, 'created'],
    ['a status that is no text', [{ status: 'active' }], 'a', 7, 'ok', 'created'],
    ['no status', [{ status: 'active' }], 'a', undefined, 'ok', 'created'],
    ['the signer named', [{ status: 'active', signer: only('a') }], 'a', 'active', 'ok', 'active'],
    ['another signer', [{ status: 'active', signer: only('a') }], 'b', 'active', VIOLATION, 'created'],
    ['the owner', [{ status: 'active', signer: { $record: 'owner' } }], 'o', 'active', 'ok', 'active'],
    ['not the owner', [{ status: 'active', signer: { $record: 'owner' } }], 'a', 'active', VIOLATION, 'created'],
    ['from the status it has', [{ status: 'active', from: ['x', 'created'] }], 'a', 'active', 'ok', 'active'],
    ['from another status', [{ status: 'active', from: ['x'] }], 'a', 'active', VIOLATION, 'created'],
    [
      'the second value about the status',
      [
        { status: 'active', signer: only('b') },
        { status: 'active', signer: only('a') },
      ],
      'a',
      'active',
      'ok',
      'active',
    ],
    [
      'a value for its signer, but from elsewhere',
      [
        { status: 'active', signer: only('b') },
        { status: 'active', from: ['x'], signer: only('a') },
      ],
      'a',
      'active',
      VIOLATION,
      'created',
    ],
    ['no value at all', [], 'a', 'active', VIOLATION, 'created'],
  ])('%s', (_, values, letter, wish, reason, after) => {
    const books = withStatuses(...values);
    expect([sets(books, letter, wish), status(books)]).toEqual([reason, after]);
  });

  test('a policy of all kinds is for this one, one with a filter for the records it passes', () => {
    const books = openBooks();
    make(books, wallet, { handle: 'w', schema: 'vip' });
    make(books, wallet, { handle: 'v' });
    make(books, Kind.circle, { handle: 'c' });
    const filter = { 'data.schema': 'vip' };
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'any', values: [{ status: 'gold' }], filter });
    expect([sets(books, 'a', 'silver'), sets(books, 'a', 'gold'), sets(books, 'a', 'silver', 'v')]).toEqual([
      VIOLATION,
      'ok',
      'ok',
    ]);
    expect(said(prove(books, Kind.circle, 'c', 'a', { status: 'silver' }))).toBe('ok');
  });

  test('signers by their circle', () => {
    const books = withStatuses({ status: 'active', signer: { $circle: 'ops' } });
    make(books, Kind.circle, { handle: 'ops' });
    make(books, Kind.signer, { handle: 'anna', public: publicOf('a'), format: 'ed25519-raw' });
    expect(sets(books, 'a', 'active')).toBe(VIOLATION);
    make(books, Kind['circle-signer'], { circle: 'ops', signer: 'anna' });
    expect(sets(books, 'a', 'active')).toBe('ok');
  });

  test('any owner of the record or of its ledger, where that is asked, and not those of the other', () => {
    const books = openBooks();
    const by = (letters: string) => ({ keys: [...letters].map(keyOf), bearer: null });
    books.create(Kind.ledger, { handle: 'bank', access: [{ action: 'any', record: 'any' }] }, 0, by('lm'), true);
    books.create(wallet, { handle: 'w' }, 2, by('op'), true);
    const values = [
      { status: 'closed', signer: { $record: 'owner' } },
      { status: 'blocked', signer: { $ledger: 'owner' } },
    ];
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'wallet', values }, 2);
    const says = (letter: string, wish: string) => said(prove(books, wallet, 'w', letter, { status: wish }, 2));
    expect([says('p', 'closed'), says('l', 'closed')]).toEqual(['ok', VIOLATION]);
    expect([says('l', 'blocked'), says('o', 'blocked')]).toEqual(['ok', VIOLATION]);
  });

  test('a changed policy holds from the next proof on, a dropped one no longer', () => {
    const books = withStatuses({ status: 'active' });
    expect(sets(books, 'a', 'active')).toBe('ok');
    const changed = { handle: 'p', schema: 'status', record: 'wallet', values: [{ status: 'closed' }] };
    expect(said(books.update(Kind.policy, 'p', changed))).toBe('ok');
    expect([sets(books, 'a', 'active'), sets(books, 'a', 'closed')]).toEqual([VIOLATION, 'ok']);
    expect(said(books.update(Kind.policy, 'p', { ...changed, record: 'anchor' }))).toBe('ok');
    expect(sets(books, 'a', 'free')).toBe('ok');
    expect(said(books.update(Kind.policy, 'p', changed))).toBe('ok');
    expect(sets(books, 'a', 'free')).toBe(VIOLATION);
    books.drop(Kind.policy, 'p');
    expect(sets(books, 'a', 'freed')).toBe('ok');
  });

  test('never on intents, and those of another ledger do not count', () => {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
    books.symbols('usd').wallets('w');
    make(books, Kind.intent, { handle: 'i', claims: [{ action: 'issue', target: 'w', symbol: 'usd', amount: 1 }] });
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'any', values: [] });
    expect(said(prove(books, Kind.intent, 'i', 'a', { status: 'whatever' }))).toBe('ok');
    expect(status(books, 'i', Kind.intent)).toBe('completed');
    make(books, wallet, { handle: 'w' }, 2);
    expect(said(prove(books, wallet, 'w', 'a', { status: 'active' }, 2))).toBe('ok');
  });

  test("policies of a ledger are for the ledger's own record too", () => {
    const books = openBooks();
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'ledger', values: [{ status: 'live' }] });
    expect(said(prove(books, Kind.ledger, 'main', 'a', { status: 'dead' }, 0))).toBe(VIOLATION);
    expect(said(prove(books, Kind.ledger, 'main', 'a', { status: 'live' }, 0))).toBe('ok');
  });

  test('a ledger that makes up thousands takes none from others that the interface names', () => {
    const books = openBooks();
    make(books, wallet, { handle: 'w' });
    // Each by a proof would take long; these are as if they had been said.
    for (let n = 0; n < 9990; n++) books.state.statuses.push(`made up ${n}`);
    let left = 0;
    while (left < 50 && sets(books, 'a', word(left)) === 'ok') left++;
    expect(left).toBeLessThan(11 + STATUSES_KEPT);
    expect([sets(books, 'a', 'unheard-of'), sets(books, 'a', word(0))]).toEqual([FULL, 'ok']);
    for (const own of ['onboarded', 'connected', 'active', 'created']) {
      expect([sets(books, 'a', own), status(books)]).toEqual(['ok', own]);
    }
  });

  /** A status that nobody has a word for but whoever makes it up. */
  const word = (n: number) => `x${[...String(n)].map((digit) => String.fromCharCode(97 + Number(digit))).join('')}`;

  test('a ledger that makes up statuses comes to its own end, not to that of all others', () => {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'other' }, 0);
    for (const ledger of [1, 2]) make(books, wallet, { handle: 'w' }, ledger);
    const says = (state: string, ledger: number) => said(prove(books, wallet, 'w', 'a', { status: state }, ledger));
    let made = 0;
    while (made < 1000 && says(word(made), 1) === 'ok') made++;
    expect(made).toBeGreaterThan(200);
    expect(made).toBeLessThan(300);
    expect([says(word(0), 1), says('onboarded', 1), says('blocked', 1)]).toEqual(['ok', 'ok', FULL]);
    expect([says('blocked', 2), says(word(7), 2)]).toEqual(['ok', 'ok']);
    expect(says('blocked', 1), 'whether another ledger has a word for it is not told').toBe(FULL);
    expect(says(word(7), 1)).toBe('ok');
    for (const state of recovered(books)) expect(state.variety).toEqual(books.state.variety);
  });

  test('what a ledger makes up for its own record comes to its own end too, and is of its share', () => {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'other' }, 0);
    make(books, wallet, { handle: 'w' });
    const says = (handle: string, status: string) => said(prove(books, Kind.ledger, handle, 'a', { status }, 0));
    let made = 0;
    while (made < 1000 && says('main', word(made)) === 'ok') made++;
    expect(made).toBeGreaterThan(200);
    expect(made).toBeLessThan(300);
    expect(sets(books, 'a', 'blocked'), 'no share is left in it').toBe(FULL);
    expect([says('other', 'blocked'), says('other', word(7)), says('main', word(7))]).toEqual(['ok', 'ok', 'ok']);
    expect(says('main', 'blocked'), 'whether another ledger has a word for it is not told').toBe(FULL);
    for (const state of recovered(books)) expect(state.ownStatuses).toEqual(books.state.ownStatuses);
  });

  test('whoever makes ledgers uses up none of the statuses that are kept for another, of which its own record takes too', () => {
    const books = openBooks();
    const { state } = books;
    make(books, Kind.ledger, { handle: 'other' }, 0);
    const says = (ledger: number, handle: string, status: string) =>
      said(prove(books, wallet, handle, 'a', { status }, ledger));
    let words = 0;
    for (let ledger = 3; ledger < 99 && state.statuses.length < STATUSES_MAX + 2 * STATUSES_KEPT; ledger++) {
      make(books, Kind.ledger, { handle: `thief-${ledger}` }, 0);
      for (let n = 0; n < 250; n++) {
        const handle = `w${n >> 4}`;
        if (n % 16 === 0) make(books, wallet, { handle }, ledger);
        if (says(ledger, handle, word(words)) !== 'ok') break;
        words++;
      }
    }
    const thief = state.ledgers.length - 1;
    expect([says(thief, 'w0', 'more'), says(thief, 'w0', 'more')]).toEqual([FULL, FULL]);
    for (const ledger of [1, 2]) make(books, wallet, { handle: 'w' }, ledger);
    const own = (status: string) => said(prove(books, Kind.ledger, 'other', 'a', { status }, 0));
    for (let n = 0; n < STATUSES_KEPT; n++) {
      expect(n % 2 === 0 ? says(2, 'w', `own-${n}`) : own(`own-${n}`)).toBe('ok');
    }
    expect([says(2, 'w', 'more'), own('more'), says(1, 'w', 'more')]).toEqual([FULL, FULL, 'ok']);
    expect([1, 2, thief].map((ledger) => state.lateVariety.get(ledger))).toEqual([1, STATUSES_KEPT, STATUSES_KEPT]);
    expect([says(2, 'w', 'own-2'), says(2, 'w', 'own-3'), own('own-4'), own('own-5')]).toEqual(Array(4).fill('ok'));
    for (const each of recovered(books)) expect(each.lateVariety).toEqual(state.lateVariety);
  });

  test('there are numbers for all statuses that are kept, and none are kept for ledgers beyond that', () => {
    expect(STATUSES_MAX + LEDGERS_KEPT * STATUSES_KEPT).toBeLessThan(ANY_STATUS);
    const books = openBooks();
    for (let n = 2; n <= LEDGERS_KEPT; n++) make(books, Kind.ledger, { handle: `l${n}` }, 0);
    for (const ledger of [LEDGERS_KEPT - 1, LEDGERS_KEPT]) make(books, wallet, { handle: 'w' }, ledger);
    const says = (ledger: number, status = `of-${ledger}`) => said(prove(books, wallet, 'w', 'a', { status }, ledger));
    expect(says(LEDGERS_KEPT, 'early'), 'as long as there are some for all').toBe('ok');
    while (books.state.statuses.length < STATUSES_MAX)
      books.state.statuses.push(`made up ${books.state.statuses.length}`);
    expect([says(LEDGERS_KEPT - 1), says(LEDGERS_KEPT)]).toEqual(['ok', FULL]);
  });

  test('policies of one sort for one kind have an end, and an update of one of them is no more', () => {
    const books = openBooks();
    const policy = (handle: string, record = 'wallet') => ({ handle, schema: 'status', record, values: [] });
    for (let i = 0; i < POLICIES_MAX; i++) expect(said(make(books, Kind.policy, policy(`p${i}`)))).toBe('ok');
    expect(said(make(books, Kind.policy, policy('more')))).toBe('record.invalid');
    expect(said(books.update(Kind.policy, 'p7', policy('p7')))).toBe('ok');
    expect(said(make(books, Kind.policy, policy('more', 'anchor')))).toBe('ok');
    expect(said(books.update(Kind.policy, 'more', policy('more')))).toBe('record.invalid');
    expect(said(make(books, Kind.policy, { ...policy('labels'), schema: 'labels' }))).toBe('ok');
  });
});

describe('quorums', () => {
  /** Who says `active` in this order, and after which of them the status changes; 0: never. */
  test.each<[string, object[], string, number]>([
    ['two of three', [{ signer: only('abc'), count: 2 }], 'ab', 2],
    ['one key twice is one', [{ signer: only('abc'), count: 2 }], 'aaac', 4],
    ['one of each', [{ signer: only('ab') }, { signer: only('cd') }], 'abc', 3],
    ['who fits two lines fills one', [{ signer: only('ab') }, { signer: only('ac') }], 'a', 0],
    ['and moves over for whom there is one seat only', [{ signer: only('ab') }, { signer: only('ac') }], 'ab', 2],
    ['in whatever order', [{ signer: only('ac') }, { signer: only('ab') }], 'ab', 2],
    ['three lines, three people', [{ signer: only('abc') }, { signer: only('ab') }, { signer: only('a') }], 'abc', 3],
    ['three lines, two people', [{ signer: only('abc') }, { signer: only('ab') }, { signer: only('a') }], 'acac', 0],
    ['any two', [{ signer: {}, count: 2 }], 'xy', 2],
  ])('%s', (_, quorum, letters, when) => {
    const books = withStatuses({ status: 'active', quorum });
    let reached = 0;
    for (const [i, letter] of [...letters].entries()) {
      expect(sets(books, letter, 'active')).toBe('ok');
      if (reached === 0 && status(books) === 'active') reached = i + 1;
    }
    expect(reached).toBe(when);
  });

  test('are not put off by one member who votes again and again', () => {
    const books = withStatuses({ status: 'active', quorum: [{ signer: only('abc'), count: 3 }] });
    sets(books, 'a', 'active');
    for (let n = 0; n < 300; n++) sets(books, 'b', 'active');
    expect(status(books)).toBe('created');
    sets(books, 'c', 'active');
    expect(status(books)).toBe('active');
  });

  test('any of several about one status will do', () => {
    const quorum = (letters: string) => ({
      status: 'active',
      quorum: [{ signer: only(letters), count: letters.length }],
    });
    const books = withStatuses(quorum('abc'), quorum('ab'), quorum('ac'));
    expect([sets(books, 'a', 'active'), sets(books, 'b', 'active'), status(books)]).toEqual(['ok', 'ok', 'active']);
  });

  test('who has no seat is refused, not counted', () => {
    const books = withStatuses({ status: 'active', quorum: [{ signer: only('ab'), count: 2 }] });
    expect([sets(books, 'a', 'active'), sets(books, 'x', 'active'), status(books)]).toEqual([
      'ok',
      VIOLATION,
      'created',
    ]);
  });

  test('proofs of before the last change of status count no more, nor do those of the version before', () => {
    const books = withStatuses({ status: 'active', quorum: [{ signer: only('ab'), count: 2 }] }, { status: 'off' });
    for (const letter of 'ab') sets(books, letter, 'active');
    expect([sets(books, 'x', 'off'), sets(books, 'a', 'active'), status(books)]).toEqual(['ok', 'ok', 'off']);
    books.update(wallet, 'w', { handle: 'w', custom: { n: 1 } });
    expect([sets(books, 'b', 'active'), status(books)]).toEqual(['ok', 'off']);
    expect([sets(books, 'a', 'active'), status(books)]).toEqual(['ok', 'active']);
  });

  test.each([0, 1])(
    'who said again what the status was took away what others had said, after %j updates',
    (updates) => {
      const two = { status: 'frozen', quorum: [{ signer: only('ab'), count: 2 }] };
      const books = withStatuses({ status: 'active', signer: only('c') }, two);
      expect([sets(books, 'c', 'active'), sets(books, 'x', undefined), status(books)]).toEqual(['ok', 'ok', 'active']);
      for (let i = 0; i < updates; i++)
        expect(said(books.update(wallet, 'w', { handle: 'w', custom: { i } }))).toBe('ok');
      expect([sets(books, 'a', 'frozen'), sets(books, 'c', 'active'), status(books)]).toEqual(['ok', 'ok', 'active']);
      expect([sets(books, 'b', 'frozen'), status(books)]).toEqual(['ok', 'frozen']);
      expect([sets(books, 'a', 'frozen'), sets(books, 'c', 'active'), status(books)]).toEqual(['ok', 'ok', 'active']);
      expect([sets(books, 'b', 'frozen'), status(books)]).toEqual(['ok', 'active']);
    },
  );

  test('who says what a record began with takes nobody’s word away', () => {
    const two = { status: 'frozen', quorum: [{ signer: only('ab'), count: 2 }] };
    const books = withStatuses({ status: 'created', signer: only('c') }, two);
    expect([sets(books, 'a', 'frozen'), sets(books, 'c', 'created'), sets(books, 'b', 'frozen')]).toEqual([
      'ok',
      'ok',
      'ok',
    ]);
    expect(status(books)).toBe('frozen');
  });

  test('proofs for another status do not count', () => {
    const quorum = [{ signer: only('ab'), count: 2 }];
    const books = withStatuses({ status: 'active', quorum }, { status: 'off', quorum });
    expect([sets(books, 'a', 'off'), sets(books, 'b', 'active'), status(books)]).toEqual(['ok', 'ok', 'created']);
  });
});

describe('labels', () => {
  test('mean nothing in a kind without labels policies', () => {
    const books = withStatuses({ status: 'active' });
    expect([puts(books, 'a', ['gold']), puts(books, 'a', 'gold'), labels(books)]).toEqual(['ok', 'ok', '']);
  });

  test.each<[string, unknown[], unknown, string, string]>([
    ['are put on in order', ['gold', 'blue'], ['gold', 'blue'], 'ok', 'blue gold'],
    ['once', ['gold'], ['gold', 'gold'], 'ok', 'gold'],
    ['not listed', ['gold'], ['gold', 'red'], VIOLATION, ''],
    ['not by this signer', [{ label: 'gold', signer: only('b') }], ['gold'], VIOLATION, ''],
    ['by this signer', [{ label: 'gold', signer: only('ab') }], ['gold'], 'ok', 'gold'],
    ['that are no list', ['gold'], 'gold', VIOLATION, ''],
    ['that are no texts', ['gold'], ['gold', 1], VIOLATION, ''],
    ['too many words', ['gold'], new Array(101).fill('gold'), VIOLATION, ''],
    ['put on and taken away at once', ['gold'], ['gold', '-gold'], VIOLATION, ''],
    ['taken away that are not there', ['gold'], ['-gold'], 'ok', ''],
    ['taken away that nobody lists', ['gold'], ['-red'], VIOLATION, ''],
  ])('%s', (_, values, words, reason, after) => {
    const books = withLabels(...values);
    expect([puts(books, 'a', words), labels(books)]).toEqual([reason, after]);
  });

  test('are a hundred on one record at most', () => {
    const words = Array.from({ length: 101 }, (_, n) => `label-${n}`);
    const books = withLabels(...words);
    const [first, ...others] = words as [string, ...string[]];
    expect(puts(books, 'a', others)).toBe('ok');
    expect([puts(books, 'a', [first]), recordOf(books.state, wallet, 'w').labels]).toEqual([VIOLATION, others.sort()]);
    expect(puts(books, 'a', [first, `-${others[0]}`])).toBe('ok');
    expect(recordOf(books.state, wallet, 'w').labels).toHaveLength(100);
  });

  test.each([
    ['unique by one rule about them of two', ['main', { label: 'main', unique: true }], VIOLATION],
    ['unique by none', [{ label: 'main', unique: false }], 'ok'],
  ])('%s', (_, values, reason) => {
    const books = withLabels(...values);
    expect(puts(books, 'a', ['main'])).toBe('ok');
    expect(puts(books, 'a', ['main'], 'v')).toBe(reason);
  });

  test('stay over an update of the record, and are taken away by a minus', () => {
    const books = withLabels('gold', 'blue');
    puts(books, 'a', ['gold', 'blue']);
    books.update(wallet, 'w', { handle: 'w', custom: { n: 1 }, access: [{ action: 'read' }] });
    expect(labels(books)).toBe('blue gold');
    expect([puts(books, 'a', ['-gold']), labels(books)]).toEqual(['ok', 'blue']);
    expect([puts(books, 'a', ['-blue']), labels(books)]).toEqual(['ok', '']);
  });

  test('with a quorum come and go by proofs since the last time', () => {
    const books = withLabels('blue', { label: 'gold', quorum: [{ signer: only('ab'), count: 2 }] });
    expect([puts(books, 'a', ['gold', 'blue']), labels(books)]).toEqual(['ok', 'blue']);
    expect([puts(books, 'a', ['gold']), labels(books)]).toEqual(['ok', 'blue']);
    expect([puts(books, 'b', ['gold']), labels(books)]).toEqual(['ok', 'blue gold']);
    expect([puts(books, 'a', ['-gold']), labels(books)]).toEqual(['ok', 'blue gold']);
    expect([puts(books, 'b', ['-gold']), labels(books)]).toEqual(['ok', 'blue']);
    expect([puts(books, 'a', ['gold']), labels(books)]).toEqual(['ok', 'blue']);
  });

  test('with a quorum: what is said beside a label that comes on by it counts', () => {
    const books = withLabels('blue', { label: 'gold', quorum: [{ signer: only('ab'), count: 2 }] });
    expect([puts(books, 'a', ['gold', 'blue']), labels(books)]).toEqual(['ok', 'blue']);
    expect([puts(books, 'b', ['gold']), labels(books)]).toEqual(['ok', 'blue gold']);
  });

  test.each([0, 1])('who put on again what was on took away what others had said, after %j updates', (updates) => {
    const two = { label: 'gold', quorum: [{ signer: only('ab'), count: 2 }] };
    const books = withLabels(two, { label: 'gold', signer: only('c') }, 'x', 'y');
    expect([puts(books, 'c', ['gold']), labels(books)]).toEqual(['ok', 'gold']);
    for (let i = 0; i < updates; i++)
      expect(said(books.update(wallet, 'w', { handle: 'w', custom: { i } }))).toBe('ok');
    expect([puts(books, 'a', ['-gold']), puts(books, 'c', ['gold', 'x']), labels(books)]).toEqual([
      'ok',
      'ok',
      'gold x',
    ]);
    expect([puts(books, 'b', ['-gold']), labels(books)]).toEqual(['ok', 'x']);
    expect([puts(books, 'c', ['gold']), puts(books, 'a', ['-gold'])]).toEqual(['ok', 'ok']);
    expect([puts(books, 'c', ['-gold', 'y']), puts(books, 'c', ['gold', '-y']), labels(books)]).toEqual([
      'ok',
      'ok',
      'gold x',
    ]);
    expect([puts(books, 'b', ['-gold']), labels(books)]).toEqual(['ok', 'gold x']);
  });

  test('with a quorum: what was said before the first was ever put on counts no more', () => {
    const two = { label: 'gold', quorum: [{ signer: only('ab'), count: 2 }] };
    const books = withLabels(two, { label: 'gold', signer: only('c') });
    expect([puts(books, 'a', ['gold']), puts(books, 'c', ['gold']), labels(books)]).toEqual(['ok', 'ok', 'gold']);
    expect([puts(books, 'c', ['-gold']), puts(books, 'b', ['gold']), labels(books)]).toEqual(['ok', 'ok', '']);
    expect([puts(books, 'a', ['gold']), labels(books)]).toEqual(['ok', 'gold']);
  });

  test('with a quorum: whoever wishes it away has not wished for it', () => {
    const books = withLabels({ label: 'gold', quorum: [{ signer: only('ab'), count: 2 }] });
    expect([puts(books, 'a', ['-gold']), puts(books, 'b', ['gold']), labels(books)]).toEqual(['ok', 'ok', '']);
    expect([puts(books, 'a', ['gold']), labels(books)]).toEqual(['ok', 'gold']);
  });

  test('any of several quorums about one will do', () => {
    const quorum = (letters: string) => ({ label: 'gold', quorum: [{ signer: only(letters), count: letters.length }] });
    const books = withLabels(quorum('abc'), quorum('ab'), quorum('ac'));
    expect([puts(books, 'a', ['gold']), puts(books, 'b', ['gold']), labels(books)]).toEqual(['ok', 'ok', 'gold']);
  });

  test('for one only: free again when taken away, and when its record is dropped', () => {
    const books = withLabels({ label: 'main', unique: true }, 'gold');
    expect([puts(books, 'a', ['main', 'gold']), puts(books, 'a', ['gold'], 'v')]).toEqual(['ok', 'ok']);
    expect([puts(books, 'a', ['main'], 'v'), labels(books, 'v')]).toEqual([VIOLATION, 'gold']);
    expect(puts(books, 'b', ['main'])).toBe('ok');
    expect(puts(books, 'a', ['-main'])).toBe('ok');
    expect(puts(books, 'a', ['main'], 'v')).toBe('ok');
    expect(puts(books, 'a', ['main'])).toBe(VIOLATION);
    books.drop(wallet, 'v');
    expect(puts(books, 'a', ['main'])).toBe('ok');
    make(books, Kind.circle, { handle: 'c' });
    make(books, Kind.policy, {
      handle: 'q',
      schema: 'labels',
      record: 'circle',
      values: [{ label: 'main', unique: true }],
    });
    expect(said(prove(books, Kind.circle, 'c', 'a', { labels: ['main'] }))).toBe('ok');
  });

  test('for one only: the own record of another ledger was in the way of a ledger, and told of', () => {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
    const values = [{ label: 'main', unique: true }];
    for (const ledger of [1, 2]) {
      make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'ledger', values }, ledger);
    }
    for (const handle of ['main', 'other']) {
      expect(said(prove(books, Kind.ledger, handle, 'a', { labels: ['main'] }, 0))).toBe('ok');
      expect(recordOf(books.state, Kind.ledger, handle, 0).labels).toEqual(['main']);
    }
  });

  test('a proof that one part of forbids gives nothing', () => {
    const books = withLabels('gold');
    make(books, Kind.policy, { handle: 's', schema: 'status', record: 'wallet', values: [{ status: 'active' }] });
    expect(said(prove(books, wallet, 'w', 'a', { labels: ['gold'], status: 'closed' }))).toBe(VIOLATION);
    expect(said(prove(books, wallet, 'w', 'a', { labels: ['red'], status: 'active' }))).toBe(VIOLATION);
    expect([labels(books), status(books)]).toEqual(['', 'created']);
    expect(said(prove(books, wallet, 'w', 'a', { labels: ['gold'], status: 'active' }))).toBe('ok');
    expect([labels(books), status(books)]).toEqual(['gold', 'active']);
  });

  test('are found by lists', () => {
    const books = withLabels('gold', 'blue');
    puts(books, 'a', ['gold', 'blue'], 'v');
    const found = (value: string, operator: 'eq' | 'ne' = 'eq') => {
      const filters = [{ path: ['meta', 'labels'], operator, value }];
      const listing = new Listing(books.state, {
        ledger: 1,
        kind: wallet,
        filters,
        order: 'newest',
        skip: 0,
        limit: 9,
      });
      listing.step(() => false);
      return listing.rows.map((row) => readRow(books.state, row).entry.handle);
    };
    expect([found('blue'), found('red'), found('blue', 'ne')]).toEqual([['v'], [], ['w']]);
  });

  test('statuses, labels and policies are the same after replay and out of a snapshot', () => {
    const books = withLabels({ label: 'main', unique: true }, 'gold', 'blue');
    make(books, Kind.policy, { handle: 's', schema: 'status', record: 'wallet', values: [{ status: 'active' }] });
    puts(books, 'a', ['main', 'gold']);
    puts(books, 'a', ['-gold', 'blue']);
    puts(books, 'a', ['gold'], 'v');
    sets(books, 'a', 'active');
    make(books, wallet, { handle: 'u' });
    puts(books, 'a', ['gold'], 'u');
    books.drop(wallet, 'u');
    const digest = stateDigest(books.state);
    for (const state of recovered(books)) {
      expect(stateDigest(state)).toEqual(digest);
      expect(recordOf(state, wallet, 'w').labels).toEqual(['blue', 'main']);
      expect(goesOn(books, state)).toEqual([VIOLATION, VIOLATION, 'ok']);
    }
  });
});

/** What the policies say in this state, as they did in the books it comes from. */
function goesOn(books: Books, state: State): string[] {
  const twin = Object.assign(openBooks(), { state, moment: books.moment });
  return [puts(twin, 'a', ['main'], 'v'), sets(twin, 'a', 'closed', 'v'), puts(twin, 'a', ['blue'], 'v')];
}

test('replay believes the labels an entry tells, whatever policies say', () => {
  const books = withLabels('gold');
  puts(books, 'a', ['gold']);
  const bytes = books.entries.at(-1)!;
  const entry = entryCodec.decode(bytes, 0, bytes.length);
  expect(entry).toMatchObject({ labels: ['gold'], proof: { public: new Uint8Array(keyOf('a')) } });
  const [replayed] = recovered(withLabels());
  apply(replayed!, entry, bytes, 0, bytes.length);
  expect(recordOf(replayed!, wallet, 'w').labels).toEqual(['gold']);
});

describe('access policies for records by their labels', () => {
  /** Whether a wallet with these labels may be spent from where the policy for that has this filter. */
  function maySpend(filter: object, ...words: string[]): boolean[] {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'bank', access: [{ policy: 'spenders' }] }, 0);
    const spenders = { handle: 'spenders', schema: 'access', record: 'wallet', values: [{ action: 'spend' }], filter };
    make(books, Kind.policy, spenders, 2);
    make(books, Kind.policy, { handle: 'words', schema: 'labels', record: 'wallet', values: ['frozen', 'vip'] }, 2);
    make(books, wallet, { handle: 'w' }, 2);
    const asked = (state: State) =>
      isGranted(state, 2, 'spend', wallet, recordOf(state, wallet, 'w', 2).row, { keys: [keyOf('a')], bearer: null });
    asked(books.state);
    for (const word of words) expect(said(prove(books, wallet, 'w', 'a', { labels: [word] }, 2))).toBe('ok');
    return [books.state, ...recovered(books)].map(asked);
  }

  test.each<[object, string[], boolean]>([
    [{ 'meta.labels': { $ne: 'frozen' } }, [], true],
    [{ 'meta.labels': { $ne: 'frozen' } }, ['frozen'], false],
    [{ 'meta.labels': { $ne: 'frozen' } }, ['frozen', '-frozen'], true],
    [{ 'meta.labels': { $nin: ['frozen'] } }, ['vip'], true],
    [{ 'meta.labels': 'vip' }, [], false],
    [{ 'meta.labels': 'vip' }, ['frozen', 'vip'], true],
  ])('%j, labelled %j: a frozen wallet was spent from, and what was for some was for none', (filter, words, is) => {
    expect(maySpend(filter, ...words)).toEqual([is, is, is]);
  });
});
