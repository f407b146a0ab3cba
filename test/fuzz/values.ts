/** JSON by chance: any value at all, any way to write it down, and values with one place in them bent. */
import type { Json } from '../support/client.ts';
import type { Dice } from '../support/dice.ts';

const NAMES = [
  'a',
  'handle',
  'custom',
  'data',
  'hash',
  'meta',
  'amount',
  '__proto__',
  'constructor',
  'toString',
  '',
  '$in',
  'é',
  '\u0000',
  '\ud800',
  'a.b',
  '0',
];
const TEXTS = [
  '',
  'a',
  'ana',
  'usd',
  'any',
  'system',
  '__proto__',
  'null',
  '1',
  ' ',
  'é',
  '\u0000',
  '\ud83d',
  '\udc00\ud800',
  '\u2028',
  '😀',
  '../../etc',
  '%00',
  '$wlt.AAAAAAAAAAAAAAAAA',
  'a:b@c',
  'x'.repeat(257),
  '[',
  '"',
  '\\',
  '"]}:{[',
  '\\":[[{',
  '(a+)+$',
  'https://x',
  '2030-01-01',
  `${'A'.repeat(43)}=`,
  `${'A'.repeat(86)}==`,
  '0'.repeat(64),
  'f'.repeat(64),
];
const NUMBERS = [0, -0, 1, -1, 0.1, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e308, 5e-324, 1e21, 1e-7, 100, 2 ** 32, 65_536];

export function anyValue(dice: Dice, depth = 0): Json {
  const sort = dice.below(depth > 4 ? 5 : 8);
  if (sort === 0) return dice.pick([null, true, false]);
  if (sort === 1) return dice.pick(NUMBERS);
  if (sort < 5) return dice.pick(TEXTS);
  if (sort === 5) return Array.from({ length: dice.few(6) }, () => anyValue(dice, depth + 1));
  const members: Json = {};
  for (let left = dice.few(6); left > 0; left--) {
    // Assigning to __proto__ would set the prototype; as a parser makes it, it is a plain member.
    Object.defineProperty(members, dice.pick(NAMES), {
      value: anyValue(dice, depth + 1),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return members;
}

/** The same value, written with spaces, escapes, members twice, and numbers in other forms. */
export function anyText(dice: Dice, value: Json): string {
  const space = () => (dice.chance(0.1) ? dice.pick([' ', '\n', '\t', '\r', '  ']) : '');
  if (Array.isArray(value))
    return `[${space()}${value.map((item) => anyText(dice, item)).join(`${space()},${space()}`)}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, member]) => `${textOf(dice, name)}${space()}:${space()}${anyText(dice, member)}`,
    );
    if (members.length > 0 && dice.chance(0.05)) members.unshift(dice.pick(members));
    return `{${space()}${members.join(`,${space()}`)}${space()}}`;
  }
  if (typeof value === 'string') return textOf(dice, value);
  if (typeof value === 'number' && dice.chance(0.1))
    return dice.pick(['1E400', '-0', '1e0', '0.0', '1.0', '9007199254740993', '-1e-400']);
  return JSON.stringify(value);
}

function textOf(dice: Dice, text: string): string {
  if (!dice.chance(0.1)) return JSON.stringify(text);
  const units = Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`,
  );
  return `"${units.join('')}"`;
}

/** A copy with one place in it changed: gone, another value, twice, a member more, wrapped, or a name changed. */
export function bent(dice: Dice, value: Json): Json {
  const copy = structuredClone(value);
  const places: [Json, string | number][] = [];
  const walk = (at: Json) => {
    if (at === null || typeof at !== 'object') return;
    for (const key of Object.keys(at)) {
      places.push([at, Array.isArray(at) ? Number(key) : key]);
      walk(at[key]);
    }
  };
  walk(copy);
  if (places.length === 0) return anyValue(dice);
  const [at, key] = dice.pick(places) as [Json, Json];
  const old = at[key];
  const isList = Array.isArray(at);
  dice.pick([
    () => (isList ? at.splice(Number(key), 1) : Reflect.deleteProperty(at, key)),
    () => (at[key] = anyValue(dice)),
    () => (isList ? at.push(old) : define(at, dice.pick(NAMES), old)),
    () => define(at, isList ? String(at.length) : dice.pick(NAMES), anyValue(dice, 3)),
    () => (at[key] = dice.chance(0.5) ? [old] : { handle: old }),
    () => (at[key] = dice.pick<Json>([...TEXTS, ...NUMBERS, null, true])),
    () => (at[key] = typeof old === 'string' ? nearly(dice, old) : old === null ? 0 : null),
  ])();
  return copy;
}

function define(at: Json, name: string, value: Json): void {
  Object.defineProperty(at, name, { value, writable: true, enumerable: true, configurable: true });
}

function nearly(dice: Dice, text: string): string {
  const at = dice.below(text.length + 1);
  return dice.pick([
    text.slice(0, at),
    text + text,
    text.slice(0, at) + dice.pick(TEXTS) + text.slice(at),
    text.toUpperCase(),
    text.slice(1),
  ]);
}
