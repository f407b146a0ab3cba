/** Whether what stands behind the last whole frame may stand there, and whether that frame may be the last. */
import { join } from 'node:path';
import { changeIn, changeText } from '../../storage/changed-byte.ts';
import type { Disk } from '../../storage/disk.ts';
import type { VerifyHash } from '../../storage/format.ts';
import type { ReadResult } from '../../storage/journal-reader.ts';
import { endDamage } from '../../storage/known-end.ts';
import { FoundError } from './finding.ts';

/** Throws FoundError or DamageError where not: a torn tail may, where no server has stopped behind it. */
export function checkEnd(disk: Disk, directory: string, { torn, position }: ReadResult, verify: VerifyHash): void {
  const damage = endDamage(disk, directory, { torn, position }, verify);
  if (damage !== null) throw damage;
  const changed = torn === null ? null : changeIn(disk, directory, { torn, position }, verify);
  if (changed === null) return;
  const place = { file: join(directory, torn!.file), byte: changed.byte };
  throw new FoundError('damage', place, changeText(changed));
}
