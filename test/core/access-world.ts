/**
 * A small world for questions about access, twice: as books of the core, and as the model has it. Two ledgers carry the
 * same handles with other keys, so that whatever looks into the wrong one is found out.
 */
import { createHash } from 'node:crypto';
import {
  type AccessAction,
  type Caller,
  isAllowed,
  isGranted,
  mayEnter,
  NO_ROW,
  setServerRules,
} from '../../src/core/access/index.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind, type KindName } from '../../src/core/kinds.ts';
import type { State } from '../../src/core/state.ts';
import type { ModelBearer, ModelLedger, ModelPolicy, ModelRecord, Question, RuleText } from './access-model.ts';
import { Books } from './books.ts';

/** 32 bytes of a person's key; in another ledger of the same name, another key. */
export function keyOf(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`key of ${name}`).digest());
}
export const textOf = (name: string): string => Buffer.from(keyOf(name)).toString('base64');

/** Who asks: who signed, and whose token was sent. */
export interface Asker {
  signs: string[];
  token?: string;
  claims?: Partial<Omit<ModelBearer, 'public'>>;
}

const CLAIMS = { iss: 'bank', sub: 'anna', aud: 'one', hsh: false };

export function callerOf({ signs, token, claims }: Asker): Caller {
  const bearer = token === undefined ? null : { ...CLAIMS, ...claims, key: keyOf(token) };
  return { keys: signs.map(keyOf), bearer };
}

export interface Setup {
  server?: RuleText[] | undefined;
  ledger?: RuleText[] | undefined;
  policyBased?: boolean | undefined;
  /** Rules of the wallet `mine`. */
  record?: RuleText[] | undefined;
  policies?: ModelPolicy[] | undefined;
}

export const OPEN_SERVER: RuleText[] = [{ action: { $in: ['access', 'create'] } }];
export const OPEN_GATE: RuleText[] = [{ action: 'access', record: 'any' }];

const PEOPLE = [
  {
    handle: 'anna',
    schema: 'person',
    custom: { role: 'cashier', place: { city: 'Lima', floor: 2 }, tags: ['a', 'b'] },
  },
  { handle: 'ben', schema: 'person', custom: { role: 'auditor' } },
];
const CIRCLES: Record<string, string[]> = { ops: ['anna'], audit: ['ben', 'anna'], empty: [] };

/** What a question may be about. */
export const SUBJECTS = ['mine', 'kind', 'new', 'ledger'] as const;
export type Subject = (typeof SUBJECTS)[number];

export class World {
  readonly books = new Books();
  readonly models: ModelLedger[] = [];
  readonly server: RuleText[];
  readonly records: Record<string, ModelRecord>;

  /** Everything is made by the server before any rule stands, then the rules are put in. */
  constructor({ server = OPEN_SERVER, ledger = OPEN_GATE, policyBased = false, record = [], policies = [] }: Setup) {
    for (const [index, handle] of ['one', 'two'].entries()) {
      const suffix = index === 0 ? '' : ' of two';
      const people = PEOPLE.map((person) => ({ ...person, public: textOf(person.handle + suffix) }));
      const access = index === 0 ? ledger : [{ action: 'any', record: 'any' }];
      const config = index === 0 && policyBased ? { 'access.strategy': 'policy-based' } : {};
      const owner = `lead${suffix}`;
      this.make(Kind.ledger, { handle, access, config }, 0, [owner]);
      const at = index + 1;
      for (const person of people) this.make(Kind.signer, { ...person, format: 'ed25519-raw' }, at, ['system']);
      for (const [circle, members] of Object.entries(CIRCLES)) {
        this.make(Kind.circle, { handle: circle }, at, ['system']);
        for (const signer of members) this.make(Kind['circle-signer'], { circle, signer }, at, ['system']);
      }
      // The other ledger's policies of the same name let everybody do everything.
      const wide = policies.map((policy) => ({ ...policy, record: 'any', values: [{ action: 'any' }] }));
      for (const policy of index === 0 ? policies : wide) this.make(Kind.policy, { ...policy }, at, ['system']);
      this.make(Kind.wallet, { ...MINE, access: index === 0 ? record : [{ action: 'any' }] }, at, [`ben${suffix}`]);
      this.models.push({
        handle,
        access,
        policyBased: index === 0 && policyBased,
        owners: [textOf(owner)],
        signers: people,
        circles: CIRCLES,
        policies,
      });
    }
    this.server = server;
    setServerRules(this.state, server);
    this.records = {
      mine: { kind: 'wallet', data: { ...MINE, access: record }, status: 'created', owners: [textOf('ben')] },
      ledger: { kind: 'ledger', data: { handle: 'one', access: ledger }, status: 'created', owners: [textOf('lead')] },
    };
  }

  get state(): State {
    return this.books.state;
  }

  /** Makes a record past all rules. */
  make(kind: Kind, value: Record<string, unknown>, ledger: number, signers: string[]): void {
    const outcome = this.books.create(kind, value, ledger, { keys: signers.map(keyOf), bearer: null }, true);
    if (!Array.isArray(outcome)) throw new Error(`${outcome.reason}: ${outcome.detail}`);
  }

  /** The core's answer: gate and action, or one of them. */
  core(
    asker: Asker,
    action: string,
    target: string,
    subject: Subject,
    part: 'both' | 'gate' | 'act' = 'both',
  ): boolean {
    const isProof = target.endsWith('-proof');
    const kind = Kind[target.replace(/-proof$/, '') as KindName];
    const number = kind + (isProof ? 16 : 0);
    const draft = subject === 'new' ? { value: DRAFT, data: '' } : null;
    const row =
      subject === 'ledger'
        ? this.state.ledgers[1]!.row
        : subject === 'mine'
          ? findHandle(this.state, 1, Kind.wallet, 'mine')
          : NO_ROW;
    const caller = callerOf(asker);
    if (part === 'gate') return mayEnter(this.state, 1, number, row, caller, draft);
    if (part === 'act') return isGranted(this.state, 1, action as AccessAction, number, row, caller, draft);
    return isAllowed(this.state, 1, action as AccessAction, number, row, caller, draft);
  }

  question(asker: Asker, action: string, target: string, subject: Subject): Question {
    const isLedger = target === 'ledger' || target === 'ledger-proof';
    const record = subject === 'new' ? NEW : subject === 'kind' ? null : this.records[subject]!;
    const { claims, token, signs } = asker;
    return {
      server: this.server,
      ledger: isLedger && subject !== 'ledger' ? null : this.models[0]!,
      action,
      target,
      record: record ?? null,
      isNew: subject === 'new',
      keys: signs.map(textOf),
      bearer: token === undefined ? null : { ...CLAIMS, ...claims, public: textOf(token) },
    };
  }
}

const MINE = { handle: 'mine', schema: 'savings', custom: { tier: 'gold' } };
const DRAFT = { handle: 'draft', schema: 'savings', custom: { tier: 'silver' } };
const NEW: ModelRecord = { kind: 'wallet', data: DRAFT, status: '', owners: [] };
