/**
 * Makes text from a file that may be hostile fit to be shown. Characters that are invisible, or change the order in
 * which others are shown, become \uXXXX. What is longer than anybody reads is cut, and marked as cut.
 */
import type { Json } from './json.ts';

/**
 * Control and format characters (among them those of writing direction), lone surrogates, private and unassigned code
 * points, line and paragraph separators, ignorable characters, spaces other than the usual one, the Braille pattern
 * without dots, and the object replacement character.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}/gu;

/** The text on one line, with nothing invisible in it. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (found) => {
    let escaped = '';
    for (let at = 0; at < found.length; at++) {
      escaped += `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }
    return escaped;
  });
}

/** The text; only its beginning where it is longer than `charsMax`. */
export function brief(text: string, charsMax: number): string {
  return text.length <= charsMax ? plain(text) : `${plain(text.slice(0, charsMax))} …`;
}

export interface Shown {
  text: string;
  /** More was there than is shown. */
  isCut: boolean;
}

/** The value as JSON on many lines, its members in canonical order. */
export function pretty(value: Json, charsMax: number): Shown {
  const writer: Writer = { pieces: [], left: charsMax };
  writeValue(writer, value, '\n');
  return { text: writer.pieces.join(''), isCut: writer.left < 0 };
}

interface Writer {
  pieces: string[];
  left: number;
}

function write(writer: Writer, text: string): void {
  if (writer.left < 0) return;
  writer.pieces.push(text.slice(0, writer.left));
  writer.left -= text.length;
}

function writeText(writer: Writer, text: string): void {
  if (writer.left < 0) return;
  // With its quotes a cut text is longer than the room left, so that the writer knows that something was left out.
  write(writer, plain(JSON.stringify(text.slice(0, writer.left))));
}

function writeValue(writer: Writer, value: Json, line: string): void {
  if (typeof value === 'string') return writeText(writer, value);
  if (typeof value !== 'object' || value === null) return write(writer, `${value}`);
  const isList = Array.isArray(value);
  const names = isList ? value.keys() : Object.keys(value).sort();
  const inner = `${line}  `;
  let isEmpty = true;
  write(writer, isList ? '[' : '{');
  for (const name of names) {
    if (writer.left < 0) return;
    write(writer, isEmpty ? inner : `,${inner}`);
    isEmpty = false;
    if (!isList) {
      writeText(writer, name as string);
      write(writer, ': ');
    }
    writeValue(writer, (value as { readonly [name: string | number]: Json })[name]!, inner);
  }
  write(writer, `${isEmpty ? '' : line}${isList ? ']' : '}'}`);
}
