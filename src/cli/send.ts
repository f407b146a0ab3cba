/**
 * `ayni send`: many records to a server, for whoever moves their accounts here or posts a day's payments from a file.
 *
 * What always holds: it may be killed at any moment, and so may the server; the same command again goes on, and does
 * nothing twice.
 */
import { fstatSync } from 'node:fs';
import { KINDS, Kind } from '../core/kinds.ts';
import { plain } from '../story/shown.ts';
import { plainUrl } from '../url-text.ts';
import { readOwnKey } from './own-key.ts';
import { AnswersFile } from './send/answers.ts';
import { Books } from './send/books.ts';
import { linesOf } from './send/lines.ts';
import { NoAnswerError, Sender } from './send/sender.ts';
import { Tally } from './send/tally.ts';
import { WIDTH_MAX } from './send/witnesses.ts';
import { LEDGER, readArgs, readCount, readFilled, readLedger, TEXT, UsageError } from './usage.ts';

const WIDTH = 64;
const PATIENCE_SECONDS = 60;
const PATIENCE_SECONDS_MAX = 86_400;

export const HELP = `ayni send <url> --answers <file> [--key <file>] [--ledger <handle>] [--width <n>] [--patience <seconds>]

Makes the records that standard input has, one in a line: data as JSON, which the key signs, or what ayni sign prints.
<url> is where they are made, http://127.0.0.1:4000/v2/intents say; ledgers are made by curl. What became of each line is
written to the file of answers: taken, there (it was in already) or refused, what an intent came to, and why not. Ended
by anything, the same command again goes on where it was: what the file knows to be in is not sent, and what it does not
know is not done twice, since a record is known by its handle and content.

  --answers <file>      goes on with the file, or makes it; another one for another ledger or kind
  --key <file>          as for sign: signs what is not signed, and a token for ledgers with rules
  --ledger <handle>     (default: main); where no --key is given its luid, too
  --width <n>           so many at once, in no order (${WIDTH}, at most ${WIDTH_MAX}); where a line needs those before it, 1
  --patience <seconds>  a line without an answer is sent again for so long (${PATIENCE_SECONDS}); then all ends

Ends with 0 where every line is in (also where there was none) and no intent was rejected; else with 1, also where the key may not
read what became of an intent. A line in which a number has more digits than JSON readers keep, or an object two members of one name, is not signed.
`;

/** Runs the command; resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const width = { ...TEXT, default: String(WIDTH) };
  const patience = { ...TEXT, default: String(PATIENCE_SECONDS) };
  const { values, positionals } = readArgs(args, { answers: TEXT, key: TEXT, ledger: LEDGER, width, patience });
  if (positionals.length !== 1) throw new UsageError('one <url>, http://127.0.0.1:4000/v2/intents say');
  const { url, kind } = readUrl(positionals[0]!);
  const atOnce = readCount('--width', values.width, 1, WIDTH_MAX);
  const patienceMs = 1000 * readCount('--patience', values.patience, 0, PATIENCE_SECONDS_MAX);
  const keys = values.key === undefined ? null : readOwnKey(values.key);
  const ledger = readLedger(values.ledger, keys === null);
  if (values.answers === undefined) throw new UsageError('--answers: a file for what becomes of each line is needed');
  // Node reads a directory as a file with nothing in it.
  if (fstatSync(process.stdin.fd).isDirectory()) throw new UsageError('standard input: is a directory, and no file');
  const answers = await AnswersFile.open(readFilled('--answers', values.answers), { url, ledger });
  const sender = new Sender({ url, ledger, keys, patienceMs }, kind);
  const tally = new Tally();
  const silence = await sendRest(sender, answers, tally, atOnce).finally(() => answers.close());
  for (const piece of tally.text()) process.stdout.write(piece);
  if (silence === null && tally.isEmpty) process.stderr.write('ayni: no line came: standard input had nothing\n');
  if (silence === null) return tally.hasLosses ? 1 : 0;
  const silent = `no answer for ${patienceMs / 1000} s (${silence.message})${silence.to}`;
  process.stderr.write(`ayni: ${plain(silent)}. What was sent last may be in; the same command again goes on.\n`);
  return 1;
}

/** The kind that the path names, one of those in a ledger. */
function readUrl(text: string): { url: string; kind: Kind } {
  const url = plainUrl(text);
  const kind = KINDS.findIndex(({ path }) => path !== '' && url?.pathname.endsWith(`/${path}`) === true);
  if (url === null || kind < 0 || kind === Kind.ledger) {
    throw new UsageError('<url>: must be where records are made, http://127.0.0.1:4000/v2/intents say');
  }
  return { url: url.href, kind: kind as Kind };
}

/**
 * Sends what the file of answers does not know to be in, if the ledger has what it does, and still has it in the end;
 * resolves, where the server was silent for too long, with how.
 */
async function sendRest(
  sender: Sender,
  answers: AnswersFile,
  tally: Tally,
  width: number,
): Promise<NoAnswerError | null> {
  const books = new Books(sender, answers, width);
  try {
    await books.check();
    await sendAll(sender, answers, books, tally, width);
    await books.check();
    return null;
  } catch (error) {
    if (error instanceof NoAnswerError) return error;
    throw error;
  }
}

/** Sends all lines, `width` at a time. Nothing is on its way any more when it ends. */
async function sendAll(sender: Sender, answers: AnswersFile, books: Books, tally: Tally, width: number): Promise<void> {
  const lines = linesOf(process.stdin);
  let [line, failure] = [0, null as Error | null];
  const sendOne = async (number: number, bytes: Buffer | null): Promise<void> => {
    const prepared = sender.prepare(number, bytes);
    if ('outcome' in prepared) {
      answers.add(prepared);
      return tally.add(prepared, false);
    }
    const known = answers.settled(prepared.hash);
    if (known !== null) tally.add(known, true);
    else tally.add(await books.send(prepared), false);
  };
  const work = async (): Promise<void> => {
    try {
      for (let next = await lines.next(); next.done !== true && failure === null; next = await lines.next()) {
        const number = ++line;
        if (next.value?.toString().trim() !== '') await sendOne(number, next.value);
      }
    } catch (error) {
      failure ??= error as Error;
      // The others may wait for a line that nobody writes any more.
      process.stdin.destroy();
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  if (failure !== null) throw failure;
}
