/**
 * What a hostile file says, as text that shows what is there: characters that are not seen, or turn the order of others
 * around, are written as \uXXXX; what is longer than anybody reads is cut, and said to be.
 */
import type { Json } from './json.ts';

/**
 * Controls, directions, fillers, private ones, ones of no meaning, spaces that are none, the Braille pattern without
 * dots, and what stands for an object.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}/gu;

/** The text on one line, all of which is seen. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (found) => {
    let escaped = '';
    for (let at = 0; at < found.length; at++) {
      escaped += `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }
    return escaped;
  });
}

/** The text, or its beginning. */
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
  // With its quotes it is longer than there is room for, so that it is seen that some was left out.
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
