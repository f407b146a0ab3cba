/**
 * Requests that make, change and drop records, and that put signers into circles: every kind of record, in few words of
 * which many stand in each other's way.
 */
import type { Claim } from '../../../src/core/claims/index.ts';
import type { KindName } from '../../../src/core/kinds.ts';
import { handleIn } from '../../core/model.ts';
import { PATHS } from '../answers.ts';
import type { Rec } from '../model/record.ts';
import { bankUrl, hookUrl } from '../network.ts';
import { type Content, contentOf, KEYS, type Key, recordBody, type Wish } from '../wish.ts';
import {
  BRIDGED,
  BRIDGES,
  type Clients,
  type Draft,
  LEDGERS,
  ROUTED,
  SYMBOLS,
  type Value,
  WALLETS,
} from './clients.ts';

const UPDATED: readonly KindName[] = [
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'bridge',
  'bridge',
  'circle',
  'policy',
  'signer',
  'symbol',
  'ledger',
  'ledger',
];

const DROPPED: readonly KindName[] = ['wallet', 'anchor', 'effect', 'bridge', 'circle', 'policy'];
const EVERYBODY = { action: 'any', record: 'any' };

export class RecordTraffic {
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  /** A new record of any kind but an intent. */
  record(ledger: number): Draft {
    const { dice } = this.#clients;
    const kind = dice.weigh<KindName>([
      ['wallet', 4],
      ['anchor', 5],
      ['symbol', 1],
      ['effect', 2],
      ['bridge', 2],
      ['circle', 2],
      ['policy', 1],
      ['schema', 0.4],
      ['signer', 2],
      ['ledger', 0.4],
    ]);
    if (kind === 'ledger') return this.ledger(dice.pick(LEDGERS));
    return this.#clients.create(ledger, kind, this.#valueOf(ledger, kind), this.#clients.keys(ledger));
  }

  ledger(handle: string): Draft {
    const { dice } = this.#clients;
    const [first, second] = KEYS as [Key, Key];
    const minutes = { 'intent.expiryThresholdMinutes': dice.between(1, 8) };
    const value: Value =
      handle === 'guarded'
        ? {
            handle,
            config: minutes,
            access: [
              {
                action: { $in: ['access', 'create', 'read', 'update', 'drop', 'assign-signer', 'remove-signer'] },
                record: 'any',
              },
              { action: { $in: ['issue', 'destroy'] }, record: 'symbol', signer: { public: first.public } },
              { action: 'limit', record: 'wallet', signer: { public: first.public } },
              { action: { $in: ['commit', 'abort'] }, record: 'intent', signer: { public: second.public } },
              {
                action: { $in: ['commit', 'abort'] },
                record: 'intent',
                bearer: { $signer: { public: second.public } },
              },
              { action: 'activate', record: 'bridge', signer: { public: KEYS[2]!.public } },
            ],
          }
        : {
            handle,
            config: { ...minutes, 'anchor.walletRequired': false },
            access: [
              { action: { $in: ['access', 'read'] }, record: 'any' },
              { ...EVERYBODY, signer: { public: first.public } },
            ],
          };
    return this.#clients.create(0, 'ledger', value, [first]);
  }

  #extraRule(): Value {
    const signer = { public: this.#clients.dice.pick(KEYS).public };
    return this.#clients.dice.chance(0.5)
      ? { action: 'commit', record: 'intent', signer }
      : { action: 'spend', record: 'wallet', signer };
  }

