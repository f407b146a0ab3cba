/** What the checker in a browser calls a text, and whose word each part of it is: what the server signed it as decides. */
import { describe, expect, test } from 'vitest';
import { canon } from '../../src/proof/canon.ts';
import { checkText } from '../../src/story/check.ts';
import { type Json, type Keys, makeKeys, proof } from '../support/client.ts';
import { answerOf, honest, keys, MOMENT, sealed, verdictOf } from './forged.ts';

describe('an answer', () => {
  test('is what the server signed it as, not what it looks like', () => {
    // Anybody may have such data signed: as a record.
    const looks = ['[]', '{"chain":"00","moment":"x","seq":1}', '{"handle":"x","signal":"intent-created"}'];
    for (const data of looks) {
      const { said, parts } = checkText(answerOf(data), keys.public);
      expect(said).toMatch(/^Proven is each signature/);
      expect(parts[0]!.title).toMatch(/^wallet/);
    }
    const { parts } = checkText(answerOf('[]', { moment: MOMENT }, 'x'), keys.public);
    expect(parts[0]!.title).toBe('a list of 0');
    expect(verdictOf(answerOf('[]', { other: MOMENT }, 'x'))).toBe('wrong');
  });

  test('is what the server signed it as, whatever others say of it, and whichever of its proofs says so', () => {
    const stranger = makeKeys();
    const others: [Keys, Json][] = [
      [stranger, { luid: '$sym.0rZ3bbbbbbbbbbbbb', ledger: 'main', moment: '1999', status: 'created' }],
      [stranger, undefined],
      [keys, undefined],
      [keys, 'created'],
    ];
    const shown = [{ moment: MOMENT }, { moment: MOMENT, ledger: 'main' }, sealed].map((custom) => {
      const whole = JSON.parse(answerOf('{"handle":"x"}', custom));
      const more = others.map(([by, said]) => proof(whole.hash, by, said));
      const texts = [
        [...whole.meta.proofs, ...more],
        [...more, ...whole.meta.proofs],
      ];
      return texts.map((proofs) => {
        const { verdict, parts } = checkText(
          JSON.stringify({ ...whole, meta: { ...whole.meta, proofs } }),
          keys.public,
        );
        return [verdict, parts[0]!.title];
      });
    });
    expect(shown.map((titles) => titles.map(([verdict, title]) => `${verdict} ${title}`))).toEqual([
      ['signed an answer', 'signed an answer'],
      ['signed event ', 'signed event '],
      ['signed wallet x', 'signed wallet x'],
    ]);
  });

  test('tells of each member whose word it is', () => {
    const whole = JSON.parse(honest);
    const text = JSON.stringify({ ...whole, meta: { ...whole.meta, status: 'active', labels: ['vip'] } });
    const facts = Object.fromEntries(checkText(text, keys.public).parts[0]!.facts.map(({ name, by }) => [name, by]));
    expect(facts.luid).toBe('signed by the server');
    expect(facts.hash).toBe('follows from the data');
    expect(facts.moment).toBe('signed by the server, with the status created');
    expect(facts.status).toMatch(/^nobody/);
    expect(facts.labels).toMatch(/^nobody/);
  });

  test('tells of a member beside the data that somebody signed it where he said it of just that', () => {
    const stranger = makeKeys();
    const factsOf = (meta: Json, customs: [Keys, Json][], more: Json = {}) => {
      const { luid, ...whole } = JSON.parse(honest);
      const proofs = customs.map(([by, custom]) => proof(whole.hash, by, custom));
      const text = JSON.stringify({ ...whole, ...more, meta: { ...meta, proofs } });
      const { facts } = checkText(text, keys.public).parts[0]!;
      return facts.filter(({ name }) => name !== 'hash').map(({ name, by }) => `${name}: ${by}`);
    };
    const nobody = 'nobody has signed this: the word of whoever gave you the text';
    const own: [Keys, Json] = [keys, sealed];
    const named = { luid: sealed.luid };
    // The last word of the server's is not known; a moment has a status.
    expect(factsOf({ status: 'created', moment: MOMENT }, [own], named)).toEqual([
      'luid: signed by the server',
      'status: signed by the server; what followed may be left out',
      'moment: signed by the server, with the status created',
    ]);
    expect(factsOf({ moment: '1999', status: 'gone' }, [own], named)).toEqual([
      'luid: signed by the server',
      `moment: ${nobody}`,
      `status: ${nobody}`,
    ]);
    // Somebody's own clock tells no moment of the record, nor his word its luid; his status is told as his.
    const word: [Keys, Json] = [stranger, { luid: sealed.luid, moment: '1999', status: 'gone', note: 'x' }];
    const first: [Keys, Json] = [keys, { status: 'created' }];
    const said = `signed by the key ${stranger.public}; that it became the status, nobody has signed`;
    expect(factsOf({ moment: '1999', status: 'gone', note: 'x' }, [first, word, word], named)).toEqual([
      `luid: ${nobody}`,
      `moment: ${nobody}`,
      `status: ${said}`,
      `note: ${nobody}`,
    ]);
    // A record without a luid has none; of several who say a status the last is named.
    const later = makeKeys();
    expect(factsOf({ status: 'gone' }, [first, word, word, [later, { status: 'gone' }]])).toEqual([
      `status: ${said.replace(stranger.public, later.public)}`,
    ]);
    // What both say is the server's; and it says nothing of members that have the name of something in a proof.
    const both: [Keys, Json][] = [word, [keys, { ...sealed, status: 'gone', note: 'x' }], [keys, 'gone']];
    expect(factsOf({ status: 'gone', note: 'x' }, both, named)).toEqual([
      'luid: signed by the server',
      'status: signed by the server; what followed may be left out',
      `note: ${nobody}`,
    ]);
  });

  test('is called by the kind that its luid tells only where the server signed that', () => {
    // The first proof of what a server made itself, the signer `system` say, names no luid.
    const [own, named] = [
      answerOf('{"handle":"x"}', { moment: MOMENT, status: 'created' }),
      answerOf('{"handle":"x"}'),
    ];
    expect([own, named].map((text) => checkText(text, keys.public).parts[0]!.title)).toEqual(['record x', 'wallet x']);
  });

  test.each([
    ['ldg', 'ledger'],
    ['snr', 'signer'],
    ['sym', 'symbol'],
    ['wlt', 'wallet'],
    ['anc', 'anchor'],
    ['int', 'intent'],
    ['eff', 'effect'],
    ['brg', 'bridge'],
    ['crc', 'circle'],
    ['csn', 'signer of a circle'],
    ['plc', 'policy'],
    ['sch', 'schema'],
    ['xyz', 'record'],
  ])('of which the luid begins with $%s is called a %s', (prefix, kind) => {
    const luid = `$${prefix}.0rZ3aaaaaaaaaaaaa`;
    const titleOf = (data: string) => checkText(answerOf(data, { luid }, luid), keys.public).parts[0]!.title;
    expect(['{"handle":"x"}', '{"handle":7}', '[]', 'null'].map(titleOf)).toEqual([`${kind} x`, kind, kind, kind]);
  });

  test('says of a moment with which status the server signed it', () => {
    const by = (status?: string) => {
      const text = answerOf('{"handle":"x"}', { luid: sealed.luid, moment: MOMENT, status });
      return checkText(text, keys.public).parts[0]!.facts.find(({ name }) => name === 'moment')!.by;
    };
    expect([by('completed'), by()]).toEqual([
      'signed by the server, with the status completed',
      'signed by the server',
    ]);
  });

  test('by its bridge is a call, by its ledger alone an event: that is what the server says outward', () => {
    const data = '{"handle":"x","signal":"intent-updated"}';
    const told = [{}, { bridge: 'bank' }].map((more) => {
      const text = answerOf(data, { ledger: 'main', moment: MOMENT, ...more }, 'x');
      const { said, parts } = checkText(text, keys.public);
      return [parts[0]!.title, said];
    });
    const saidAs = (what: string) => `Proven is that the server said this, as ${what} of the ledger that stands below`;
    expect(told).toEqual([
      ['event intent-updated', saidAs('an event')],
      ['call of a bridge', saidAs('a call of the bridge')],
    ]);
  });

  test('that says something outward shows for whom it is, and what stands beside it, whatever its data are', () => {
    const custom = { ledger: 'main', moment: MOMENT };
    const told = ['{"handle":"x","signal":"a\u202eb"}', '{"signal":7}', '{}', '[]', '7', 'null'].map((data) =>
      checkText(answerOf(data, custom, 'x'), keys.public),
    );
    expect(told.map(({ parts }) => parts[0]!.title)).toEqual(['event a\\u202eb', ...Array(5).fill('event ')]);
    for (const { verdict, notes, parts } of told) {
      expect([verdict, parts.length]).toEqual(['signed', 1]);
      expect(notes).toEqual(['Of the records in it, what they were then: what happened since, it cannot say.']);
      expect(parts[0]!.facts.map(({ name, value, by }) => [`${name} ${value}`, by.slice(0, 20)])).toEqual([
        ['ledger main', 'signed by the server'],
        [`moment ${MOMENT}`, 'signed by the server'],
        ['status created', 'nobody has signed th'],
        ['luid x', 'nobody has signed th'],
      ]);
    }
  });

  test('that the server said of its own accord is called what it is, with what nobody has signed of it', () => {
    const told = [
      '[1,2]',
      '{"chain":"00","moment":"x","seq":1}',
      '{"chain":"00","seq":1}',
      '{"detail":"x","reason":"record.not-found"}',
      '{"version":"2"}',
      '7',
      'null',
    ].map((data) => {
      const { verdict, said, notes, parts } = checkText(answerOf(data, { moment: MOMENT }, 'x'), keys.public);
      expect([verdict, notes.length, parts.length]).toEqual(['signed', 1, 1]);
      expect(said).toBe(`Proven is that the server said this at the moment that stands below: ${parts[0]!.title}`);
      return [parts[0]!.title, notes[0]];
    });
    const question = 'Which question it answers, and which ledger, nobody has signed';
    expect(told).toEqual([
      ['a list of 2', `${question}: it may be a list of something else.`],
      [
        'a head, the end of its books',
        'Keep it: `ayni verify --head` tells whether the history up to it was changed since.',
      ],
      ['an answer', `${question}.`],
      ['a refusal', 'What was refused, nobody has signed.'],
      ['an answer', `${question}.`],
      ['an answer', `${question}.`],
      ['an answer', `${question}.`],
    ]);
    // In whichever order its members stand.
    const head = answerOf('{"chain":"00","moment":"x","seq":1}', { moment: MOMENT }, 'x');
    const turned = head.replace('{"chain":"00","moment":"x","seq":1}', '{"seq":1,"moment":"x","chain":"00"}');
    expect(checkText(turned, keys.public).parts[0]!.title).toBe('a head, the end of its books');
  });

  test('shows each record in it with what stands beside that, on the word of whoever signed the whole', () => {
    const stranger = makeKeys();
    const inner = JSON.parse(answerOf('{"handle":"ana"}'));
    inner.meta.proofs.push(proof(inner.hash, stranger));
    const { luid: _, ...nameless } = inner;
    const { proofs: __, ...unsigned } = inner.meta;
    const items = [inner, nameless, { ...inner, meta: unsigned }, { ...inner, data: undefined }, 'x', null];
    const { hash } = inner;
    const whole = 'signed by the server, with the whole';
    const rows = [
      { by: 'the server', moment: MOMENT, status: 'created', says: canon(sealed) },
      { by: `the key ${stranger.public}`, moment: '', status: '', says: '' },
    ];
    const partOf = (title: string, luid: string) => ({
      title,
      facts: Object.entries({ luid, hash, moment: MOMENT, status: 'created' }).map(([name, value]) => ({
        name,
        value,
        by: whole,
      })),
      data: { text: '{\n  "handle": "ana"\n}', isCut: false },
      proofs: rows,
      proofsLeftOut: 0,
    });
    const parts = [partOf('in it: wallet ana', sealed.luid), partOf('in it: record ana', 'null')];
    const listed = checkText(answerOf(canon(items), { moment: MOMENT }, 'x'), keys.public);
    expect(listed.parts.slice(1)).toEqual(parts);
    const event = { handle: 'x', wallet: inner, other: { deeper: inner }, signal: 'wallet-created' };
    const heard = checkText(answerOf(canon(event), { ledger: 'main', moment: MOMENT }, 'x'), keys.public);
    expect(heard.parts.slice(1)).toEqual([parts[0]]);
    // Of a record that is asked for, whatever lies in its data is its own word.
    const kept = checkText(answerOf(canon({ handle: 'x', kept: inner })), keys.public);
    expect(kept.parts).toHaveLength(1);
  });

  test('with a moment beside it that the server did not sign shows both, and whose word each is', () => {
    const factsOf = (moment: string) =>
      checkText(answerOf('[]', { moment }, 'x'), keys.public).parts[0]!.facts.map(({ name, value, by }) => [
        `${name} ${value}`,
        by.slice(0, 6),
      ]);
    const others = [
      ['status created', 'nobody'],
      ['luid x', 'nobody'],
    ];
    expect(factsOf(MOMENT)).toEqual([[`moment ${MOMENT}`, 'signed'], ...others]);
    const later = '2026-11-21T19:37:28.431Z';
    expect(factsOf(later)).toEqual([[`moment ${later}`, 'signed'], [`moment ${MOMENT}`, 'nobody'], ...others]);
    // The same text under another name is not what the server signed.
    const whole = JSON.parse(answerOf('[]', { moment: MOMENT }, MOMENT));
    const { facts } = checkText(JSON.stringify({ ...whole, meta: { ...whole.meta, read: MOMENT } }), keys.public)
      .parts[0]!;
    expect(facts.filter(({ by }) => by.startsWith('nobody')).map(({ name }) => name)).toEqual([
      'status',
      'read',
      'luid',
    ]);
  });
});
