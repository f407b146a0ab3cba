/**
 * What an intent waits for, and what gives it: the word of whoever may spend, in the proofs it begins with or in those that
 * come after; and who takes no part in that, whatever they say.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { wordAwaited } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { type RecordView, readRow } from '../../src/core/records.ts';
import type { State } from '../../src/core/state.ts';
import { Books, destroy, issue, limit, transfer } from './books.ts';

const keyText = (key: Uint8Array) => Buffer.from(key).toString('base64');

describe('a missing permission', () => {
  const [ana, luz, stranger] = [3, 4, 5].map((byte) => new Uint8Array(32).fill(byte)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];

  /** Whoever may come in; from `a` only ana may spend, from `b` only luz. An intent of a stranger's waits for both. */
  function waitForBoth(): { books: Books; waiting: IntentEntry } {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    const spend = (key: Uint8Array) => [{ action: 'spend', signer: { public: keyText(key) } }];
    books.create(Kind.wallet, { handle: 'a', access: spend(ana) }, 2);
    books.create(Kind.wallet, { handle: 'b', access: spend(luz) }, 2);
    books.create(Kind.intent, { handle: 'seed', claims: [issue('a', 9), issue('b', 9)] }, 2, GRANTED);
    const value = { handle: 'waits', claims: [transfer('a', 'b', 5), transfer('b', 'a', 1)] };
    const [waiting] = books.create(Kind.intent, value, 2, { keys: [stranger], bearer: null }) as [IntentEntry];
    return { books, waiting };
  }

  function sign(books: Books, waiting: IntentEntry, key: Uint8Array, custom: object | null): string {
    books.addProof(waiting, custom, { key });
    return readRow(books.state, findLuid(books.state, 2, Kind.intent, waiting.luid)).status;
  }

  /** Whether the proof stands on the intent. */
  function takes(books: Books, intent: IntentEntry, key: Uint8Array, custom: object | null): boolean {
    const proofsOn = () => readRow(books.state, findLuid(books.state, 2, Kind.intent, intent.luid)).added.length;
    const before = proofsOn();
    sign(books, intent, key, custom);
    return proofsOn() > before;
  }

  /** A stranger takes all the room there is for proofs. */
  function fill(books: Books, intent: IntentEntry): void {
    for (let length = 1 << 19; length > 0; length >>= 1) {
      while (takes(books, intent, stranger, { text: 'x'.repeat(length) }));
    }
    while (takes(books, intent, stranger, null));
  }

  test('comes with the last proof it takes', () => {
    const { books, waiting } = waitForBoth();
    expect(sign(books, waiting, ana, null)).toBe('pending');
    expect(sign(books, waiting, luz, { note: 'yes' })).toBe('completed');
  });

  test('comes with the last one, where the intent was sent with the first', () => {
    const { books } = waitForBoth();
    const value = { handle: 'sent', claims: [transfer('a', 'b', 5), transfer('b', 'a', 1)] };
    const [sent] = books.create(Kind.intent, value, 2, { keys: [ana], bearer: null }) as [IntentEntry];
    expect(sign(books, sent, luz, null)).toBe('completed');
  });

  test('comes one by one, in any order, though a stranger has filled the room for proofs', () => {
    const { books, waiting } = waitForBoth();
    const isTaken = (key: Uint8Array, custom: object | null) => takes(books, waiting, key, custom);
    fill(books, waiting);
    const other = new Uint8Array(32).fill(6);
    for (const key of [stranger, other]) expect(isTaken(key, { status: 'created' })).toBe(false);
    expect(isTaken(luz, { status: 'declined' }), 'it does not wait for a no').toBe(false);
    expect(isTaken(luz, { text: 'x'.repeat(4096) }), 'a long one').toBe(false);
    expect(isTaken(luz, { status: 'created' })).toBe(true);
    expect(isTaken(luz, { status: 'committed' }), 'who has said so already').toBe(false);
    expect(isTaken(stranger, null)).toBe(false);
    // Who has agreed may take it back, or would pay by the signature of another.
    expect(isTaken(luz, { status: 'declined', text: 'x'.repeat(4096) }), 'a long one').toBe(false);
    expect(isTaken(luz, { status: 'declined' })).toBe(true);
    expect(isTaken(luz, { status: 'rejected' }), 'who has taken it back already').toBe(false);
    expect(isTaken(stranger, { status: 'declined' }), 'who has nothing to take back').toBe(false);
    expect(sign(books, waiting, ana, { status: 'pending' })).toBe('pending');
    expect(isTaken(ana, { action: 'reject' })).toBe(true);
    expect(isTaken(luz, { status: 'prepared' })).toBe(true);
    expect(sign(books, waiting, ana, null)).toBe('completed');
  });

  test('comes no more from who agrees and takes it back without end, and is taken back all the same', () => {
    const { books, waiting } = waitForBoth();
    fill(books, waiting);
    const text = 'x'.repeat(3500);
    let times = 0;
    while (takes(books, waiting, luz, { status: 'created', text })) {
      expect(takes(books, waiting, luz, { status: 'declined', text })).toBe(true);
      expect(++times).toBeLessThan(1000);
    }
    expect(times).toBeGreaterThan(100);
  });

  test.each(['commit', 'abort'])('to %s what is prepared needs no room: a stranger may have filled it', (action) => {
    const { books } = waitForBoth();
    const access = [{ action, signer: { public: keyText(ana) } }];
    const value = { handle: 'rests', claims: [transfer('a', 'b', 5)], config: { commit: 'manual' }, access };
    const [rests] = books.create(Kind.intent, value, 2, { keys: [ana], bearer: null }) as [IntentEntry];
    fill(books, rests);
    expect(sign(books, rests, ana, { action, text: 'x'.repeat(4096) }), 'a long word').toBe('prepared');
    expect(sign(books, rests, ana, { action })).toBe(action === 'commit' ? 'completed' : 'rejected');
  });

  const desk = { sub: 'desk' };
  test.each<[string, number, object[]]>([
    ['', 12, []],
    [', with a rule for any signer with a token', 12, [{ action: 'spend', signer: {}, bearer: desk }]],
    [
      ', with thousands of rules for one key',
      3,
      Array.from({ length: 900 }, () => ({ action: 'spend', signer: { public: keyText(luz) }, bearer: desk })),
    ],
  ])(
    'comes by a circle that a wallet names behind many others, though thousands of strangers have agreed%s',
    (_, count, more) => {
      const { books, waiting } = waitForBoth();
      const { state } = books;
      const circles = Array.from({ length: count }, (_, n) => `c${n}`);
      const make = (kind: Kind, value: Record<string, unknown>) => books.create(kind, value, 2, GRANTED);
      for (const handle of circles) make(Kind.circle, { handle });
      make(Kind.signer, { handle: 'luz', public: keyText(luz), format: 'ed25519-raw' });
      make(Kind.signer, { handle: 'eve', public: keyText(stranger), format: 'ed25519-raw' });
      make(Kind['circle-signer'], { circle: `c${count - 1}`, signer: 'luz' });
      const access = [...more, ...circles.map((circle) => ({ action: 'spend', signer: { $circle: circle } }))];
      books.update(Kind.wallet, 'b', { handle: 'b', access }, 2);
      const row = findLuid(state, 2, Kind.intent, waiting.luid);
      const base = { ledger: 2, kind: Kind.intent, luid: waiting.luid, handle: 'waits', moment: books.moment, row };
      for (let n = 0; n < 8000; n++) {
        const key = createHash('sha256').update(`stranger ${n}`).digest();
        const proof = { public: key, result: createHash('sha512').update(key).digest(), custom: null };
        books.settle({ type: EntryType.proof, ...base, proof, status: null });
      }
      expect(sign(books, waiting, ana, null)).toBe('pending');
      expect(sign(books, waiting, stranger, null)).toBe('pending');
      expect(sign(books, waiting, luz, null)).toBe('completed');
    },
  );

  test.each(['$record', '$ledger'])('comes by an owner (%s), though hundreds of strangers have agreed', (whose) => {
    const { books, waiting } = waitForBoth();
    const owner = new Uint8Array(32).fill(7);
    books.update(Kind.wallet, 'b', { handle: 'b', access: [{ action: 'spend', signer: { [whose]: 'owner' } }] }, 2);
    for (let n = 0; n < 300; n++) {
      const key = createHash('sha256').update(`stranger ${n}`).digest();
      expect(sign(books, waiting, key, null)).toBe('pending');
    }
    expect(sign(books, waiting, ana, null)).toBe('pending');
    expect(sign(books, waiting, owner, null)).toBe('completed');
  });

  test.each(['created', 'pending', 'prepared', 'committed', 'completed'])('comes with the status %s', (status) => {
    const { books, waiting } = waitForBoth();
    expect(sign(books, waiting, ana, { status })).toBe('pending');
    expect(sign(books, waiting, luz, { status })).toBe('completed');
  });

  test.each([
    { status: 'rejected' },
    { status: 'aborted' },
    { status: 'failed' },
    { action: 'abort' },
    { action: 'abort', status: 'committed' },
    { action: 'reject' },
    { action: 'abort', labels: ['seen'] },
    { action: null },
    { labels: ['fraud'] },
    { status: 'declined' },
    { status: 'on-hold' },
    { status: 'error' },
    { status: '' },
    { status: null },
    { status: ['committed'] },
    { handle: 'deb_of-another-intent.0', status: 'prepared' },
  ])('is not given by who signed %j, whoever signs after it', (no) => {
    const { books, waiting } = waitForBoth();
    expect(sign(books, waiting, ana, no)).toBe('pending');
    expect(sign(books, waiting, luz, null)).toBe('pending');
    expect(sign(books, waiting, stranger, { note: 'go on' })).toBe('pending');
    expect(sign(books, waiting, ana, null)).toBe('completed');
  });

  test.each([{ action: 'spend' }, { action: 'commit' }, { labels: ['checked'], status: 'created' }])(
    'comes with %j',
    (yes) => {
      const { books, waiting } = waitForBoth();
      expect(sign(books, waiting, ana, yes)).toBe('pending');
      expect(sign(books, waiting, luz, yes)).toBe('completed');
    },
  );

  test.each([
    [{ action: 'reject' }, 'completed'],
    [{ labels: ['seen'] }, 'completed'],
    [{ action: 'abort' }, 'pending'],
  ])('in older books came with %j: who decides them again has it %s', (custom, end) => {
    const { books, waiting } = waitForBoth();
    books.addProof(waiting, custom, { key: ana, caller: GRANTED });
    expect(readRow(books.state, findLuid(books.state, 2, Kind.intent, waiting.luid)).status).toBe(end);
  });

  test('is neither given nor taken back by who speaks of labels alone', () => {
    const { books, waiting } = waitForBoth();
    expect(sign(books, waiting, ana, null)).toBe('pending');
    expect(sign(books, waiting, ana, { labels: ['seen'] })).toBe('pending');
    expect(sign(books, waiting, luz, null)).toBe('completed');
  });

  test.each([{ action: 'abort' }, { action: 'reject' }, { status: 'declined' }])(
    'is taken back by who signs %j later, until they agree again: who had taken it back paid',
    (no) => {
      const { books, waiting } = waitForBoth();
      expect(sign(books, waiting, ana, null)).toBe('pending');
      expect(sign(books, waiting, ana, no)).toBe('pending');
      expect(sign(books, waiting, luz, null)).toBe('pending');
      expect(sign(books, waiting, luz, { handle: 'deb_of-another-intent.0', status: 'failed' })).toBe('pending');
      expect(sign(books, waiting, ana, { status: 'created' })).toBe('completed');
    },
  );

  test.each([
    [10 * 60_000, 'completed'],
    [10 * 60_000 + 1, 'rejected'],
  ])('that comes %i ms after an intent that may wait ten minutes, before anybody looks what is due: %s', (ms, end) => {
    const { books, waiting } = waitForBoth();
    Object.assign(books.state.ledgers[2]!, { config: { 'intent.expiryThresholdMinutes': 10 } });
    expect(sign(books, waiting, ana, null)).toBe('pending');
    books.moment += ms;
    // What moves nothing does not end it either.
    expect(sign(books, waiting, stranger, null)).toBe('pending');
    expect(sign(books, waiting, luz, { status: 'declined' })).toBe('pending');
    expect(sign(books, waiting, luz, null)).toBe(end);
    const { added } = readRow(books.state, findLuid(books.state, 2, Kind.intent, waiting.luid));
    const reasons = added.flatMap((each) => ('outcome' in each ? [each.outcome.reason] : []));
    expect(reasons).toEqual([end === 'rejected' ? 'core.intent-expired' : '']);
    expect(books.state.open.size).toBe(0);
  });
});

