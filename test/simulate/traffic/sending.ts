/**
 * How requests are sent: with their ledger and a token, and now and then with something wrong, so that they must be
 * refused at the door.
 */
import { type Ask, type Flaw, KEYS, type Key, type OneTime, tokenOf } from '../wish.ts';
import type { Clients, Draft, Value } from './clients.ts';

export class Sending {
  readonly #clients: Clients;
  /** The server's moment, as clients guess it. */
  readonly #moment: () => number;
  readonly #tokens: { text: string; aud: string; token: OneTime }[] = [];

  constructor(clients: Clients, moment: () => number) {
    this.#clients = clients;
    this.#moment = moment;
  }

  finish(draft: Draft): Ask {
    const { dice } = this.#clients;
    const { method, wish, query = '', wait = null } = draft;
    const flaw = this.#pickFlaw(draft);
    const headers: Record<string, string> = {};
    if (flaw === 'ledger') headers['x-ledger'] = 'nowhere';
    else if (draft.ledger > 1 || (draft.ledger === 1 && dice.chance(0.2)))
      headers['x-ledger'] = this.#clients.idOf(this.#clients.books.ledgerRecord(draft.ledger));
    if (wait !== null) headers.prefer = `wait=${wait}`;
    const token = this.#addToken(headers, draft, flaw);
    const path =
      flaw === 'path'
        ? '/v2/nothing/here'
        : flaw === 'id'
          ? draft.path.replace(/^(\/v2\/[a-z]+)\/[^/]+/, '$1/!x')
          : draft.path;
    return {
      method: flaw === 'method' ? 'PATCH' : method,
      path,
      query,
      headers,
      body: draft.body === undefined ? Buffer.alloc(0) : spoil(draft.body, flaw),
      wish,
      flaw,
      token,
      wait,
    };
  }

  /** Keys that have not signed the intent that a proof is for, where not everybody may do everything. */
  #awaitedKeys(wish: Draft['wish']): readonly Key[] {
    if (wish.op !== 'proof' || wish.kind !== 'intent' || wish.ledger === 1) return [];
    const record = this.#clients.books.named(wish.ledger, 'intent', wish.id);
    if (record === null || record.progress!.stage === 'final') return [];
    return KEYS.filter((key) => !record.content.proofs.some((proof) => proof.public === key.public));
  }

  #pickFlaw({ body, wish, path }: Draft): Flaw | null {
    const { dice } = this.#clients;
    if (!dice.chance(0.07)) return null;
    const flaws: Flaw[] = ['path', 'token'];
    // Making a ledger takes none.
    if (!(wish.op === 'create' && wish.kind === 'ledger')) flaws.push('ledger', 'method');
    if (/^\/v2\/[a-z]+\/[^/]+/.test(path) && wish.op !== 'assign' && wish.op !== 'remove') flaws.push('id');
    if (body !== undefined) {
      flaws.push('json', 'schema', 'digest', 'signature', 'signature');
      if ('hash' in body) flaws.push('hash');
      const { proofs } = (body.meta ?? { proofs: [body] }) as { proofs: unknown[] };
      if (proofs.length === 0) return 'json';
      if (wish.op === 'create' || wish.op === 'update' || wish.op === 'assign') flaws.push('unsigned');
    }
    return dice.pick(flaws);
  }

  #addToken(headers: Record<string, string>, { ledger, wish }: Draft, flaw: Flaw | null): OneTime | null {
    const { dice } = this.#clients;
    // Requests without a ledger speak to the default one.
    const of = Math.max(ledger, 1);
    const now = Math.floor(this.#moment() / 1000);
    const awaited = this.#awaitedKeys(wish);
    const key = dice.pick(awaited.length > 0 ? awaited : KEYS);
    const aud = this.#clients.books.knownLedgers().includes(of) ? this.#clients.books.ledgerRecord(of).handle : 'main';
    const claims = { iss: 'me', sub: 'me', aud, iat: now, exp: now + 60 };
    if (flaw === 'token') {
      const wrong = dice.pick([
        { iat: now - 3e7, exp: now - 2e7 },
        { aud: 'elsewhere' },
        { iat: now + 1e7, exp: now + 2e7 },
        null,
      ]);
      headers.authorization = tokenOf(key, { ...claims, ...wrong }, wrong === null);
      return null;
    }
    if (flaw === 'ledger' || !dice.chance(awaited.length > 0 ? 0.5 : 0.08)) return null;
    // After a power cut another ledger may have the number of one that was lost.
    const known = this.#tokens.filter((each) => each.token.ledger === of && each.aud === aud);
    if (known.length > 0 && dice.chance(0.35)) {
      const { text, token } = dice.pick(known);
      headers.authorization = text;
      return token;
    }
    const jti = this.#clients.fresh('jti');
    const exp = now + dice.between(1, 200);
    headers.authorization = tokenOf(key, { ...claims, exp, jti });
    const token = { ledger: of, of: `${key.public} ${jti}`, iat: now, exp };
    this.#tokens.push({ text: headers.authorization, aud, token });
    return token;
  }
}

/** The body as bytes, with what is wrong with it. */
function spoil(body: Value, flaw: Flaw | null): Buffer {
  if (flaw === null) return Buffer.from(JSON.stringify(body));
  if (flaw === 'json') return Buffer.from(JSON.stringify(body).slice(0, -1));
  const spoilt = structuredClone(body);
  const { data, meta } = spoilt as { data?: Value; meta?: { proofs: Value[] } };
  const proof = meta === undefined ? spoilt : meta.proofs[0];
  if (flaw === 'schema') (data ?? spoilt).unknown = 1;
  if (flaw === 'hash') spoilt.hash = '0'.repeat(64);
  if (flaw === 'unsigned') meta!.proofs = [];
  if (flaw === 'digest') proof!.digest = '0'.repeat(64);
  if (flaw === 'signature') {
    const result = Buffer.from(proof!.result as string, 'base64');
    result[3]! ^= 4;
    proof!.result = result.toString('base64');
  }
  return Buffer.from(JSON.stringify(spoilt));
}
