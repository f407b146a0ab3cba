/** What lies on the disk, read again by those who may want to: the next start, and whoever audits the books. */
import { audit } from '../../src/cli/audit/audit.ts';
import { findingText } from '../../src/cli/audit/finding.ts';
import type { MemorySizes, State } from '../../src/core/state.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { digestsThatDiffer, stateDigests } from '../../src/storage/state-digest.ts';
import { DIRECTORY, readBooks } from './directory.ts';
import type { World } from './host.ts';
import { must } from './must.ts';
import { SERVER } from './wish.ts';

type Digests = ReadonlyMap<string, Buffer>;

/** The books as they lie on the disk are those of the live state. */
export function checkReplay({ disk, dice, sizes }: World, digests: Digests): State {
  const replayed = readBooks(disk, dice.below(2 ** 32), sizes).state;
  const differences = digestsThatDiffer(digests, stateDigests(replayed));
  must(differences.length === 0, `what is read from the disk differs in ${differences.join(', ')}`);
  return replayed;
}

/** Whatever went with a crash, the journal has no gap: who audits the books reads it from its first segment on. */
export function checkSegments(disk: Disk, seq: number): void {
  const { position } = readJournal(disk, DIRECTORY, journalStart(disk, DIRECTORY), {
    verifyFrame: () => true,
    onEntry: () => {},
  });
  must(position.seq >= seq, `the journal ends at entry ${position.seq}, before ${seq}`);
}

/** Without any snapshot, from the first entry on, the journal leads to the same state. */
export function checkWholeJournal(journal: Disk, digests: Digests, sizes: MemorySizes): void {
  const replayed = readBooks(journal, 5, sizes).state;
  const differences = digestsThatDiffer(digests, stateDigests(replayed));
  must(differences.length === 0, `the whole journal leads to other ${differences.join(', ')}`);
}

/** Whoever verifies every signature and decides everything again finds nothing wrong. */
export async function checkAudit(disk: Disk, sizes: MemorySizes): Promise<void> {
  const key = SERVER.pair.public;
  const { finding } = await audit({ disk, directory: DIRECTORY, key, workers: 0, otherRules: false, sizes });
  must(finding === null, `an audit finds: ${finding === null ? '' : findingText(finding)}`);
}