describe('what one claim was granted', () => {
  const open = { action: { $in: ['access', 'create', 'read'] }, record: 'any' };

  test.each([
    ['issue, the symbol', ['spend', 'issue'], 'destroy', [issue('a', 9), destroy('a', 1)]],
    ['destroy, the symbol', ['spend', 'destroy'], 'issue', [destroy('a', 1), issue('a', 9)]],
    ['spend from, the wallet', ['spend'], 'limit', [transfer('a', 'b', 1), limit('a', 'maxBalance', 90)]],
    ['limit, the wallet', ['limit'], 'spend', [limit('a', 'maxBalance', 90), transfer('a', 'b', 1)]],
  ])('to %s, is not granted to the next, which does something else to it', (_, granted, missing, claims) => {
    const statusOf = (actions: string[]) => {
      const books = Books.open();
      const access = [open, { action: { $in: actions }, record: 'any' }];
      books.create(Kind.ledger, { handle: 'kept', access }, 0);
      books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
      for (const handle of ['a', 'b']) books.create(Kind.wallet, { handle }, 2);
      books.create(Kind.intent, { handle: 'seed', claims: [issue('a', 9)] }, 2, GRANTED);
      const [sent] = books.create(Kind.intent, { handle: 'sent', claims }, 2) as [IntentEntry];
      return readRow(books.state, findLuid(books.state, 2, Kind.intent, sent.luid)).status;
    };
    expect([statusOf(granted), statusOf([...granted, missing])]).toEqual(['pending', 'completed']);
  });
});

