/** The forms that an answer about the past has, and how it is said: piece by piece, since there may be millions. */
import { UsageError } from '../usage.ts';

/** For people, for spreadsheets, for programs. */
type Form = 'text' | 'csv' | 'json';

export function readForm({ csv, json }: { csv?: boolean | undefined; json?: boolean | undefined }): Form {
  if (csv === true && json === true) throw new UsageError('one of --csv and --json');
  return csv === true ? 'csv' : json === true ? 'json' : 'text';
}

/** Characters that are written at once. */
const WRITTEN_CHARS = 65_536;

export function sayAll(pieces: Iterable<string>): void {
  for (const text of gathered(pieces)) process.stdout.write(text);
}

/** The same text in fewer pieces, one at least: none is much longer than the longest of those. */
export function* gathered(pieces: Iterable<string>): Generator<string> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < WRITTEN_CHARS) continue;
    yield text;
    text = '';
  }
  yield text;
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/**
 * A line of CSV as RFC 4180 has it. What begins as formulas do, and is no number, gets a quote in front, since
 * spreadsheets would calculate it: handles may begin with a sign.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** Members of a JSON array, as they come. */
export function* listText(values: Iterable<object>): Generator<string> {
  let before = '';
  for (const value of values) {
    yield `${before}\n${JSON.stringify(value)}`;
    before = ',';
  }
}
