/**
 * Bytes → lines. Not node:readline, which ends a line at U+2028 too: JSON has that in its texts as it is.
 */
const NEWLINE = 0x0a;
/** Some editors and spreadsheets begin a file with it. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** A line is read as a text, which V8 bounds; no server takes what comes near this. */
export const LINE_MIB_MAX = 16;
const LINE_BYTES_MAX = LINE_MIB_MAX * 1024 * 1024;

/**
 * The lines of a stream, each without its end, and the first without a mark of the byte order; of the last one that has
 * no end too, where there is anything in it. Null for a line that is longer than LINE_MIB_MAX, of which nothing is
 * kept.
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer | null> {
  let begun: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length > LINE_BYTES_MAX) begun = [];
    else begun.push(part);
  };
  let isFirst = true;
  const end = (): Buffer | null => {
    let line = length > LINE_BYTES_MAX ? null : Buffer.concat(begun);
    if (isFirst && line?.indexOf(BYTE_ORDER_MARK) === 0) line = line.subarray(BYTE_ORDER_MARK.length);
    [begun, length, isFirst] = [[], 0, false];
    return line;
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, at));
      yield end();
      from = at + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (length > 0) yield end();
}
