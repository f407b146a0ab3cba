/** What a record's entries tell of it: each version with its meta, its data, and who said what in which order. */
import { describe, expect, test } from 'vitest';
import { type ToldEntry, type ToldProof, Type } from '../../src/story/entries.ts';
import { tell } from '../../src/story/tell.ts';
import { sha256 } from '../support/client.ts';

const SERVER = 'server';
const LUID = '$wlt.0rZ3aaaaaaaaaaaaa';
const INTENT = '$int.0rZ3aaaaaaaaaaaaa';
const OWN = INTENT.slice(5);
const NOW = Date.parse('2026-11-20T19:37:28.431Z');
const at = (after: number) => new Date(NOW + after).toISOString();

const by = (key: string, custom: string | null = null): ToldProof => ({ public: key, result: 'r', custom });
/** A proof of the server's, of which no entry has the signature. */
const own = (custom: string) => ({ public: SERVER, result: null, custom });
const sealOf = (custom: string) => ({ public: SERVER, result: 'seal', custom });

function entryOf(type: number, more: Partial<ToldEntry>): ToldEntry {
  const bare = { data: null, seal: null, proofs: [], status: null, labels: null, thread: null, outcome: null };
  return { luid: LUID, type, moment: NOW, isEarly: false, ...bare, ...more };
}

const created = (more: Partial<ToldEntry> = {}) =>
  entryOf(Type.create, { data: '{"n":1}', seal: 'seal', proofs: [by('ana')], ...more });
const updated = (n: number, parent: string, more: Partial<ToldEntry> = {}) => {
  const data = `{"n":${n},"parent":"${sha256(parent)}"}`;
  return entryOf(Type.update, { data, seal: 'seal', proofs: [by('luz')], moment: NOW + n, ...more });
};
const said = (more: Partial<ToldEntry>) => entryOf(Type.proof, { proofs: [by('eve', '{}')], ...more });
const dropped = (parent: string, more: Partial<ToldEntry> = {}) =>
  entryOf(Type.drop, { data: `{"parent":"${sha256(parent)}"}`, proofs: [by('luz')], ...more });

const CREATED = `{"luid":"${LUID}","moment":"${at(0)}","status":"created"}`;

