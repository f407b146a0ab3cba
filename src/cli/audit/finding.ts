/** What an audit may find: where it is, and what is wrong there. */
import { DamageError } from '../../storage/segments.ts';

/**
 * damage: bytes are not what they were. lie: the bytes are whole, and what they say cannot be. decided: today's rules
 * decide otherwise than the books say.
 */
type FindingKind = 'damage' | 'lie' | 'decided';

/** Where something stands in the books. */
export interface Place {
  /** Path of the file. */
  file: string;
  byte?: number | undefined;
  seq?: number | undefined;
  luid?: string | undefined;
}

export interface Finding extends Place {
  kind: FindingKind;
  what: string;
}

/** Ends an audit at the first thing that is wrong. */
export class FoundError extends Error {
  override name = 'FoundError';
  readonly finding: Finding;

  /** Says where it is by itself, too: tools that report no findings tell it as any other error. */
  constructor(kind: FindingKind, { file, byte, seq, luid }: Place, what: string) {
    const finding = { kind, file, byte, seq, luid, what };
    super(findingText(finding));
    this.finding = finding;
  }
}

/** Says of what stands there what is wrong with it. */
export function lieAt(place: Place): (what: string) => never {
  return (what) => {
    throw new FoundError('lie', place, what);
  };
}

/** The finding an error stands for, or null where it is no finding but a failure of disk or program. */
export function findingOf(error: unknown): Finding | null {
  if (error instanceof FoundError) return error.finding;
  if (error instanceof DamageError) return { kind: 'damage', file: error.file, byte: error.byte, what: error.what };
  return null;
}

/** One line for people. */
export function findingText({ kind, file, byte, seq, luid, what }: Finding): string {
  const where = [
    file,
    byte === undefined ? '' : `byte ${byte}`,
    seq === undefined ? '' : `entry ${seq}`,
    luid === undefined ? '' : luid,
  ].filter((part) => part !== '');
  const name = { damage: 'DAMAGE', lie: 'LIE', decided: 'DECIDED OTHERWISE' }[kind];
  return `${name}: ${where.join(', ')}: ${what}`;
}
