/**
 * Patterns that clients send (`$regex`), run in time linear in the text: the one door to re2js.
 *
 * JavaScript's own engine backtracks, so one short pattern could hold the event loop for hours. RE2
 * syntax has no backreferences and no lookaround; a pattern that needs them is refused.
 *
 * What always holds: pattern and text are bounded in length before the engine sees them.
 */
import { RE2JS } from 're2js';

const PATTERN_LENGTH_MAX = 256;

/** A member longer than this matches no pattern: even linear time is too much of one request's share. */
const TEXT_LENGTH_MAX = 16_384;

/** A matcher (anywhere in the text, unless the pattern is anchored), or null for a pattern that is refused. */
export function compileRegex(pattern: string): ((text: string) => boolean) | null {
  if (pattern.length === 0 || pattern.length > PATTERN_LENGTH_MAX) return null;
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => text.length <= TEXT_LENGTH_MAX && compiled.test(text);
  } catch {
    return null;
  }
}
