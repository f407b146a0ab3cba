/** Proofs that are added to what is there: they commit, abort, permit, label, or are only kept. */
import { PATHS } from '../answers.ts';
import type { Rec } from '../model.ts';
import { KEYS, type Key, proofBody, signHash } from '../wish.ts';
import type { Clients, Draft, Value } from './clients.ts';

const STATUSES = ['verified', 'onboarded', 'paused', 'active', 'No Status'];

export class ProofTraffic {
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  /** Commits or aborts an intent that is prepared, or one that is not. */
  commit(ledger: number): Draft | null {
    const prepared = this.#clients.model
      .list(ledger, 'intent')
      .filter(({ progress }) => progress!.stage === 'prepared');
    const record =
      prepared.length > 0 && this.#clients.dice.chance(0.9)
        ? this.#clients.dice.pick(prepared)
        : this.#clients.any(ledger, 'intent');
    const custom = this.#clients.dice.pick([
      { action: 'commit' },
      { action: 'commit' },
      { action: 'abort' },
      { status: 'committed' },
      { status: 'aborted' },
      { status: 'completed' },
    ]);
    return record === null
      ? null
      : this.#prove(record, custom, this.#clients.dice.chance(0.6) ? KEYS[1]! : this.#clients.dice.pick(KEYS));
  }

  /** A proof that an intent may have been waiting for. */
  lateProof(ledger: number): Draft | null {
    const pending = this.#clients.model.list(ledger, 'intent').filter(({ progress }) => progress!.stage === 'pending');
    if (pending.length === 0) return null;
    return this.#prove(
      this.#clients.dice.pick(pending),
      this.#clients.dice.chance(0.5) ? null : { n: this.#clients.count() },
      this.#clients.dice.pick(KEYS),
    );
  }

  proof(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const record = this.#clients.any(ledger, dice.pick(['wallet', 'anchor', 'effect', 'circle', 'symbol', 'intent']));
    if (record === null) return null;
    const custom = dice.weigh<Value>([
      [{ status: dice.pick(STATUSES) }, 5],
      [{ labels: [dice.pick(['gold', 'vip', '-gold', '-vip', 'none'])] }, 4],
      [{ labels: ['gold', 'vip'] }, 1],
      [{ note: 'x' }, 1],
    ]);
    // Without a number the same proof comes twice now and then.
    return this.#prove(record, dice.chance(0.7) ? { ...custom, n: this.#clients.count() } : custom, dice.pick(KEYS));
  }

  #prove(record: Rec, custom: Value | null, key: Key): Draft {
    const { ledger, kind } = record;
    const { hash } = record.content;
    const id = this.#clients.idOf(record);
    const proof = signHash(hash, key, custom);
    const part = kind === 'intent' && this.#clients.dice.chance(0.2) ? 'sign' : 'proofs';
    const path = `/v2/${PATHS[kind]}/${id}/${part}`;
    return {
      method: 'POST',
      path,
      ledger,
      body: proofBody(hash, proof),
      wish: { op: 'proof', ledger, kind, id, hash, proof },
    };
  }
}
