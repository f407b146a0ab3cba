/**
 * The books of a directory as whoever looks back at them reads them: with the server's public key, as a server that
 * only shows them does, changing nothing, and beside a server that may be writing.
 */
import { verifyBy } from '../../proof/verify.ts';
import { type Recovered, refusedText, show } from '../../recovery.ts';
import { realDisk } from '../../storage/disk.ts';
import { pin } from '../../storage/pinned.ts';
import { plain } from '../../story/shown.ts';
import { findingOf, findingText } from '../audit/finding.ts';
import { findKey } from '../audit/key.ts';

/** `key` is the server's public key, null where nobody knows it. Throws, with words, where the books are not sound. */
export function booksOf(directory: string, key: Uint8Array | null): Recovered {
  const pinned = pin(realDisk, directory);
  try {
    const { public: known } = findKey({ disk: realDisk, directory, key }, pinned);
    const shown = show({ disk: pinned, directory, verify: verifyBy(known), hashSeed: 1 });
    tellRefused(shown.refused);
    return shown;
  } catch (error) {
    const finding = findingOf(error);
    throw finding === null ? error : new Error(findingText(finding));
  } finally {
    pinned.release();
  }
}

/** What is told of books is whole without them, and yet somebody has to put them back: on standard error. */
export function tellRefused(refused: Recovered['refused']): void {
  for (const snapshot of refused) process.stderr.write(`ayni: ${plain(refusedText(snapshot))}\n`);
}
