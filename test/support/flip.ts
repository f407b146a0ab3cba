/** What a device may do to a file that nobody writes to. */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';

/** Changes one byte where it lies, counted from the file's end where `at` is below 0; done twice it is as before. */
export function flip(path: string, at: number): void {
  const place = at < 0 ? statSync(path).size + at : at;
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, place);
  writeSync(file, Buffer.of(byte[0]! ^ 1), 0, 1, place);
  closeSync(file);
}
