/**
 * What was signed brings about one thing: by chance, against a model that remembers every signature, in the books that
 * grew, in those that were replayed, and in those that a snapshot gave back, with what came after it and without.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import type { Command } from '../../src/core/command.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { type Entry, EntryType, type StoredProof } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { memberHandle } from '../../src/core/memberships.ts';
import { readRow } from '../../src/core/records.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import { replayed } from '../../src/core/replays.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { isDated } from '../../src/core/used-proofs.ts';
import { canon } from '../../src/proof/canon.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { Dice } from '../support/dice.ts';
import { often, SHARE } from '../support/long.ts';
import { Books } from './books.ts';

const LEDGERS = [1, 2];
const RECORDS = [Kind.wallet, Kind.circle];
const MEMBER = Kind['circle-signer'];
const HANDLES = ['a', 'b', 'c'];
const KEY = new Uint8Array(32).fill(7);
const CUSTOMS = [
  null,
  '{"note":"\\"moment\\":"}',
  '{"of":{"moment":"x"}}',
  '{"moment":"2030-01-02T00:00:00.000Z","status":"created"}',
  '{"moment":"2030-01-02T00:00:00.001Z"}',
  '{"labels":["x"],"moment":"2030-01-02T00:00:00.000Z"}',
  '{"moment":null}',
];

test('a proof is dated by a moment of its own, not by one in something it tells of', () => {
  expect(CUSTOMS.map(isDated)).toEqual([false, false, false, true, true, true, true]);
});

/** As Ed25519 does: the same for the same data and custom. */
function signed(data: string, custom: string | null): StoredProof {
  return { public: KEY, result: createHash('sha512').update(`${data}${custom}`).digest(), custom };
}

function openBooks(): Books {
  const books = new Books(emptyState(entryCodec, 1, { chunkBytes: 1 << 20, pageRows: 64, segments: 2 }));
  for (const ledger of LEDGERS) {
    const access = [{ action: 'any', record: 'any' }];
    const command = books.command(Kind.ledger, { handle: `l${ledger}`, access }, 0);
    const companion = books.command(Kind.signer, { handle: 'system', public: 'x', format: 'ed25519-raw' }, 0);
    books.do({ ...command, companion });
    for (const handle of HANDLES) books.create(Kind.signer, { handle, public: 'x', format: 'ed25519-raw' }, ledger);
  }
  return books;
}

/** Where the signature of each dated proof stands: by ledger and signature, the luid. */
type Known = Map<string, { luid: string; ledger: number; hash: Uint8Array; proof: StoredProof; handle: unknown }>;
const nameOf = (ledger: number, { result }: StoredProof) => `${ledger} ${Buffer.from(result).toString('hex')}`;

class Life {
  readonly books = openBooks();
  readonly known: Known = new Map();
  readonly counts = { done: 0, replayed: 0 };
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  step(): void {
    const ledger = this.#dice.pick(LEDGERS);
    const act = this.#dice.pick([() => this.#create(ledger), () => this.#next(ledger), () => this.#member(ledger)]);
    const command = act();
    if (command !== null) this.#judge(command);
  }

