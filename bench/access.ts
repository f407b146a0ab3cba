/**
 * `npm run bench -- access`: what one decision about access costs, gate and action together, in nanoseconds.
 *
 * A ledger of its own in memory, without a server around it: signers, circles with members, policies, wallets with
 * rules. Wallets take turns, so that what is measured is not one record in the cache of the processor.
 */
import { createHash } from 'node:crypto';
import { Bench } from 'tinybench';
import { type Caller, GRANTED, isAllowed, NOBODY } from '../src/core/access/index.ts';
import { apply } from '../src/core/apply.ts';
import type { CreateCommand } from '../src/core/command.ts';
import { decide } from '../src/core/decide.ts';
import { findHandle } from '../src/core/finding.ts';
import { Kind, kindRow } from '../src/core/kinds.ts';
import { makeLuid } from '../src/core/luid.ts';
import { isRefusal } from '../src/core/refusal.ts';
import { emptyState, type State } from '../src/core/state.ts';
import { canon } from '../src/proof/canon.ts';
import { encodeBase64 } from '../src/proof/keys.ts';
import { encode, entryCodec } from '../src/storage/codec.ts';
import { FrameBuffer } from '../src/storage/frame-buffer.ts';
import { atMost, type BenchCell, type BenchOptions, type BenchResult } from './result.ts';

const FULL = { partMs: 400, wallets: 20_000, signers: 10_000, circles: 1_000, policies: 100 };
const SMOKE: typeof FULL = { partMs: 5, wallets: 100, signers: 50, circles: 10, policies: 5 };

const OPEN = [{ action: 'any', record: 'any' }];
const GATE = { action: 'access', record: 'any' };
const WANTED_NS = 500;

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const size = smoke ? SMOKE : FULL;
  const rows: BenchCell[][] = [];
  const small = { ...size, signers: 10, circles: 1, policies: 0 };
  const signer = { action: 'spend', signer: { public: encodeBase64(keyOf(3)) } };
  const circle = { action: 'spend', signer: { $circle: 'circle-0' } };
  const nobody = { action: 'spend', signer: { handle: 'nobody' } };
  const cases: [string, typeof FULL, unknown[], object[], Caller, boolean][] = [
    ['open ledger', small, OPEN, [], NOBODY, true],
    ['one signer rule on the wallet', small, [GATE], [signer], signs(3), true],
    ['one signer rule, refused', small, [GATE], [signer], signs(4), false],
    ['one circle rule on the wallet', small, [GATE], [circle], signs(0), true],
    ['owner of the wallet', small, [GATE], [{ action: 'spend', signer: { $record: 'owner' } }], signs(7), true],
    [
      'full ledger: signer rule',
      size,
      [GATE, { policy: { $in: policyNames(size.policies) } }],
      [signer],
      signs(3),
      true,
    ],
    [
      'full ledger: circle rule',
      size,
      [GATE, { policy: { $in: policyNames(size.policies) } }],
      [circle],
      signs(0),
      true,
    ],
    ['full ledger: a thousand signers, a turn each', size, [GATE], [circle, nobody], NOBODY, false],
    [
      'full ledger: by the last policy',
      size,
      [GATE, { policy: { $in: policyNames(size.policies) } }],
      [],
      signs(1),
      true,
    ],
  ];
  const wrong: string[] = [];
  for (const [name, counts, ledger, own, caller, expected] of cases) {
    const { state, wallets } = fill(counts, ledger, own);
    const isTurning = name.includes('a turn each');
    const callers = isTurning ? Array.from({ length: Math.min(1024, counts.signers) }, (_, i) => signs(i)) : [caller];
    let turn = 0;
    const once = (): boolean => {
      const n = turn++;
      const wallet = wallets[n % wallets.length]!;
      return isAllowed(state, 1, 'spend', Kind.wallet, wallet, callers[n % callers.length]!);
    };
    if (!isTurning && once() !== expected) wrong.push(name);
    const bench = new Bench({ time: size.partMs, warmupTime: size.partMs / 2 });
    // A thousand decisions a turn: the clock costs more than one of them.
    bench.add(name, () => {
      let count = 0;
      for (let i = 0; i < 1000; i++) if (once()) count++;
      if (count > 1000) throw new Error('unreachable');
    });
    await bench.run();
    const result = bench.tasks[0]!.result;
    rows.push([name, 'latency' in result ? result.latency.p50 * 1000 : null]);
  }
  const usual = rows.slice(0, 4).map((row) => row[1] as number);
  const worst = Math.max(...usual);
  return {
    name: 'access',
    tables: [{ title: `Decisions over ${size.wallets} wallets`, columns: ['rule', 'ns'], rows }],
    goals: smoke ? [] : [atMost('usual rules', 'ns', worst, WANTED_NS, 'one')],
    notes: [
      `full ledger: ${size.signers} signers, ${size.circles} circles, ${size.policies} policies`,
      ...wrong.map((name) => `wrong answer: ${name}`),
    ],
    ok: wrong.length === 0,
  };
}

function keyOf(number: number): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`key ${number}`).digest());
}

function signs(number: number): Caller {
  return { keys: [keyOf(number)], bearer: null };
}

function policyNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `policy-${i}`);
}

/** A ledger with these rules, and wallets that each carry `own`. */
function fill(size: typeof FULL, ledger: unknown[], own: object[]): { state: State; wallets: number[] } {
  const state = emptyState(entryCodec, 1);
  const buffer = new FrameBuffer();
  let made = 0;
  const create = (kind: Kind, value: Record<string, unknown>, at = 1): void => {
    const data = canon(value);
    const seal = new Uint8Array(64);
    const command: CreateCommand = {
      op: 'create',
      sheet: null,
      ledger: at,
      kind,
      moment: 1_900_000_000_000,
      caller: GRANTED,
      value,
      data,
      hash: createHash('sha256').update(data).digest(),
      proofs: [{ public: keyOf(7), result: seal, custom: null }],
      luid: makeLuid(kindRow(kind).prefix, 1_900_000_000_000, createHash('sha256').update(`${made++}`).digest()),
      seal,
    };
    const outcome = decide(state, command, command.moment);
    if (isRefusal(outcome)) throw new Error(`${outcome.reason}: ${outcome.detail}`);
    for (const entry of outcome) {
      buffer.end = 0;
      encode(entry, buffer);
      apply(state, entry, buffer.bytes, 0, buffer.end);
    }
  };
  create(Kind.ledger, { handle: 'bench', access: ledger }, 0);
  for (let i = 0; i < size.signers; i++) {
    create(Kind.signer, { handle: `signer-${i}`, public: encodeBase64(keyOf(i)), format: 'ed25519-raw' });
  }
  for (let i = 0; i < size.circles; i++) {
    create(Kind.circle, { handle: `circle-${i}` });
    for (let n = 0; n < 10; n++)
      create(Kind['circle-signer'], { circle: `circle-${i}`, signer: `signer-${(i * 10 + n) % size.signers}` });
  }
  for (const [i, handle] of policyNames(size.policies).entries()) {
    const signer = { handle: i === size.policies - 1 ? 'signer-1' : 'nobody' };
    create(Kind.policy, { handle, schema: 'access', record: 'wallet', values: [{ action: 'spend', signer }] });
  }
  const wallets: number[] = [];
  for (let i = 0; i < size.wallets; i++) {
    create(Kind.wallet, own.length === 0 ? { handle: `wallet-${i}` } : { handle: `wallet-${i}`, access: own });
    wallets.push(findHandle(state, 1, Kind.wallet, `wallet-${i}`));
  }
  return { state, wallets };
}
