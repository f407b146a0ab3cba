/**
 * What the tables of access are written with: who asks, and short words for rules.
 */
import type { ModelPolicy, RuleText } from './access-model.ts';
import { type Asker, type Setup, type Subject, textOf } from './access-world.ts';

/** Letters of the table: small ones sign, capitals bring a token. */
export const ASKERS: Record<string, Asker> = {
  '-': { signs: [] },
  a: { signs: ['anna'] },
  b: { signs: ['ben'] },
  c: { signs: ['carl'] },
  l: { signs: ['lead'] },
  A: { signs: [], token: 'anna' },
  B: { signs: [], token: 'ben', claims: { iss: 'shop', sub: 'ben', hsh: true } },
  C: { signs: [], token: 'carl', claims: { aud: 'two' } },
  aB: { signs: ['anna'], token: 'ben', claims: { iss: 'shop', sub: 'ben', hsh: true } },
  cb: { signs: ['carl', 'ben'] },
  // Anna and Ben of the other ledger: same names, other keys.
  x: { signs: ['anna of two', 'ben of two', 'lead of two'] },
  X: { signs: [], token: 'anna of two' },
};
export const EVERYBODY = Object.keys(ASKERS).join(' ');
export const SIGNERS = 'a b c l aB cb x';
export const BEARERS = 'A B C aB X';

export type Row = [what: string, setup: Setup, action: string, target: string, subject: Subject, who: string];

export const own = (...record: RuleText[]): Setup => ({ record });
export const ledger = (...rules: RuleText[]): Setup => ({ ledger: [{ action: 'access', record: 'any' }, ...rules] });
export const spend = (signer: object): Setup => own({ action: 'spend', signer });
export const policy = (more: Partial<ModelPolicy> = {}): ModelPolicy => ({
  handle: 'p',
  schema: 'access',
  record: 'wallet',
  values: [{ action: 'update', signer: { handle: 'anna' } }],
  ...more,
});
export const ANNA = { public: textOf('anna') };
/** So many of the same, which takes long to look at. */
export const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
