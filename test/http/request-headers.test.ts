/** What the server goes by among the lines of a head: read once, and none of what could be read in two ways. */
import { describe, expect, test } from 'vitest';
import { type HeaderLines, RequestHeaders } from '../../src/http/request-headers.ts';

/** As the native part has them: asked by name it tells the first of a name, and nothing where there is none. */
function lines(...all: [name: string, value: string][]): HeaderLines {
  return {
    getHeader: (name) => all.find(([other]) => other === name)?.[1] ?? '',
    forEach: (look) => {
      for (const [name, value] of all) look(name, value);
    },
  };
}

const AUTHORIZED = ['authorization', 'Bearer x'] as [string, string];

describe.each([
  ['no token', []],
  ['a token', [AUTHORIZED]],
])('beside %s', (_, more) => {
  test.each([
    ['nothing', [], ''],
    ['main', ['main'], 'main'],
    ['no name', [''], ' '],
    ['main twice', ['main', 'main'], ' '],
    ['nothing and main', ['', 'main'], ' '],
    ['three', ['main', 'main', 'main'], ' '],
  ])('the ledger is that of the one line there is: of %s', (_, names, ledger) => {
    const head = lines(...names.map((name): [string, string] => ['x-ledger', name]), ...more);
    expect(new RequestHeaders(head).get('x-ledger', head)).toBe(ledger);
    expect(new RequestHeaders(head).get('x-ledger', null)).toBe(ledger);
  });

  test.each([
    [[], 0, false],
    [['0'], 0, false],
    [['17'], 17, false],
    [['017'], 17, false],
    [['999999999999999'], 999_999_999_999_999, false],
    [['9999999999999999'], Number.NaN, false],
    [['+17'], Number.NaN, false],
    [['17 '], Number.NaN, false],
    [['0x11'], Number.NaN, false],
    [['17', '17'], 17, true],
    [['17', '17', '17'], 17, true],
    [['', '17'], 0, true],
  ])('the lengths %j announce %d bytes; two of them: %s', (lengths, bytes, isTwo) => {
    const head = lines(...lengths.map((length): [string, string] => ['content-length', length]), ...more);
    const headers = new RequestHeaders(head);
    expect([headers.bodyBytes, headers.isAmbiguous, headers.isChunked]).toEqual([bytes, isTwo, false]);
    for (const there of [head, null]) expect(headers.get('content-length', there)).toBe(lengths[0] ?? '');
  });

  test('a body in chunks announces no bytes', () => {
    const head = lines(['transfer-encoding', 'chunked'], ...more);
    const headers = new RequestHeaders(head);
    expect([headers.bodyBytes, headers.isChunked, headers.isAmbiguous]).toEqual([0, true, false]);
    for (const there of [head, null]) expect(headers.get('transfer-encoding', there)).toBe('chunked');
  });

  test.each<[string, [string, string][]]>([
    [
      'two hosts',
      [
        ['host', 'a'],
        ['host', 'a'],
      ],
    ],
    [
      'two encodings',
      [
        ['transfer-encoding', 'chunked'],
        ['transfer-encoding', 'chunked'],
      ],
    ],
    ['an encoding in which chunks are packed', [['transfer-encoding', 'gzip, chunked']]],
    ['an encoding that is none', [['transfer-encoding', 'identity']]],
  ])('%s may be read in two ways', (_, said) => {
    expect(new RequestHeaders(lines(...said, ...more)).isAmbiguous).toBe(true);
  });

  test('one host, and chunks in whatever letters, may not', () => {
    const head = lines(['host', 'a'], ['transfer-encoding', 'Chunked'], ...more);
    expect(new RequestHeaders(head).isAmbiguous).toBe(false);
  });

  test('any other is told while its line is there', () => {
    const head = lines(['x-odd', 'yes'], ['x-odd', 'no'], ...more);
    expect(['x-odd', 'x-other'].map((name) => new RequestHeaders(head).get(name, head))).toEqual(['yes', '']);
  });

  test('what one request says is not taken for what the next one says', () => {
    const said: [string, string][] = ['x-ledger', 'content-length', 'transfer-encoding', 'host', 'prefer'].map(
      (name) => [name, '1'],
    );
    new RequestHeaders(lines(...said, ...said, AUTHORIZED));
    const head = lines(...more);
    const headers = new RequestHeaders(head);
    expect(said.map(([name]) => headers.get(name, head))).toEqual(['', '', '', '', '']);
    expect([headers.bodyBytes, headers.isAmbiguous, headers.isChunked]).toEqual([0, false, false]);
  });
});

test('beside a token all are kept, of others nothing once the lines are gone', () => {
  for (const [more, kept] of [
    [[], ''],
    [[AUTHORIZED], 'yes'],
  ] as const) {
    expect(new RequestHeaders(lines(['x-odd', 'yes'], ...more)).get('x-odd', null)).toBe(kept);
  }
});

test('two tokens are one text, which is none; a second line of another header is passed over', () => {
  const head = lines(['authorization', 'Bearer x'], ['x-odd', 'yes'], ['authorization', 'Bearer y'], ['x-odd', 'no']);
  const headers = new RequestHeaders(head);
  expect(['authorization', 'x-odd'].map((name) => headers.get(name, head))).toEqual(['Bearer x, Bearer y', 'yes']);
});

test('what is forgotten takes no memory any more, but of a token, which somebody knows by what it says', () => {
  const long = 'x'.repeat(500);
  const said: [string, string][] = [
    ['x-ledger', 'main'],
    ['prefer', 'wait=1'],
    ['x-odd', long],
  ];
  for (const [more, before, after] of [
    [[], 10, 10],
    [[['authorization', long]], 1000, 510],
  ] as [[string, string][], number, number][]) {
    const headers = new RequestHeaders(lines(...said, ...more));
    expect(headers.bytes).toBe(
      [...said, ...more].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0),
    );
    expect(headers.keptBytes).toBeGreaterThanOrEqual(before);
    for (let times = 0; times < 2; times++) {
      headers.forget();
      expect(headers.keptBytes).toBe(after);
      expect(['x-ledger', 'prefer', 'x-odd', 'authorization'].map((name) => headers.get(name, null))).toEqual([
        'main',
        'wait=1',
        '',
        '',
      ]);
    }
  }
});

test('of preferences that are longer than any there are none counts', () => {
  const wait = (spaces: number) => lines(['prefer', `wait=1,${' '.repeat(spaces)}x`]);
  for (const [spaces, isThere] of [
    [1000, true],
    [1100, false],
  ] as const) {
    expect(new RequestHeaders(wait(spaces)).get('prefer', null) !== '').toBe(isThere);
  }
});
