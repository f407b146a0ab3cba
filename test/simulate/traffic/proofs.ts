/** Proofs that are added to what is there: they commit, abort, permit, label, or are only kept. */
import { PATHS } from '../answers.ts';
import type { Rec } from '../model/record.ts';
import { KEYS, type Key, proofBody, signHash } from '../wish.ts';
import type { Clients, Draft, Value } from './clients.ts';

const STATUSES = ['verified', 'onboarded', 'paused', 'active', 'No Status'];

export class ProofTraffic {
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  /** Commits or aborts an intent that is prepared, rather where not everybody may, or one that is not. */
  commit(ledger: number): Draft | null {
    const { dice, books } = this.#clients;
    const intents = books.knownLedgers().flatMap((each) => books.list(each, 'intent'));
    const prepared = intents.filter(({ progress }) => progress!.stage === 'prepared');
    const guarded = prepared.filter((each) => each.ledger > 1);
    const record =
      prepared.length > 0 && dice.chance(0.9)
        ? dice.pick(guarded.length > 0 && dice.chance(0.7) ? guarded : prepared)
        : this.#clients.any(ledger, 'intent');
    const custom = dice.pick([
      { action: 'commit' },
      { action: 'commit' },
      { action: 'abort' },
      { status: 'committed' },
      { status: 'aborted' },
      { status: 'completed' },
      // Both at once is neither.
      { action: 'abort', status: 'committed' },
      { action: 'commit', status: dice.pick(['rejected', 'on-hold']) },
    ]);
    return record === null ? null : this.#prove(record, custom, this.#commander(record));
  }

  /** Who commits or aborts: whoever mostly may, or whom the intent itself names. */
  #commander({ content }: Rec): Key {
    const { dice } = this.#clients;
    const [own] = (content.value.access ?? []) as { signer: { public: string } }[];
    const named = KEYS.find((key) => key.public === own?.signer.public);
    if (named !== undefined && dice.chance(0.6)) return named;
    return dice.chance(0.6) ? KEYS[1]! : dice.pick(KEYS);
  }

  /** A proof that an intent may have been waiting for, in whatever ledger there is one; null where there is none. */
  lateProof(): Draft | null {
    const { books } = this.#clients;
    const intents = books.knownLedgers().flatMap((ledger) => books.list(ledger, 'intent'));
    const pending = intents.filter(({ progress }) => progress!.stage === 'pending');
    if (pending.length === 0) return null;
    const { dice } = this.#clients;
    const unsigned = pending.filter(({ progress }) => !progress!.isHolding);
    // Those that wait for banks are many, and nobody's signature moves them.
    if (unsigned.length === 0 && dice.chance(0.8)) return null;
    const record = dice.pick(unsigned.length > 0 ? unsigned : pending);
    const custom = dice.weigh<Value | null>([
      [null, 3],
      [{ n: this.#clients.count() }, 3],
      // Who says so does not agree, nor later, when others do.
      [{ status: dice.pick(['failed', 'aborted', 'rejected', 'on-hold']), n: this.#clients.count() }, 3],
      [{ handle: 'deb_of-another.0', status: 'prepared' }, 0.5],
    ]);
    return this.#prove(record, custom, dice.pick(KEYS));
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
    // Without a number or a moment the same proof comes twice now and then.
    const more = dice.chance(0.4) ? { n: this.#clients.count() } : this.#clients.custom();
    return this.#prove(record, { ...custom, ...more }, dice.pick(KEYS));
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
