/**
 * A ledger without a server around it: decide, encode, apply, and nothing else. Signatures are zeros, since nothing
 * behind the door looks at them.
 */
import { createHash } from 'node:crypto';
import { type Caller, GRANTED, NOBODY } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import type { Command, CreateCommand } from '../../src/core/command.ts';
import { decide } from '../../src/core/decide.ts';
import { type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind, kindRow } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { readRow, type VersionEntry } from '../../src/core/records.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { follow, type MakeIntent } from '../../src/core/threads.ts';
import { signedIntent } from '../../src/own-records.ts';
import { canon } from '../../src/proof/canon.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { CURRENT_FORMAT, type EntryFormat } from '../../src/storage/journal.ts';

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(5);
const SERVER = keyPairFromSecret(new Uint8Array(32).fill(9));
const NO_SIGNATURE = new Uint8Array(64);

export const MIDNIGHT = Date.UTC(2030, 0, 2);

/** Its data is at hand as a value. */
type Valued = { value: Record<string, unknown> };

/** Whose proof it is, who brings it, and its signature. */
interface Prover {
  key: Uint8Array;
  caller: Caller;
  result: Uint8Array;
}

export class Books {
  readonly state: State;
  readonly entries: Uint8Array[] = [];
  moment = MIDNIGHT;
  /** How entries are written; an older format also takes them in as builds of its time did. */
  format: EntryFormat = CURRENT_FORMAT;
  readonly #buffer = new FrameBuffer();
  #made = 0;

  constructor(state: State = emptyState(entryCodec, 1, { chunkBytes: 1 << 20 })) {
    this.state = state;
  }

  /** An open ledger `main` with index 1. */
  static open(config: Record<string, unknown> = {}): Books {
    const books = new Books();
    books.create(Kind.ledger, { handle: 'main', config, access: [{ action: 'any', record: 'any' }] }, 0);
    return books;
  }

  /** Counts, from now on, how often somebody goes from an entry to the one before it. */
  countSteps(): { steps: number } {
    const { heap } = this.state;
    const prev = heap.prev.bind(heap);
    const count = { steps: 0 };
    heap.prev = (at) => {
      count.steps++;
      return prev(at);
    };
    return count;
  }

  do(command: Command): Entry[] | Refusal {
    const outcome = decide(this.state, command, this.moment);
    if (isRefusal(outcome)) return outcome;
    return outcome.flatMap((entry) => this.settle(entry, command.moment));
  }

