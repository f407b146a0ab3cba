/**
 * `ayni verify [dir]`: audits a directory of books from outside, prints what was checked and how quickly, and what is
 * wrong. Exit code 0 where nothing is, else 1.
 */
import { availableParallelism } from 'node:os';
import { encodeBase64 } from '../proof/keys.ts';
import { readWhole, realDisk } from '../storage/disk.ts';
import { plain } from '../story/shown.ts';
import { type AuditReport, audit, type HeadReport } from './audit/audit.ts';
import { findingOf, findingText } from './audit/finding.ts';
import { givenKey } from './audit/key.ts';
import { countText } from './count.ts';
import { dataDirectory } from './directory.ts';
import { readArgs, readCount, readFilled, SWITCH, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni verify [dir] [--against <base64>] [--head <file>] [--json] [--other-rules] [--signed-only] [--workers <n>]

Reads every file in the directory (default: AYNI_DATA, else snapshots) and checks every frame, hash, signature,
decision and balance in it. Changes nothing, takes no lock: it may be run while the server works, or on a copy.

  --against <base64>  the server's public key as you know it; without it that in server.key, else the one the books
                      themselves give (--key is the same)
  --head <file>       an answer of GET /v2/head, kept from earlier: is the history up to it still in the books?
  --json              the report as one JSON object
  --other-rules       entries that today's rules decide otherwise are counted, and no reason to fail
  --signed-only       tokens and --access-rules of the server explain no decision, as where neither is in use: each needs
                      the signatures that the rules in the books ask for
  --workers <n>       threads that verify signatures (default: one per core)

Ends with 0 where nothing is wrong, with 1 where something is, or a head could not be proven. It goes on past snapshots and
parts that are not whole, where the rest leads past them, and stops at the first other thing.
`;

const HEAD_BYTES_MAX = 65_536;

/** Runs the command; resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const flags = { against: TEXT, key: TEXT, head: TEXT, workers: TEXT };
  const switches = { json: SWITCH, 'other-rules': SWITCH, 'signed-only': SWITCH };
  const { values, positionals } = readArgs(args, { ...flags, ...switches });
  const directory = dataDirectory(positionals);
  const isJson = values.json === true;
  const isSignedOnly = values['signed-only'] === true;
  // Of two keys one would be passed over, and the other be the one that nobody meant.
  if (values.against !== undefined && values.key !== undefined) throw new UsageError('--against or --key: one of them');
  const key = givenKey(values.against ?? values.key);
  const head = values.head === undefined ? null : { file: values.head, text: textOf(values.head) };
  try {
    const report = await audit({
      disk: realDisk,
      directory,
      key,
      workers: workersOf(values.workers),
      otherRules: values['other-rules'] === true,
      signedOnly: isSignedOnly,
      ...(head !== null && { head }),
    });
    process.stdout.write(isJson ? jsonText(directory, report) : tableText(directory, report, isSignedOnly));
    return isSound(report.finding, report.head) ? 0 : 1;
  } catch (error) {
    // Damage may be met before there is a report, while the key is looked for.
    const finding = findingOf(error);
    if (finding === null) throw error;
    process.stdout.write(
      `${plain(isJson ? JSON.stringify({ directory, ok: false, finding }) : findingText(finding))}\n`,
    );
    return 1;
  }
}

/** A file that cannot be read is a slip of whoever named it, and says nothing of the books. */
function textOf(given: string): string {
  const path = readFilled('--head', given);
  try {
    return readWhole(realDisk, path, HEAD_BYTES_MAX).toString();
  } catch (error) {
    throw new UsageError(`--head: ${(error as Error).message}`);
  }
}

function workersOf(text: string | undefined): number {
  if (text === undefined) return availableParallelism();
  return readCount('--workers', text, 1, 256);
}

/** All that was asked holds. */
function isSound(finding: AuditReport['finding'], head: AuditReport['head']): boolean {
  return finding === null && head?.isProven !== false;
}

function jsonText(directory: string, { key, finding, findings, ...report }: AuditReport): string {
  const shown = {
    directory,
    ok: isSound(finding, report.head),
    key: { public: encodeBase64(key.public), source: key.source },
    ...report,
    milliseconds: Math.round(report.milliseconds),
    finding,
    findings,
  };
  return `${plain(JSON.stringify(shown))}\n`;
}

function tableText(directory: string, report: AuditReport, isSignedOnly: boolean): string {
  const { counts, key } = report;
  const seconds = report.milliseconds / 1000;
  const rows: [what: string, count: number, more: string][] = [
    ['segments', report.segments, bytesText(report.segmentBytes)],
    ['frames', report.frames, 'size, CRC, place, chain, moment, signature'],
    ['entries', counts.entries, `${shownCount(counts.entries / seconds)} a second`],
    ['hashes', counts.hashes, 'SHA-256 of canonical data'],
    ['luids', counts.luids, 'form, kind, second, unique'],
    ['signatures', report.signatures, `${shownCount(report.signatures / seconds)} a second`],
    ['  by clients', counts.proofs, ''],
    ['  by the server', report.signatures - counts.proofs, ''],
    ['decisions', counts.decisions, counts.otherwise === 0 ? 'decided again' : `${counts.otherwise} decided otherwise`],
    ['postings', report.postings, `added up again over ${shownCount(report.balances)} balances`],
    ['snapshots', report.snapshots, 'the very state their entries lead to'],
    ['parts', report.parts, bytesText(report.partBytes)],
  ];
  const width = Math.max(...rows.map(([, count]) => shownCount(count).length));
  const lines = [
    `Books in ${directory}`,
    `Key ${encodeBase64(key.public)}, from ${key.source}`,
    '',
    ...rows.map(([what, count, more]) => `${what.padEnd(16)}${shownCount(count).padStart(width)}  ${more}`.trimEnd()),
    '',
    ...report.notes,
    ...(report.strangers.length === 0 ? [] : [`Not of the books, and not looked at: ${report.strangers.join(', ')}.`]),
    ...(report.head?.isProven === true ? [headText(report.head)] : []),
    ...report.findings.map(findingText),
    ...(report.toEnd
      ? [
          `Nothing${report.finding === null ? '' : ' else'} wrong up to entry ${report.seq}, chain ${report.chain}, in ${seconds.toFixed(1)} s.`,
        ]
      : []),
    ...(report.findings.at(-1)?.kind === 'decided' ? [isSignedOnly ? OF_SIGNED_ONLY : OF_EARLIER_RULES] : []),
  ];
  // Whoever has the files names them: no name is to look like a line of this, nor to hide one.
  return `${lines.map(plain).join('\n')}\n`;
}

/** Who has kept books since before a rule changed needs to know how they are read to their end. */
const OF_EARLIER_RULES =
  'That is no damage: earlier versions had other rules. Nothing after it was looked at; --other-rules counts it, and reads on.';

const OF_SIGNED_ONLY =
  'Without --signed-only tokens and rules of the server are believed to have permitted it. Where neither is in use, whoever has the key made it up, or earlier versions had other rules. Nothing after it was looked at.';

function headText({ seq, chain }: HeadReport): string {
  return `The history up to entry ${seq} is the one the server signed the head ${chain} of.`;
}

function shownCount(count: number): string {
  return countText(Math.round(count));
}

function bytesText(bytes: number): string {
  return bytes < 1_000_000 ? `${shownCount(bytes / 1000)} kB` : `${shownCount(bytes / 1_000_000)} MB`;
}
