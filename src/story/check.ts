/**
 * A text and a public key → a report of what is proven. The text is a story or a server's answer. Whoever shows reports
 * calls nothing else in this folder.
 *
 * What always holds: it never throws; where anything is wrong, or anything at all goes wrong in here, the verdict is
 * not `proven` and not `signed`, and nothing of the text is shown.
 */
import { checkAnswer, recordFacts } from './answer.ts';
import { decodeBase64 } from './bytes.ts';
import { isObject, type Json, type JsonObject, parseJson } from './json.ts';
import { NotProven, TooLarge } from './not-proven.ts';
import { BY_CHAIN, type Fact, factOf, partOf, type Report, titleOf } from './report.ts';
import { beginCounting, type Signed } from './signed.ts';
import { checkStory, type Story } from './story.ts';

/** The longest text that is checked, in characters: half of the longest string that browsers have. */
export const TEXT_CHARS_MAX = 1 << 28;

/** `server`: its public key, base64, from somebody whom the reader trusts. */
export function checkText(text: string, server: string): Report {
  if (!isKey(server)) return reportOf('unchecked', 'The key must be the base64 of 32 bytes');
  if (text.length > TEXT_CHARS_MAX) return tooLarge();
  try {
    beginCounting();
    const value = parseJson(text);
    return isObject(value) && value.format !== undefined ? storyReport(value, server) : checkAnswer(value, server);
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge();
    if (error instanceof NotProven) return reportOf('wrong', `NOT PROVEN: ${error.message}`);
    return reportOf('wrong', `NOT PROVEN: no story as \`ayni export\` writes it: ${(error as Error).name}`);
  }
}

function isKey(text: string): boolean {
  try {
    return decodeBase64(text, 32).length === 32;
  } catch {
    return false;
  }
}

function reportOf(verdict: Report['verdict'], said: string): Report {
  return { verdict, said, notes: [], parts: [] };
}

function tooLarge(): Report {
  return reportOf(
    'unchecked',
    'Nobody has looked: it is larger than this takes. check-story.py takes stories of any size',
  );
}

function storyReport(value: JsonObject, server: string): Report {
  const story = checkStory(value, server);
  return story.isProven ? provenReport(story, server) : unframedReport(story, server);
}

function provenReport(story: Story, server: string): Report {
  const { luid, entries, proofs, seq, moment, signedAt, isDropped } = story;
  return {
    verdict: 'proven',
    said: `Proven: ${luid}${isDropped ? ', dropped' : ''}: ${entries} entries, ${proofs} proofs; in the chain up to entry ${seq}`,
    notes: [
      ...(isDropped ? ['The record was dropped: what is shown is what it was until then.'] : []),
      `The record was as it is shown, by all that the file holds of it. The chain ends at ${moment}; the server signed that end at ${signedAt}.`,
      'Not proven is that nothing else happened to it: what came after the last entry in the file, and proofs that were added between, may have been left out together with their entries.',
      `It names no ledger: one server keeps many. Ask the ledger that is meant for ${luid}.`,
    ],
    parts: partsOf(story, server, (version) => provenFacts(version, story)),
  };
}

function provenFacts({ hash, meta }: Signed, { luid }: Story): Fact[] {
  const { proofs: _, ...others } = meta;
  const facts = Object.entries<Json>({ luid, hash, ...others });
  return facts.map(([name, member]) => factOf(name, member, BY_CHAIN));
}

function unframedReport(story: Story, server: string): Report {
  const { luid } = story;
  const facts = (version: Signed) => recordFacts({ luid, meta: version.meta }, version, server);
  return {
    verdict: 'signed',
    said: 'Proven is each signature, and what it says; not the state of the record: the frames of its first entries are gone',
    notes: [
      'The server lets go of old frames. Its status, its labels and the order of its proofs are the word of whoever gave you the file; below, each line says whose.',
      'A story that was written before the frames went, or from a backup of that time, proves them.',
    ],
    parts: partsOf(story, server, facts),
  };
}

/** The record as it is, then what it was before, the newest first. */
function partsOf({ luid, versions }: Story, server: string, factsOf: (version: Signed) => Fact[]) {
  const count = versions.length;
  const parts = versions.map((version, n) => {
    const place = count === 1 ? '' : `, version ${n + 1} of ${count}`;
    return partOf(`${titleOf(luid, version.data)}${place}`, version, factsOf(version), server);
  });
  return parts.reverse();
}
