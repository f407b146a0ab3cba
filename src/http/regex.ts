/**
 * Patterns that clients send (`$regex`, `pattern` in a schema), run in time linear in the text: the one door to re2js.
 *
 * JavaScript's own engine backtracks, so one short pattern could hold the event loop for hours. RE2
 * syntax has no backreferences and no lookaround; a pattern that needs them is refused.
 *
 * What always holds: pattern and text are bounded before the engine sees them, the text by its length or by whoever
 * counts the work it takes.
 */
import { createRequire } from 'node:module';
import { assert } from '../core/refusal.ts';

export const PATTERN_LENGTH_MAX = 256;

/** A member longer than this matches no pattern: even linear time is too much of one request's share. */
const TEXT_LENGTH_MAX = 16_384;

/** What a pattern may grow to once its counted repetitions are written out. */
export const PATTERN_SIZE_MAX = 512;

/**
 * What the patterns of one request may weigh, with repetitions written out: a step is one, some 4 microseconds where
 * the pattern is tied to the beginning and the end of a text. A class is copied for each time it stands there: one by
 * Unicode property is as ten steps, and of a long one so many characters are as one.
 */
const PATTERN_WEIGHT_MAX = 4 * PATTERN_SIZE_MAX;
export const CLASS_WEIGHT = 10;
const CLASS_CHARS_FREE = 32;
const CLASS_CHARS_PER_WEIGHT = 60;

/**
 * Classes by Unicode property (`\pL`) that are compiled for one request: each is hundreds of ranges, more where case is
 * folded, so a quarter of a millisecond.
 */
const PATTERN_CLASSES_MAX = 64;

/**
 * Characters in ranges of classes that are compiled for one request where case is folded: each is looked up, so that
 * hundreds of thousands, as of `(?i)[b-\x{1e942}]`, would take some milliseconds a range.
 */
const PATTERN_FOLDED_MAX = 4096;

/** What the patterns of one request, or schema, may come to together. */
interface PatternRoom {
  size: number;
  classes: number;
  folded: number;
  weight: number;
}

export function patternRoom(): PatternRoom {
  return {
    size: PATTERN_SIZE_MAX,
    classes: PATTERN_CLASSES_MAX,
    folded: PATTERN_FOLDED_MAX,
    weight: PATTERN_WEIGHT_MAX,
  };
}

type Engine = typeof import('re2js');

/** Loaded for the first pattern that is compiled. */
let engine: Engine | null = null;

/** A pattern that is run. */
export interface Pattern {
  /** Whether it is anywhere in the text, unless it is anchored. */
  readonly test: (text: string) => boolean;
  /** The same, however long the text is. */
  readonly testAny: (text: string) => boolean;
  /** How many steps each character of a text may take. */
  readonly size: number;
  /** About how many bytes it takes once it was run. */
  readonly held: number;
}

/**
 * What a pattern takes in memory, and each of its steps. One that is tied to the beginning of a text, so that it is run
 * by steps of its own, has a copy of each class for each of them, of `\pL` 12 to 34 KB, mostly 17; others share one.
 */
const PATTERN_BYTES = 5000;
const STEP_BYTES = 500;
const OWN_STEP_BYTES = 1700;
/**
 * What it may keep of the states it has been in, which spare most texts all but a look at each character. A pattern
 * that comes into another state with each would make 8 MiB of them by itself, at ten times the price of going on
 * without.
 */
const STATES_BYTES = 64 * 1024;

/**
 * What of re2js is no part of its types: what its states may take, in all and yet. A pattern that is run by steps of
 * its own (`onepass`) never comes into any; they are made when they are first asked for, in a quarter of the time that
 * it takes.
 */
interface Engined {
  readonly onepass: object | null;
  readonly dfa: { stateBudget: number; memBudget: number };
}

/**
 * The pattern, or null for one that is refused: because it is none, or too long, or, before it is compiled, because
 * counted repetitions (`(a{100}){100}`) or classes would make it large. It takes of the room, which is below 0 where
 * that was why.
 */
export function compileRegex(pattern: string, room = patternRoom()): Pattern | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const size = writtenOut(pattern);
  const weight = weightOf(pattern);
  room.size -= size;
  room.classes -= classesIn(pattern);
  room.folded -= foldedIn(pattern);
  room.weight -= weight;
  if (size > PATTERN_SIZE_MAX || !hasRoom(room)) return null;
  engine ??= createRequire(import.meta.url)('re2js') as Engine;
  let compiled: ReturnType<Engine['RE2JS']['compile']>;
  try {
    compiled = engine.RE2JS.compile(pattern);
  } catch {
    return null;
  }
  const engined = compiled.re2() as unknown as Engined;
  boundStates(engined);
  const testAny = (text: string) => compiled.test(text);
  const test = (text: string) => text.length <= TEXT_LENGTH_MAX && testAny(text);
  const steps = engined.onepass === null ? STEP_BYTES * size : OWN_STEP_BYTES * weight;
  const held = PATTERN_BYTES + STATES_BYTES + steps;
  return { test, testAny, size, held };
}