describe('what all questions of one intent may take', () => {
  const [ana, luz] = [3, 4].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array];
  const spends = (key: Uint8Array) => [
    { action: 'spend', signer: { custom: { text: 'x'.repeat(1_000_000) } } },
    { action: 'spend', signer: { public: keyText(key) } },
  ];

  /** An intent of whoever has this key, that spends from wallets whose rules, of a megabyte each, let these do so. */
  function spending(owners: readonly Uint8Array[], key: Uint8Array): { state: State; record: RecordView } {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    books.create(Kind.wallet, { handle: 'to' }, 2);
    const handles = owners.map((_, n) => `w${n}`);
    for (const [n, handle] of handles.entries()) {
      books.create(Kind.wallet, { handle, access: spends(owners[n]!) }, 2);
      books.create(Kind.intent, { handle: `seed-${n}`, claims: [issue(handle, 1)] }, 2, GRANTED);
    }
    const value = { handle: 'sent', claims: handles.map((handle) => transfer(handle, 'to', 1)) };
    const [sent] = books.create(Kind.intent, value, 2, { keys: [key], bearer: null }) as [IntentEntry];
    return { state: books.state, record: readRow(books.state, findLuid(books.state, 2, Kind.intent, sent.luid)) };
  }

  test.each([
    [3, 'completed'],
    [8, 'pending'],
  ])('is enough for rules of %i megabytes: it is %s', (count, status) => {
    expect(spending(Array(count).fill(ana), ana).record.status).toBe(status);
  });

  test('is as much where an intent is asked whether it waits for somebody', () => {
    const others = Array<Uint8Array>(8).fill(luz);
    const stranger = new Uint8Array(32).fill(5);
    const proof = { public: ana, result: new Uint8Array(64), custom: null };
    const words = [
      [ana, ...others],
      [...others, ana],
    ].map((owners) => {
      const { state, record } = spending(owners, stranger);
      return wordAwaited(state, record, proof);
    });
    expect(words).toEqual(['yes', null]);
  });
});

