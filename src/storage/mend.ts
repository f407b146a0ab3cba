/**
 * What a journal has behind its last whole frame, brought to an end: a torn tail, which a server has never
 * acknowledged, is cut; where only one byte has changed, its CRC tells which and the server's signature what it was,
 * and it is put back (changed-byte.ts). Either is told. The segment that is the last one then is these books' alone.
 */
import { changeIn, putBack } from './changed-byte.ts';
import type { Disk } from './disk.ts';
import type { VerifyHash } from './format.ts';
import type { JournalPosition } from './journal.ts';
import { cutTornTail, type TornTail } from './journal-reader.ts';
import { ownLastSegment } from './own-segment.ts';

/** Why books are damaged whose end is not mended by that. */
export const NOT_PUT_BACK = 'a byte that cannot be put back';

interface Mended {
  /** For the operator, each a sentence or more. */
  notes: string[];
  /**
   * The byte that was put back, with which there may be another frame: the journal is to be read again. Null where it
   * was cut.
   */
  byte: number | null;
}

/** What a torn tail of a server's own books is. */
const NEVER_ACKNOWLEDGED = 'a write that was never acknowledged';

/**
 * Mends what stands behind `position`, durably. `tail`: what is said of one that is cut, where it is no server's own.
 */
export function mendEnd(
  disk: Disk,
  directory: string,
  { torn, position }: { torn: TornTail; position: JournalPosition },
  verify: VerifyHash,
  tail = NEVER_ACKNOWLEDGED,
): Mended {
  const { file, byte, bytes } = torn;
  const changed = changeIn(disk, directory, { torn, position }, verify);
  if (changed === null) {
    cutTornTail(disk, directory, torn);
    const note =
      bytes === 0
        ? `Removed ${file}, a segment with nothing in it: a write to it never began.`
        : `Cut a torn tail of ${bytes} bytes off ${file} at byte ${byte}: ${tail}.`;
    // Where it was all of a segment, the one before is written to from now on, which may be other books' too.
    const own = ownLastSegment(disk, directory);
    return { notes: own === null ? [note] : [note, own], byte: null };
  }
  putBack(disk, directory, file, changed);
  const [where, why] =
    changed.where === 'frame'
      ? ['in the last frame', "The server's signature proves what it was"]
      : ['behind the last frame', 'Nothing was written there yet'];
  const note = `Byte ${changed.byte} of ${file}, ${where}, had changed. ${why}, and it was put back. Look after the disk.`;
  return { notes: [note], byte: changed.byte };
}