describe('a record', () => {
  test('is owned by whoever signed it first, each once, and sealed by the server', () => {
    const told = tell([created({ proofs: [by('ana', '{}'), by('luz'), by('ana')] })], SERVER);
    expect(told).toEqual([
      {
        meta: { status: 'created', owners: ['ana', 'luz'], moment: at(0) },
        data: '{"n":1}',
        proofs: [by('ana', '{}'), by('luz'), by('ana'), sealOf(CREATED)],
      },
    ]);
    // That is the server's word of an effect, too, which is active from the beginning.
    const effect = tell([created({ luid: `$eff${LUID.slice(4)}` })], SERVER)[0]!;
    expect([effect.meta.status, effect.proofs.at(-1)!.custom]).toEqual(['active', CREATED.replace('$wlt', '$eff')]);
  });

  test('has a version for each change, which keeps status, labels and owners, and says whom it follows', () => {
    const entries = [
      created(),
      said({ status: 'active', labels: ['vip'] }),
      updated(2, '{"n":1}'),
      said({}),
      updated(3, updated(2, '{"n":1}').data!),
    ];
    const told = tell(entries, SERVER);
    const kept = { status: 'active', owners: ['ana'], labels: ['vip'] };
    expect(told.map(({ meta }) => meta)).toEqual([0, 2, 3].map((after) => ({ ...kept, moment: at(after) })));
    expect(told.map(({ data }) => JSON.parse(data).n)).toEqual([1, 2, 3]);
    const seal = (after: number) => sealOf(`{"luid":"${LUID}","moment":"${at(after)}"}`);
    expect(told.map(({ proofs }) => proofs)).toEqual([
      [by('ana'), sealOf(CREATED), by('eve', '{}')],
      [by('luz'), seal(2), by('eve', '{}')],
      [by('luz'), seal(3)],
    ]);
  });

  test('has the labels that were said last, and none where all were taken away', () => {
    const metaAfter = (...labels: (string[] | null)[]) =>
      tell([created(), ...labels.map((some) => said({ labels: some }))], SERVER)[0]!.meta;
    expect(metaAfter(['vip'], ['known', 'vip'], null).labels).toEqual(['known', 'vip']);
    expect(metaAfter(['vip'], [])).toEqual({ status: 'created', owners: ['ana'], moment: at(0) });
  });

  test('that was dropped is what it was until then: who dropped it says nothing of it', () => {
    const [before] = tell([created()], SERVER);
    expect(tell([created(), dropped('{"n":1}')], SERVER)).toEqual([before]);
  });

  test('is followed by what names it: in capitals, too; who leaves a circle names nobody', () => {
    const second = updated(2, '{"n":1}');
    expect(() => tell([created(), updated(3, second.data!)], SERVER)).toThrow('a version that is left out');
    expect(() => tell([created(), second, dropped('{"n":1}')], SERVER)).toThrow('a version that is left out');
    expect(tell([created(), second, dropped(second.data!)], SERVER)).toHaveLength(2);
    const loud = `{"parent":"${sha256('{"n":1}').toUpperCase()}"}`;
    expect(tell([created(), updated(2, '', { data: loud })], SERVER)).toHaveLength(2);
    for (const data of ['{}', '{"parent":7}', '[]', 'null'])
      expect(() => tell([created(), dropped('', { data })], SERVER)).toThrow('a version that is left out');
    const member = { luid: `$csn${LUID.slice(4)}` };
    expect(tell([created(member), dropped('', { ...member, data: '{}' })], SERVER)).toHaveLength(1);
  });

  test('begins once', () => {
    const odd = 'a record that does not begin once';
    for (const entries of [[said({})], [updated(2, '')], [dropped('')], [created(), created()]])
      expect(() => tell(entries, SERVER)).toThrow(odd);
    const intent = entryOf(Type.intent, { luid: INTENT, data: '{}', seal: 'seal', thread: OWN });
    expect(() => tell([intent, { ...intent }], SERVER)).toThrow(odd);
    expect(() => tell([created(), intent], SERVER)).toThrow(odd);
  });
});

type Outcome = NonNullable<ToldEntry['outcome']>;

