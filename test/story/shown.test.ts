/** What a page shows of a text: its bytes as they are, nothing unseen, and never more than somebody reads. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { bytesOfHex, sha256 as hashOf, hexOf, textOfUtf8 } from '../../src/story/bytes.ts';
import { parseJson } from '../../src/story/json.ts';
import { brief, plain, pretty } from '../../src/story/shown.ts';

describe('bytes', () => {
  test('are read from hexadecimal digits as one writes them, so many and no others', () => {
    expect([...bytesOfHex('00ff1a', 3)]).toEqual([0, 255, 26]);
    expect([...bytesOfHex('', 0)]).toEqual([]);
    for (const text of ['00ff1', '00ff1a00', '00FF1A', '00ff1g', ' 0ff1a', '', 7, null, undefined, ['00ff1a']])
      expect(() => bytesOfHex(text, 3), `${text}`).toThrow('hexadecimal as nobody writes it');
  });

  test('are hashed as they are, a text as UTF-8; no mark at the beginning of a text is passed over', () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xc3, 0xb1);
    expect(textOfUtf8(bytes)).toBe('\ufeffñ');
    const right = createHash('sha256').update(bytes).digest('hex');
    expect([hexOf(hashOf(bytes)), hexOf(hashOf('\ufeffñ'))]).toEqual([right, right]);
    expect(hexOf(hashOf('\ufeffñ'))).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('what is shown', () => {
  test('has no character that is not seen, or that turns others around', () => {
    const odd = 'a\u202eb\u200bc\u0000d\u00ade\ud800f\u2028g\u00a0h\u3164i\u{e0041}\ufeff';
    expect(plain(odd)).toBe('a\\u202eb\\u200bc\\u0000d\\u00ade\\ud800f\\u2028g\\u00a0h\\u3164i\\udb40\\udc41\\ufeff');
    expect(plain('a\u2800b\ufffcc')).toBe('a\\u2800b\\ufffcc');
    expect(plain('ñandú ☀ 😀 <b>')).toBe('ñandú ☀ 😀 <b>');
    const shown = pretty(parseJson(JSON.stringify({ [odd]: [odd, 1, null, {}, []] })), 1000);
    expect(shown.text.split('\n').every((line) => plain(line) === line)).toBe(true);
    expect(JSON.parse(shown.text)).toEqual({ [odd]: [odd, 1, null, {}, []] });
  });

  test('is cut where it is said to be, at whatever place, and shown whole where it has room', () => {
    const value = {
      b: ['x', 1, null, true, {}, [], ''],
      a: { '\u0000': 'ñ "q" \u202e', c: Array.from({ length: 12 }, (_, n) => [n]) },
    };
    // What is not seen is written as it could stand in JSON; members come in their canonical order.
    const whole = JSON.stringify({ a: value.a, b: value.b }, null, 2).replace('\u202e', '\\u202e');
    for (let room = 0; room <= whole.length + 1; room++) {
      expect(pretty(parseJson(JSON.stringify(value)), room)).toEqual({
        text: whole.slice(0, room),
        isCut: room < whole.length,
      });
    }
    expect(['x'.repeat(10), 'x'.repeat(11), ''].map((text) => brief(text, 10))).toEqual([
      'xxxxxxxxxx',
      'xxxxxxxxxx …',
      '',
    ]);
  });

  test('ends somewhere', () => {
    expect(brief('x'.repeat(1000), 10)).toBe('xxxxxxxxxx …');
    const many = pretty(parseJson(`[${'[1],'.repeat(100_000)}1]`), 100);
    expect([many.text.length <= 120, many.isCut]).toEqual([true, true]);
    const long = pretty(parseJson(JSON.stringify('x'.repeat(1_000_000))), 100);
    expect([long.text.length <= 120, long.isCut]).toEqual([true, true]);
    expect(pretty(parseJson('[1]'), 100).isCut).toBe(false);
  });
});