  #judge(command: Command & { proofs?: StoredProof[]; proof?: StoredProof; hash: Uint8Array }): void {
    const { ledger, hash } = command;
    const proofs = (command.proofs ?? [command.proof!]).filter(({ custom }) => isDated(custom));
    const stands = proofs
      .map((proof) => this.known.get(nameOf(ledger, proof))?.luid)
      .find((luid) => luid !== undefined);
    const outcome: Entry[] | Refusal = this.books.do(command);
    if (isRefusal(outcome)) {
      if (!outcome.detail.includes('stands on')) return;
      this.counts.replayed++;
      expect(outcome.reason).toBe('record.duplicated');
      expect(outcome.custom).toEqual({ luid: stands, hash: Buffer.from(hash).toString('hex') });
      return;
    }
    // A repeated proof changes nothing.
    if (outcome.length === 0) return;
    this.counts.done++;
    expect(stands, 'what stands on something brings about nothing else').toBeUndefined();
    const [{ luid }] = outcome as [Entry];
    const value = 'value' in command ? JSON.parse(command.data) : {};
    for (const proof of proofs) {
      const handle = command.op === 'proof' ? (outcome[0] as Entry).handle : value.handle;
      this.known.set(nameOf(ledger, proof), { luid, ledger, hash, proof, handle });
    }
  }

  #content(kind: Kind, value: Record<string, unknown>, ledger: number) {
    const command = this.books.command(kind, value, ledger, GRANTED);
    const count = this.#dice.chance(0.2) ? 2 : 1;
    const proofs = Array.from({ length: count }, () => signed(command.data, this.#dice.pick(CUSTOMS)));
    return { ...command, proofs };
  }

  #create(ledger: number): Command & { hash: Uint8Array } {
    return this.#content(this.#dice.pick(RECORDS), this.#value(), ledger);
  }

  #value(parent?: string): Record<string, unknown> {
    const custom = this.#dice.chance(0.5) && { custom: { n: this.#dice.below(2) } };
    return { handle: this.#dice.pick(HANDLES), ...custom, ...(parent !== undefined && { parent }) };
  }

  /** What is there is changed, dropped, or gets a proof. */
  #next(ledger: number): (Command & { hash: Uint8Array }) | null {
    const { state } = this.books;
    const kind = this.#dice.pick(RECORDS);
    const row = findHandle(state, ledger, kind, this.#dice.pick(HANDLES));
    if (row < 0) return null;
    const { luid, hash, data, handle } = readRow(state, row).entry;
    const parent = Buffer.from(hash).toString('hex');
    const op = this.#dice.pick(['update', 'drop', 'drop', 'proof'] as const);
    if (op === 'update') return { ...this.#content(kind, this.#value(parent), ledger), op, luid };
    // What drops a record may be what changes another, or makes one.
    const dropped = this.#dice.pick([{ parent }, { parent, handle }]);
    if (op === 'drop') return { ...this.#content(kind, dropped, ledger), op, luid };
    const proof = signed(data, this.#dice.pick(CUSTOMS));
    return { op, ledger, kind, moment: this.books.moment, caller: GRANTED, luid, hash, proof };
  }

  #member(ledger: number): (Command & { hash: Uint8Array }) | null {
    const { state } = this.books;
    const [circle, signer] = [this.#dice.pick(HANDLES), this.#dice.pick(HANDLES)];
    const content = this.#content(MEMBER, { circle, signer }, ledger);
    const [of, who] = [findHandle(state, ledger, Kind.circle, circle), findHandle(state, ledger, Kind.signer, signer)];
    if (of < 0 || this.#dice.chance(0.5)) return content;
    const handle = memberHandle(readRow(state, of).entry.luid, readRow(state, who).entry.luid);
    const row = findHandle(state, ledger, MEMBER, handle);
    return row < 0 ? content : { ...content, op: 'drop', luid: readRow(state, row).entry.luid };
  }
}

function replay(
  books: Books,
  state = emptyState(entryCodec, 1, { chunkBytes: 1 << 20, pageRows: 64, segments: 2 }),
  from = 0,
): State {
  for (const bytes of books.entries.slice(from)) {
    apply(state, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
  }
  return state;
}

function reload(state: State): State {
  const { extra, parts } = dumpState(state);
  const bytes = new Map(parts.map((part) => [part.name, bytesOf(part)]));
  return loadState(entryCodec, extra, bytes, { chunkBytes: 1 << 20, pageRows: 64, segments: 2 });
}

test.each(Array.from({ length: often(4, 300) }, (_, nth) => (often(SHARE * 4, 0) + nth) % 300))(
  'life %i: nothing is brought about twice by one signature',
  (seed) => {
    const life = new Life(new Dice(seed));
    for (let n = 0; n < 700; n++) life.step();
    const snapshot = reload(life.books.state);
    const from = life.books.entries.length;
    for (let n = 0; n < 800; n++) life.step();
    expect(life.counts.done).toBeGreaterThan(100);
    expect(life.counts.replayed).toBeGreaterThan(50);
    const { books, known } = life;
    const replayedBooks = replay(books);
    const loaded = reload(books.state);
    for (const state of [books.state, replayedBooks, loaded, replay(books, snapshot, from)]) {
      expect(differencesOf(books.state, state)).toEqual([]);
      expect(state.usedProofs.size).toBe(books.state.usedProofs.size);
      for (const { luid, ledger, hash, proof, handle } of known.values()) {
        for (const of of LEDGERS) {
          const there = known.get(nameOf(of, proof));
          const refusal = replayed(state, { ledger: of, kind: Kind.wallet, hash, proofs: [proof] }, handle);
          expect(refusal?.custom?.luid, `ledger ${of}`).toBe(of === ledger ? luid : there?.luid);
        }
      }
    }
  },
);

test('older books, in which a signature stands twice, tell the first place wherever they were read from', () => {
  const books = openBooks();
  const value = { handle: 'a' };
  const proof = signed(canon(value), CUSTOMS[3]!);
  for (const kind of RECORDS) books.create(kind, value);
  const [wallet, circle] = RECORDS.map((kind) => findHandle(books.state, 1, kind, 'a'));
  const { hash } = readRow(books.state, wallet!).entry;
  for (const row of [circle!, wallet!]) {
    const { ledger, kind, luid, handle, moment } = readRow(books.state, row).entry;
    books.settle({ type: EntryType.proof, ledger, kind, luid, handle, moment, row, proof, status: null });
  }
  for (const state of [books.state, replay(books), reload(books.state)]) {
    const refusal = replayed(state, { ledger: 1, kind: Kind.wallet, hash, proofs: [proof] }, 'a');
    expect(refusal?.custom?.luid).toBe(readRow(books.state, circle!).entry.luid);
  }
});

test('what made a ledger makes nothing in it, also once the ledger has had more than that entry', () => {
  const books = openBooks();
  const proofs = [signed('both', CUSTOMS[3]!)];
  const access = [{ action: 'any', record: 'any' }];
  const value = { handle: 'twin', access };
  const [made] = books.do({ ...books.command(Kind.ledger, value, 0), proofs }) as Entry[];
  const wallet = () => ({ ...books.command(Kind.wallet, { handle: 'twin' }, LEDGERS.length + 1), proofs });
  expect(books.do(wallet())).toMatchObject({ reason: 'record.duplicated', custom: { luid: made!.luid } });
  expect(isRefusal(books.update(Kind.ledger, 'twin', { handle: 'renamed', access }, 0))).toBe(false);
  for (const state of [books.state, replay(books), reload(books.state)]) {
    expect(new Books(state).do(wallet())).toMatchObject({ reason: 'record.duplicated', custom: { luid: made!.luid } });
  }
});

test('a record that has had one entry takes no memory, and is found by its name', () => {
  const books = Books.open();
  const { size } = books.state.usedProofs;
  const command = { ...books.command(Kind.wallet, { handle: 'a' }) };
  command.proofs = [signed(command.data, CUSTOMS[3]!)];
  books.do(command);
  expect(books.state.usedProofs.size).toBe(size);
  expect(isRefusal(books.do({ ...command, kind: Kind.circle }))).toBe(true);
});

test('entries named like what is asked for are read once, however many proofs there are on both sides', () => {
  let looks = 0;
  const counting = {
    ...entryCodec,
    signatures(...where: Parameters<typeof entryCodec.signatures>) {
      looks++;
      return entryCodec.signatures(...where);
    },
  };
  const books = new Books(emptyState(counting, 1, { chunkBytes: 1 << 20, pageRows: 64, segments: 2 }));
  books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
  const many = (name: string): StoredProof[] =>
    Array.from({ length: 256 }, (_, n) => signed(`${name} ${n}`, CUSTOMS[4]!));
  const command = (kind: Kind) => ({ ...books.command(kind, { handle: 'a' }), proofs: many(String(kind)) });
  const circle = command(Kind.circle);
  books.do(circle);
  const wallet = command(Kind.wallet);
  for (const [last, isRefused] of [
    [circle.proofs[255]!, true],
    [wallet.proofs[255]!, false],
  ] as const) {
    looks = 0;
    const outcome = books.do({ ...wallet, proofs: [...wallet.proofs.slice(0, 255), last] });
    expect(isRefusal(outcome)).toBe(isRefused);
    expect(looks).toBe(isRefused ? 2 : 1);
  }
});