  /** Brings in an entry and what follows from it, as the engine does. */
  settle(first: Entry, received = this.moment): Entry[] {
    const makeIntent: MakeIntent = (value, moment) => signedIntent(SERVER, this.#luid(Kind.intent), value, moment);
    const entries = [this.#record(first)];
    for (const next of follow(this.state, first, { received, now: this.moment, makeIntent })) {
      entries.push(this.#record(next));
    }
    return entries;
  }

  #record(entry: Entry): Entry {
    const buffer = this.#buffer;
    buffer.end = 0;
    this.format.encode(entry, buffer);
    // Copied: a view of a buffer of its own would hold 64 KB for each entry.
    const bytes = new Uint8Array(buffer.bytes.subarray(0, buffer.end));
    this.entries.push(bytes);
    apply(this.state, entry, bytes, 0, bytes.length);
    return entry;
  }

  #luid(kind: Kind): string {
    const random = createHash('sha256')
      .update(`luid ${this.#made++}`)
      .digest();
    return makeLuid(kindRow(kind).prefix, this.moment, random);
  }

  /** The caller's keys sign it; where there are none, some key does. */
  command(kind: Kind, value: Record<string, unknown>, ledger = 1, caller: Caller = NOBODY): CreateCommand & Valued {
    const data = canon(value);
    return {
      op: 'create',
      sheet: null,
      ledger,
      kind,
      moment: this.moment,
      caller,
      value,
      data,
      hash: createHash('sha256').update(data).digest(),
      proofs: (caller.keys.length > 0 ? caller.keys : [KEY]).map((key) => ({
        public: key,
        result: NO_SIGNATURE,
        custom: null,
      })),
      luid: this.#luid(kind),
      seal: NO_SIGNATURE,
    };
  }

  /** `byServer`: the caller's keys sign it, and no rule is asked. */
  create(
    kind: Kind,
    value: Record<string, unknown>,
    ledger = 1,
    caller: Caller = NOBODY,
    byServer = false,
  ): Entry[] | Refusal {
    const command = this.command(kind, value, ledger, caller);
    return this.do(byServer ? { ...command, caller: GRANTED } : command);
  }

  /** A new version of the record with this handle; `value` is all of its data but the parent. */
  update(kind: Kind, handle: string, value: Record<string, unknown>, ledger = 1): Entry[] | Refusal {
    const { entry } = readRow(this.state, findHandle(this.state, ledger, kind, handle));
    const parent = Buffer.from(entry.hash).toString('hex');
    const { luid } = entry;
    return this.do({ ...this.command(kind, { ...value, parent }, ledger, GRANTED), op: 'update', luid });
  }

  /** Adds a proof to a record, by another key than signed it, which speaks for itself. No two are alike, but where `result` is. */
  addProof(
    { ledger, kind, luid, hash }: VersionEntry,
    custom: object | null,
    by: Partial<Prover> = {},
  ): Entry[] | Refusal {
    const { key = OTHER_KEY, caller = { keys: [key], bearer: null } } = by;
    const { result = createHash('sha512').update(key).update(`proof ${this.entries.length}`).digest() } = by;
    const text = custom === null ? null : JSON.stringify(custom);
    const proof = { public: key, result, custom: text };
    return this.do({ op: 'proof', ledger, kind, moment: this.moment, caller, luid, hash, proof });
  }

  /** As books may have it that rules of earlier builds were kept by. */
  dropUnasked(kind: Kind, handle: string): void {
    const row = findHandle(this.state, 1, kind, handle);
    const { luid, moment, hash, data, proofs } = this.command(kind, {}, 1, GRANTED);
    this.#record({ type: EntryType.drop, ledger: 1, kind, luid, handle, moment, hash, data, proofs, row });
  }

  drop(kind: Kind, handle: string, value: Record<string, unknown> = {}, ledger = 1): Entry[] | Refusal {
    const { entry } = readRow(this.state, findHandle(this.state, ledger, kind, handle));
    const parent = Buffer.from(entry.hash).toString('hex');
    return this.do({ ...this.command(kind, { ...value, parent }, ledger, GRANTED), op: 'drop', luid: entry.luid });
  }

  wallets(...handles: string[]): this {
    for (const handle of handles) this.create(Kind.wallet, { handle });
    return this;
  }

  symbols(...handles: string[]): this {
    for (const handle of handles) this.create(Kind.symbol, { handle, factor: 100 });
    return this;
  }

  /** Clears an intent of these claims; its entry. */
  intent(...claims: Claim[]): IntentEntry {
    const [entry] = this.create(Kind.intent, { handle: `intent-${this.#made}`, claims }) as Entry[];
    return entry as IntentEntry;
  }

  balance(wallet: string, symbol = 'usd'): number {
    const { balances } = this.state;
    const slot = balances.find(
      findHandle(this.state, 1, Kind.wallet, wallet),
      findHandle(this.state, 1, Kind.symbol, symbol),
    );
    return slot < 0 ? 0 : balances.available(slot);
  }
}

export const issue = (target: string, amount: number, symbol = 'usd'): Claim => ({
  action: 'issue',
  target: { handle: target },
  symbol: { handle: symbol },
  amount,
});
export const destroy = (source: string, amount: number, symbol = 'usd'): Claim => ({
  action: 'destroy',
  source: { handle: source },
  symbol: { handle: symbol },
  amount,
});
export const transfer = (source: string, target: string, amount: number, symbol = 'usd'): Claim => ({
  action: 'transfer',
  source: { handle: source },
  target: { handle: target },
  symbol: { handle: symbol },
  amount,
});
export const limit = (wallet: string, metric: string, amount: number, symbol = 'usd'): Claim => ({
  action: 'limit',
  wallet: { handle: wallet },
  symbol: { handle: symbol },
  metric,
  amount,
});
