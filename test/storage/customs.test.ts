import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createdText, momentIn } from '../../src/storage/customs.ts';
import { often } from '../support/long.ts';

const created = (moment: string) => `{"moment":"${moment}","status":"created"}`;

describe('what a moment is all of', () => {
  test('comes back as the identical text, for every moment of a four-digit year', () => {
    const first = new Date('0000-01-01T00:00:00.000Z');
    const last = new Date('9999-12-31T23:59:59.999Z');
    fc.assert(
      fc.property(fc.date({ min: first, max: last, noInvalidDate: true }), (date) => {
        const text = created(date.toISOString());
        expect(momentIn(text)).toBe(date.getTime());
        expect(createdText(date.getTime())).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test('does so whatever came before it: minutes are remembered', () => {
    const near = fc.integer({ min: -130_000, max: 130_000 });
    fc.assert(
      fc.property(fc.array(near, { maxLength: 20 }), (differences) => {
        for (const difference of differences) {
          const moment = Date.UTC(2026, 0, 1) + difference;
          const text = created(new Date(moment).toISOString());
          expect(momentIn(text)).toBe(moment);
          expect(createdText(moment)).toBe(text);
        }
      }),
    );
  });

  test.each([
    '0000-01-01T00:00:00.000Z',
    '0099-03-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
    '2024-02-29T23:59:59.999Z',
    '9999-12-31T23:59:59.999Z',
  ])('%s has its moment', (text) => {
    expect(createdText(momentIn(created(text)))).toBe(created(text));
  });
});

describe('what has no moment is kept as it is written', () => {
  test.each([
    ['a leap second', created('2016-12-31T23:59:60.000Z')],
    ['hour 24', created('2026-01-01T24:00:00.000Z')],
    ['minute 60', created('2026-01-01T23:60:00.000Z')],
    ['the 30th of February', created('2026-02-30T00:00:00.000Z')],
    ['the 29th of February of another year', created('2026-02-29T00:00:00.000Z')],
    ['month 13', created('2026-13-01T00:00:00.000Z')],
    ['day 0', created('2026-01-00T00:00:00.000Z')],
    ['a year of six digits', created('+010000-01-01T00:00:00.000Z')],
    ['a year before 0', created('-000001-01-01T00:00:00.000Z')],
    ['a comma for the period', created('2026-01-01T00:00:00,000Z')],
    ['a space for the T', created('2026-01-01 00:00:00.000Z')],
    ['another zone', created('2026-01-01T00:00:00.000+')],
    ['no zone', created('2026-01-01T00:00:00.0000')],
    ['microseconds', created('2026-01-01T00:00:00.000000Z')],
    ['no milliseconds', created('2026-01-01T00:00:00Z')],
    ['letters for digits', created('2026-01-01T00:00:0a.000Z')],
    ['letters for milliseconds', created('2026-01-01T00:00:00.0x0Z')],
    ['digits of another script', created('2026-01-01T00:00:0٣.000Z')],
    ['a sign among the digits', created('2026-01-01T00:00:00.+10Z')],
    ['another status', '{"moment":"2026-01-01T00:00:00.000Z","status":"updated"}'],
    ['another order', '{"status":"created","moment":"2026-01-01T00:00:00.000Z"}'],
    ['another member', '{"luid":"x","moment":"2026-01-01T00:00:00.000Z","status":"created"}'],
    ['a number', '{"moment":1767225600000,"status":"created"}'],
    ['an escape', '{"moment":"2026-01-01T00:00:00.000Z","status":"cre\\u0061ted"}'],
    ['an escape as long as what it hides', '{"moment":"\\u0032026-01-01T00:00:00.0Z","status":"created"}'],
    ['white space', '{"moment":"2026-01-01T00:00:00.000Z", "status":"created"}'],
    ['nothing', ''],
    ['an empty object', '{}'],
  ])('%s', (_name, text) => {
    expect(momentIn(text)).toBeNaN();
  });

  test('and whatever one character makes of a text: where it has a moment, that gives back the same', () => {
    const whole = created('2026-11-20T19:37:28.431Z');
    const character = fc.oneof(fc.constantFrom(...'0123456789:.-TZ+ "\\{}', 'é', '٣'), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), character, (at, other) => {
        const text = whole.slice(0, at) + other + whole.slice(at + 1);
        const moment = momentIn(text);
        if (!Number.isNaN(moment)) expect(createdText(moment)).toBe(text);
      }),
      { numRuns: often(500, 50_000) },
    );
  });
});

test.each([
  Number.NaN,
  0.5,
  Number.POSITIVE_INFINITY,
  Number.MAX_SAFE_INTEGER,
  8.64e15,
  Date.parse('9999-12-31T23:59:59.999Z') + 1,
  Date.parse('0000-01-01T00:00:00.000Z') - 1,
])('%s has no text', (moment) => {
  expect(createdText(moment)).toBeNull();
});