  wallet(ledger: number, handle: string): Value {
    const { dice } = this.#clients;
    // Banks have little to do in a ledger where hardly anybody may spend of theirs.
    const spend = dice.chance(BRIDGED.includes(handle) ? 0.7 : 0.2) ? [{ action: 'spend' }] : spendBy(dice.pick(KEYS));
    return {
      handle,
      ...(ledger !== 1 && dice.chance(0.95) && { access: spend }),
      ...(dice.chance(0.3) && { schema: dice.pick(['bank', 'user']) }),
      ...(BRIDGED.includes(handle) && { bridge: BRIDGES[BRIDGED.indexOf(handle)]! }),
      ...(ROUTED.includes(handle) && { routes: this.#routes() }),
      ...(dice.chance(0.3) && { custom: { n: this.#clients.count() } }),
    };
  }

  #routes(): Value[] {
    const { dice, wallets, bridged, routed } = this.#clients;
    return Array.from({ length: dice.between(1, 2) }, () => {
      const action = dice.weigh([
        ['forward', 5],
        ['credit', 3],
        ['debit', 2],
        ['accept', 1],
      ]);
      const filter = dice.weigh<Value | null>([
        [null, 3],
        [{ 'symbol.handle': 'usd' }, 1],
        [{ amount: { $lte: 30 } }, 1],
      ]);
      const target = dice.weigh([
        [dice.pick(wallets), 4],
        [dice.pick(routed), routed.length > 0 ? 3 : 0],
        [dice.pick(bridged), bridged.length > 0 ? 1 : 0],
        ['nobody', 0.3],
      ]);
      const isAimless = action === 'accept' || dice.chance(0.02);
      return { action, ...(!isAimless && { target }), ...(filter !== null && { filter }) };
    });
  }

  bridge(ledger: number, handle: string): Value {
    const { dice } = this.#clients;
    const traits = dice.chance(0.6) && { traits: ['statuses'] };
    const groupBy = () => dice.pick([[], ['source'], ['symbol'], ['target', 'symbol'], ['source', 'target', 'symbol']]);
    const config = {
      server: bankUrl(ledger, handle),
      ...(dice.chance(0.3) && { 'debits.claims.groupBy': groupBy() }),
      ...(dice.chance(0.3) && { 'credits.claims.groupBy': groupBy() }),
    };
    return { handle, config, custom: { n: this.#clients.count() }, ...traits };
  }

  effect(handle = 'e0'): Value {
    const { dice } = this.#clients;
    const signal = dice.pick([
      'balance-received',
      'intent-updated',
      'intent-created',
      'wallet-created',
      'wallet-proofs-added',
      'wallet-limited',
      'effect-updated',
    ]);
    const filter = signal === 'balance-received' && dice.chance(0.5) && { filter: { amount: { $gte: 20 } } };
    const action = dice.chance(0.8)
      ? { schema: 'webhook', endpoint: hookUrl(this.#clients.fresh('hook')) }
      : { schema: 'bridge', bridge: 'b0' };
    return { handle, signal, action, ...filter };
  }

  #valueOf(ledger: number, kind: KindName): Value {
    const { dice } = this.#clients;
    switch (kind) {
      case 'wallet':
        return this.wallet(ledger, dice.pick(WALLETS));
      case 'symbol':
        return { handle: dice.pick(SYMBOLS), factor: dice.pick([1, 100]), custom: { n: this.#clients.count() } };
      case 'anchor':
        return {
          handle: `a${dice.below(12)}`,
          wallet: dice.chance(0.05) ? 'nobody' : dice.pick(WALLETS),
          target: dice.pick(WALLETS),
          ...(dice.chance(0.5) && { symbol: 'usd' }),
          custom: { n: this.#clients.count() },
        };
      case 'effect':
        return this.effect(`e${dice.below(3)}`);
      case 'bridge':
        return this.bridge(ledger, `b${dice.below(3)}`);
      case 'circle':
        return {
          handle: `c${dice.below(4)}`,
          ...(dice.chance(0.5) && { schema: dice.pick(['strict', 'none']) }),
          ...(dice.chance(0.6) && { custom: { level: dice.pick([1, 2, 'high']) } }),
        };
      case 'policy':
        return dice.pick([
          { handle: 'p0', schema: 'labels', record: 'anchor', values: ['gold', { label: 'vip', unique: true }] },
          {
            handle: 'p1',
            schema: 'status',
            record: 'effect',
            values: [{ status: 'paused', from: ['active'] }, { status: 'active' }],
          },
          { handle: 'p2', schema: 'access', record: 'any', values: [] },
        ]);
      case 'schema':
        return {
          handle: 'strict',
          record: 'circle',
          format: 'json-schema',
          schema: {
            type: 'object',
            required: ['custom'],
            properties: { custom: { type: 'object', required: ['level'], properties: { level: { type: 'integer' } } } },
          },
        };
      default:
        return { handle: `s${dice.below(4)}`, public: dice.pick(KEYS).public, format: 'ed25519-raw' };
    }
  }

  update(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const kind = dice.pick(UPDATED);
    const record = kind === 'ledger' ? this.#clients.books.ledgerRecord(ledger) : this.#clients.any(ledger, kind);
    if (record === null) return null;
    const { value: before, hash } = record.content;
    const parent = dice.chance(0.93) ? hash : record.versions[0] === hash ? 'ab'.repeat(32) : record.versions[0];
    const value: Value = { ...before, custom: { ...(before.custom as object), n: this.#clients.count() }, parent };
    if (kind === 'effect' && dice.chance(0.4)) {
      value.signal = dice.pick(['intent-updated', 'balance-received']);
      // Of amounts only the one knows.
      if (value.signal === 'intent-updated') delete value.filter;
    }
    if (kind === 'ledger' && ledger !== 1) {
      value.config = { ...(before.config as object), 'intent.expiryThresholdMinutes': dice.between(1, 8) };
      // Who may do something today may not tomorrow.
      const rules = (before.access as Value[]).filter(({ action }) => action !== 'commit' && action !== 'spend');
      value.access = dice.chance(0.5) ? rules : [...rules, this.#extraRule()];
    }
    if (kind === 'effect' && value.signal === 'balance-received' && dice.chance(0.4)) {
      value.filter = { amount: { $gte: dice.between(1, 40) } };
    }
    if (kind === 'bridge') Object.assign(value, this.#otherBridge(value));
    if (kind === 'wallet' && dice.chance(0.3)) Object.assign(value, this.#otherWallet(value));
    if (kind === 'wallet' && ledger !== 1 && dice.chance(0.4)) {
      value.access = spendBy(dice.pick(KEYS));
    }
    const isRenamed = ['wallet', 'anchor', 'circle', 'policy', 'symbol'].includes(kind) && dice.chance(0.2);
    if (isRenamed) {
      value.handle = `${kind[0]}${dice.below(8)}`;
      this.#clients.formerNames.push(record.handle);
    }
    const home = kind === 'ledger' ? 0 : ledger;
    const content = contentOf(value, this.#clients.keys(ledger), this.#clients.custom());
    const luidSent = dice.chance(0.5) ? (dice.chance(0.95) ? record.luid : `$wlt.${'0'.repeat(17)}`) : undefined;
    const id = this.#clients.idOf(record);
    const wish: Wish = { op: 'update', ledger: home, kind, id, content, ...(luidSent !== undefined && { luidSent }) };
    return { method: 'PUT', path: `/v2/${PATHS[kind]}/${id}`, ledger, wish, body: recordBody(content, luidSent) };
  }

  /** A bridge that hears of statuses hears of them no more, or the other way round; it groups claims otherwise. */
  #otherBridge({ traits, config }: Value): Value {
    const { dice } = this.#clients;
    const toggled = traits === undefined || (traits as string[]).length === 0 ? ['statuses'] : [];
    return {
      ...(dice.chance(0.3) && { traits: toggled }),
      ...(dice.chance(0.3) && {
        config: { ...(config as object), 'debits.claims.groupBy': dice.pick([[], ['source']]) },
      }),
    };
  }

  /** A wallet leads elsewhere, or another bank stands behind it. */
  #otherWallet({ routes, bridge }: Value): Value {
    const { bridged } = this.#clients;
    if (routes !== undefined) return { routes: this.#routes() };
    return bridge === undefined || bridged.length === 0 ? {} : { bridge: this.#clients.dice.pick(BRIDGES) };
  }

  drop(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const kind = dice.pick(DROPPED);
    return this.#drop(ledger, kind, this.#clients.any(ledger, kind));
  }

  /** A wallet goes that an intent passes something on through, once a bank has answered. */
  dropThrough(ledger: number): Draft | null {
    const { books, dice } = this.#clients;
    const waiting = books.list(ledger, 'intent').flatMap(({ progress }) => {
      return progress!.stage === 'pending' ? progress!.forwards : [];
    });
    return waiting.length === 0 ? null : this.#drop(ledger, 'wallet', books.live(dice.pick(waiting).wallet));
  }

  #drop(ledger: number, kind: KindName, record: Rec | null): Draft | null {
    const { dice } = this.#clients;
    if (record === null) return null;
    const parent = dice.chance(0.95) ? record.content.hash : 'cd'.repeat(32);
    // Nobody need sign a drop where the rules ask for nobody.
    const keys = dice.chance(0.1) ? [] : this.#clients.keys(ledger);
    const handle = dice.chance(0.8) ? undefined : dice.chance(0.9) ? record.handle : `${record.handle}-b`;
    const content = contentOf({ ...(handle !== undefined && { handle }), parent }, keys, this.#clients.custom());
    const id = this.#clients.idOf(record);
    const wish: Wish = { op: 'drop', ledger, kind, id, content };
    const [method, tail] = dice.chance(0.5) ? ['DELETE', ''] : ['POST', '/drop'];
    return { method, path: `/v2/${PATHS[kind]}/${id}${tail}`, ledger, wish, body: recordBody(content) };
  }

  /** Whoever may sign what an intent waits for comes into the circle that may spend there, or leaves it. */
  circleFor(): Draft | null {
    const { dice, books } = this.#clients;
    const intents = books.knownLedgers().flatMap((each) => books.list(each, 'intent'));
    const waiting = intents.filter(({ progress }) => progress!.stage === 'pending' && !progress!.isHolding);
    if (waiting.length === 0) return null;
    const { ledger, content: sent } = dice.pick(waiting);
    const claims = sent.value.claims as Claim[];
    const source = claims.flatMap((claim) => (claim.source === undefined ? [] : [handleIn(claim.source)]))[0] ?? '';
    const rules = books.find(ledger, 'wallet', source)?.content.value.access as Value[] | undefined;
    const handle = rules?.map(({ signer }) => (signer as { $circle?: string } | undefined)?.$circle).find(Boolean);
    if (handle === undefined) return null;
    const keys = this.#clients.keys(ledger);
    const circle = { handle, schema: 'strict', custom: { level: 1 } };
    if (books.find(ledger, 'circle', handle) === null) return this.#clients.create(ledger, 'circle', circle, keys);
    const signers = books.list(ledger, 'signer').filter((signer) => signer.handle !== 'system');
    if (signers.length === 0) return this.#clients.create(ledger, 'signer', this.#valueOf(ledger, 'signer'), keys);
    const content = contentOf({ circle: handle, signer: dice.pick(signers).handle }, keys, this.#clients.custom());
    return memberDraft(ledger, content, dice.chance(0.3));
  }

  member(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const of = this.#clients.any(ledger, 'circle');
    const who = this.#clients.any(ledger, 'signer');
    if (of === null || who === null) return null;
    const [circle, signer] = [of.handle, dice.chance(0.95) ? who.handle : 'nobody'];
    const isOff = dice.chance(0.35);
    return memberDraft(
      ledger,
      contentOf({ circle, signer }, this.#clients.keys(ledger), this.#clients.custom()),
      isOff,
    );
  }
}

/** Whoever has this key spends by a signature, or by a token whoever signs; and so do the members of a circle. */
function spendBy(owner: Key): Value[] {
  const { public: key } = owner;
  return [
    { action: 'spend', signer: { $circle: `c${KEYS.indexOf(owner)}` } },
    { action: 'spend', signer: { public: key } },
    { action: 'spend', bearer: { $signer: { public: key } } },
  ];
}

/** A signer joins a circle, or leaves it. */
export function memberDraft(ledger: number, content: Content, isOff: boolean): Draft {
  const { circle, signer } = content.value as { circle: string; signer: string };
  const wish: Wish = { op: isOff ? 'remove' : 'assign', ledger, kind: 'circle-signer', circle, signer, content };
  const path = `/v2/circles/${circle}/signers`;
  const body = recordBody(content);
  return isOff
    ? { method: 'DELETE', path: `${path}/${signer}`, ledger, wish, body }
    : { method: 'POST', path, ledger, wish, body };
}
