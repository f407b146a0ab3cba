/**
 * The kinds of record a ledger keeps, in one table. Everything that differs by kind and is plain data
 * stands here; what differs by behaviour stands with its behaviour (schemas in http/, relations in
 * core/decide.ts).
 *
 * The position of a row is the kind's number on disk: rows are added at the end and never move.
 */

interface KindRow {
  /** Name in the singular: the member of events, the word in details. */
  readonly name: string;
  /** Path segment under /v2; empty for what is reached through another record. */
  readonly path: string;
  /** Type prefix of its luids. */
  readonly prefix: string;
  /** meta.status of a fresh record. */
  readonly status: string;
  readonly update: boolean;
  readonly drop: boolean;
}

export const KINDS = [
  { name: 'ledger', path: 'ledgers', prefix: 'ldg', status: 'created', update: true, drop: false },
  { name: 'signer', path: 'signers', prefix: 'snr', status: 'created', update: true, drop: false },
  { name: 'symbol', path: 'symbols', prefix: 'sym', status: 'created', update: true, drop: false },
  { name: 'wallet', path: 'wallets', prefix: 'wlt', status: 'created', update: true, drop: true },
  { name: 'anchor', path: 'anchors', prefix: 'anc', status: 'created', update: true, drop: true },
  { name: 'intent', path: 'intents', prefix: 'int', status: 'pending', update: false, drop: false },
  { name: 'effect', path: 'effects', prefix: 'eff', status: 'active', update: true, drop: true },
  { name: 'bridge', path: 'bridges', prefix: 'brg', status: 'created', update: true, drop: true },
  { name: 'circle', path: 'circles', prefix: 'crc', status: 'created', update: true, drop: true },
  { name: 'policy', path: 'policies', prefix: 'plc', status: 'created', update: true, drop: true },
  { name: 'schema', path: 'schemas', prefix: 'sch', status: 'created', update: true, drop: false },
  { name: 'circle-signer', path: '', prefix: 'csn', status: 'created', update: false, drop: true },
] as const satisfies readonly KindRow[];

export type KindName = (typeof KINDS)[number]['name'];

/** A kind's number: its row in KINDS. */
export const Kind = {
  ledger: 0,
  signer: 1,
  symbol: 2,
  wallet: 3,
  anchor: 4,
  intent: 5,
  effect: 6,
  bridge: 7,
  circle: 8,
  policy: 9,
  schema: 10,
  'circle-signer': 11,
} as const satisfies Record<KindName, number>;
export type Kind = (typeof Kind)[KindName];

export function kindRow(kind: Kind): KindRow {
  return KINDS[kind];
}

/** A ledger and kind as one number: there are never more than SCOPES kinds. */
export function scopeOf(ledger: number, kind: Kind): number {
  return ledger * SCOPES + kind;
}

/** Scopes of one ledger. */
export const SCOPES = 16;