function boundStates(engined: Engined): void {
  assert(engined.onepass !== undefined, 're2js calls its steps by another name');
  if (engined.onepass !== null) return;
  const { dfa } = engined;
  assert(dfa.stateBudget > 0 && dfa.memBudget > 0, 're2js bounds its states by other names');
  dfa.stateBudget = STATES_BYTES;
  dfa.memBudget = STATES_BYTES;
}

export function hasRoom({ size, classes, folded, weight }: PatternRoom): boolean {
  return size >= 0 && classes >= 0 && folded >= 0 && weight >= 0;
}

/** What it takes to compile a pattern, in steps. */
export function weightOf(pattern: string): number {
  return writtenOut(
    withBraces(pattern),
    (token) =>
      1 +
      (CLASS_WEIGHT - 1) * classesIn(token) +
      Math.floor(Math.max(0, token.length - CLASS_CHARS_FREE) / CLASS_CHARS_PER_WEIGHT),
  );
}

/**
 * A pattern piece by piece: flags, what is quoted, classes by property, escapes, classes, repetitions, and all else. A
 * class ends where the engine says: not with a class by name in it, `[[:alpha:]b-d]`, nor within a quotation.
 */
const TOKENS =
  /(\(\?[a-zA-Z-]*\))|\\Q((?:(?!\\E)[\s\S])*)(?:\\E)?|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?[a-z]*:\]|[^\]\\])*\]|\{(\d{1,4})(,?)(\d{0,4})\}|[\s\S]/gy;

/** A character of a class as it is written: by its number, of one that stands for another, or itself. */
const CLASS_CHARACTER = /\\x\{([0-9A-Fa-f]+)\}|\\x([0-9A-Fa-f]{2})|\\[\s\S]|[\s\S]/gu;

/** Characters in the ranges of classes, where the pattern folds case anywhere. */
function foldedIn(pattern: string): number {
  if (!/\(\?[a-zA-Z-]*i/.test(pattern)) return 0;
  let sum = 0;
  for (const [token] of pattern.matchAll(TOKENS)) {
    if (!token.startsWith('[')) continue;
    const written = [...token.slice(1, -1).matchAll(CLASS_CHARACTER)];
    const codes = written.map(([text, long, short]) => {
      const digits = long ?? short;
      return digits === undefined
        ? text.codePointAt(text.length > 1 && text[0] === '\\' ? 1 : 0)!
        : Number.parseInt(digits, 16);
    });
    for (let at = 1; at + 1 < codes.length; at++) {
      if (written[at]![0] === '-') sum += Math.max(0, codes[at + 1]! - codes[at - 1]! + 1);
    }
  }
  return sum;
}

function classesIn(pattern: string): number {
  let count = 0;
  for (const [, escaped] of pattern.matchAll(/\\([\s\S])/g)) if (escaped === 'p' || escaped === 'P') count++;
  return count;
}

/**
 * With `\pL` as `\p{L}`. Its letter is a token of its own, which is what the size of a pattern has always counted: work
 * that a check may take is counted by that, and what was decided stays. But it is the class that is repeated.
 */
function withBraces(pattern: string): string {
  return pattern.replace(/\\(?:([pP])([^{])|[\s\S])/g, (token: string, property?: string, letter?: string) =>
    property === undefined ? token : `\\${property}{${letter}}`,
  );
}

/**
 * About how many single characters and classes a pattern has with `{n,m}` written out, or what those weigh together.
 */
function writtenOut(pattern: string, weigh: (token: string) => number = () => 1): number {
  /** Sizes of the groups that are open, the pattern itself first. */
  const open = [0];
  let last = 0;
  for (const [token, flags, quoted, least, comma, most] of pattern.matchAll(TOKENS)) {
    const top = open.length - 1;
    // Flags are nothing that a repetition could be about: it is about what stands before them.
    if (flags !== undefined) continue;
    if (quoted !== undefined) {
      // Between \Q and \E nothing has a meaning: a bracket there opens no class.
      if (quoted.length > 0) last = weigh('');
      open[top]! += quoted.length * weigh('');
    } else if (least !== undefined) {
      // `a{3,}` is three times a, and once more for the loop.
      const times = Math.max(1, most ? Number(most) : Number(least) + (comma === '' ? 0 : 1));
      open[top]! += last * (times - 1);
      last *= times;
    } else if (token === '(') {
      open.push(0);
    } else if (token === ')' && top > 0) {
      last = weigh('') + open.pop()!;
      open[top - 1]! += last;
    } else {
      // What `a*` is about may be repeated once more, where flags or an empty quotation stand between.
      const weight = weigh(token);
      last = '*+?'.includes(token) ? last + weight : weight;
      open[top]! += weight;
    }
  }
  return open.reduce((sum, size) => sum + size, 1);
}