describe('a proof that an intent begins with', () => {
  const ana = new Uint8Array(32).fill(3);

  /** An intent that spends from ana's wallet, sent by somebody else with ana's signatures over it and these customs. */
  function send(...customs: object[]): { books: Books; sent: IntentEntry } {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    const signer = { public: Buffer.from(ana).toString('base64') };
    books.create(Kind.wallet, { handle: 'a', access: [{ action: 'spend', signer }] }, 2);
    books.create(Kind.wallet, { handle: 'thief' }, 2);
    books.create(Kind.intent, { handle: 'seed', claims: [issue('a', 9)] }, 2, GRANTED);
    const value = { handle: 'sent', claims: [transfer('a', 'thief', 5)] };
    const command = books.command(Kind.intent, value, 2, { keys: [ana], bearer: null });
    const proofs = customs.map((custom) => ({ ...command.proofs[0]!, custom: JSON.stringify(custom) }));
    const [sent] = books.do({ ...command, proofs }) as [IntentEntry];
    return { books, sent };
  }

  test.each([{}, { status: 'created' }, { handle: 'app' }])('asks for it with %j', (custom) => {
    const { books, sent } = send(custom);
    expect(readRow(books.state, findLuid(books.state, 2, Kind.intent, sent.luid)).status).toBe('completed');
  });

  test.each([
    { action: 'abort' },
    { status: 'rejected' },
    { status: 'failed' },
    { status: 'declined' },
    { handle: 'deb_of-another-ledger.0', status: 'prepared' },
    { labels: ['seen'] },
  ])('does not spend where it says %j, whoever signs after it', (custom) => {
    const { books, sent } = send(custom);
    const row = findLuid(books.state, 2, Kind.intent, sent.luid);
    expect(readRow(books.state, row).status).toBe('pending');
    books.addProof(sent, null);
    expect(readRow(books.state, row).status).toBe('pending');
  });

  test.each([
    [{ status: 'created' }, { action: 'abort' }],
    [{ status: 'declined' }, { status: 'created' }],
  ])('does not spend beside another of the same key, in whichever order: %j, %j', (one, other) => {
    const { books, sent } = send(one, other);
    const row = findLuid(books.state, 2, Kind.intent, sent.luid);
    expect(readRow(books.state, row).status).toBe('pending');
    books.addProof(sent, null);
    expect(readRow(books.state, row).status).toBe('pending');
    books.addProof(sent, null, { key: ana });
    expect(readRow(books.state, row).status).toBe('completed');
  });

  test('beside a report of the same key asks as it does alone', () => {
    const { books, sent } = send({ status: 'created' }, { handle: 'deb_of-another-ledger.0', status: 'failed' });
    expect(readRow(books.state, findLuid(books.state, 2, Kind.intent, sent.luid)).status).toBe('completed');
  });
});
