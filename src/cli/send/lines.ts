/**
 * Bytes → lines. Not node:readline, which ends a line at U+2028 too: JSON has that in its texts as it is.
 */
const NEWLINE = 0x0a;
/** A line is read as a text, which V8 bounds; no server takes what comes near this. */
export const LINE_MIB_MAX = 16;
const LINE_BYTES_MAX = LINE_MIB_MAX * 1024 * 1024;

/**
 * The lines of a stream, each without its end; of the last one that has no end too, where there is anything in it. Null
 * for a line that is longer than LINE_MIB_MAX, of which nothing is kept.
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer | null> {
  let begun: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length > LINE_BYTES_MAX) begun = [];
    else begun.push(part);
  };
  const end = (): Buffer | null => {
    const line = length > LINE_BYTES_MAX ? null : Buffer.concat(begun);
    [begun, length] = [[], 0];
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