describe('an intent', () => {
  const outcomeOf = (steps: string[], more: Partial<Outcome> = {}): Outcome => ({
    moment: NOW + 5,
    steps,
    reason: '',
    detail: '',
    links: null,
    ...more,
  });
  const linksOf = (more: Partial<NonNullable<Outcome['links']>>) => ({
    legs: [],
    isRouted: false,
    failId: '',
    leg: 0,
    ...more,
  });
  const sent = (outcome: Outcome, more: Partial<ToldEntry> = {}) =>
    entryOf(Type.intent, {
      luid: INTENT,
      data: '{}',
      seal: 'seal',
      proofs: [by('ana')],
      thread: OWN,
      outcome,
      ...more,
    });
  const went = (outcome: Outcome) => entryOf(Type.step, { luid: INTENT, outcome });
  const of = (status: string, after = 5) => own(`{"luid":"${INTENT}","moment":"${at(after)}","status":"${status}"}`);

  test('is sealed as pending, and each step that it took is the word of the server', () => {
    const [told] = tell([sent(outcomeOf(['prepared', 'committed', 'completed']))], SERVER);
    expect(told).toEqual({
      meta: { status: 'completed', owners: ['ana'], moment: at(0), thread: OWN },
      data: '{}',
      proofs: [
        by('ana'),
        sealOf(`{"luid":"${INTENT}","moment":"${at(0)}","status":"pending"}`),
        of('prepared'),
        of('committed'),
        of('completed'),
      ],
    });
    const [waiting] = tell([sent(outcomeOf([]))], SERVER);
    expect([waiting!.meta.status, waiting!.proofs.length]).toEqual(['pending', 2]);
  });

  test('goes on in the order of its entries', () => {
    const entries = [
      sent(outcomeOf(['prepared'])),
      entryOf(Type.proof, { luid: INTENT, proofs: [by('bank', '{}')] }),
      went(outcomeOf(['committed'], { moment: NOW + 9 })),
      went(outcomeOf([], { moment: NOW + 10 })),
    ];
    const [told] = tell(entries, SERVER);
    expect(told!.meta.status).toBe('committed');
    expect(told!.proofs.slice(2)).toEqual([of('prepared'), by('bank', '{}'), of('committed', 9)]);
  });

  test('that failed says why, and has the status that followed from it', () => {
    const why = { reason: 'core.balance-insufficient', detail: 'too little' };
    const failed = own(
      `{"detail":"too little","luid":"${INTENT}","moment":"${at(5)}","reason":"core.balance-insufficient","status":"failed"}`,
    );
    const [told] = tell([sent(outcomeOf(['failed', 'aborted', 'rejected'], why))], SERVER);
    expect([told!.meta.status, told!.proofs.slice(2)]).toEqual(['rejected', [failed, of('aborted'), of('rejected')]]);
    // A failure alone is no status of the intent's.
    const [waiting] = tell([sent(outcomeOf(['prepared'])), went(outcomeOf(['failed'], why))], SERVER);
    expect([waiting!.meta.status, waiting!.proofs.at(-1)]).toEqual(['prepared', failed]);
  });

  test('of the first builds is not named in what followed', () => {
    const [told] = tell([sent(outcomeOf(['prepared']), { isEarly: true })], SERVER);
    expect(told!.proofs.at(-1)).toEqual(own(`{"moment":"${at(5)}","status":"prepared"}`));
  });

  test('names the leg that went wrong by its side, as it was told when its legs began', () => {
    const begun = sent(outcomeOf(['prepared'], { links: linksOf({ legs: [false, true] }) }));
    const why = { reason: 'bridge.unexpected-error', detail: 'x' };
    const wrong = (leg: number, failId = '') => {
      const links = linksOf({ leg, failId });
      const [told] = tell([begun, went(outcomeOf(['error'], { ...why, links }))], SERVER);
      expect(told!.meta.status).toBe('prepared');
      return JSON.parse(told!.proofs.at(-1)!.custom!);
    };
    const known = { luid: INTENT, moment: at(5), status: 'error', ...why };
    expect([wrong(1), wrong(2, 'f-7'), wrong(0)]).toEqual([
      { ...known, handle: `deb_${OWN}.0` },
      { ...known, handle: `cre_${OWN}.1`, failId: 'f-7' },
      known,
    ]);
    expect(() => wrong(3)).toThrow('an entry that speaks of what is not there');
    // What follows an error says nothing of it.
    const links = linksOf({ leg: 1, failId: 'f-7' });
    const [told] = tell([begun, went(outcomeOf(['failed', 'aborted'], { ...why, links }))], SERVER);
    expect(told!.proofs.slice(-1)).toEqual([of('aborted')]);
    expect(JSON.parse(told!.proofs.at(-2)!.custom!)).toEqual({
      ...known,
      status: 'failed',
      handle: `deb_${OWN}.0`,
      failId: 'f-7',
    });
  });

  test('is routed where it is of the thread of another, or leads to others', () => {
    const isRouted = (...entries: ToldEntry[]) => tell(entries, SERVER)[0]!.meta.routed;
    expect(isRouted(sent(outcomeOf([])))).toBeUndefined();
    expect(isRouted(sent(outcomeOf([]), { thread: 'other' }))).toBe(true);
    expect(isRouted(sent(outcomeOf([], { links: linksOf({}) })))).toBeUndefined();
    expect(isRouted(sent(outcomeOf([], { links: linksOf({ isRouted: true }) })))).toBe(true);
    const later = went(outcomeOf([], { links: linksOf({ isRouted: true }) }));
    expect(isRouted(sent(outcomeOf([])), later, went(outcomeOf([])))).toBe(true);
    expect(tell([sent(outcomeOf([]), { thread: 'other' })], SERVER)[0]!.meta.thread).toBe('other');
  });
});
