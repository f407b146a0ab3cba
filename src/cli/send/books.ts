/**
 * Whether the books are those of which the file of answers tells: a server may go on from an older copy while a run
 * sends to it, and then lacks what an answer said is in. So whenever somebody else may answer, the ledger is asked for
 * what is noted.
 *
 * What always holds: nothing is noted as in by books that lack what was noted before, as far as that can be seen; so
 * what is missing stays among the youngest, and each later run sees it too.
 */
import { runInParallel } from '../parallel.ts';
import { UsageError } from '../usage.ts';
import type { AnswersFile, SentAnswer } from './answers.ts';
import { NoAnswerError, type Outgoing, type Sender } from './sender.ts';
import { WIDTH_MAX } from './witnesses.ts';

const ASKED_AT_ONCE = 32;
/** Where each time an attempt fails, the next answer has all asked again. */
const ROUNDS_MAX = 3;

export class Books {
  readonly #sender: Sender;
  readonly #answers: AnswersFile;
  readonly #width: number;
  /** Of the sender's turns, and of its failures, the last before which all was there. */
  #seen = -1;
  #failures = -1;
  #checking: Promise<void> | null = null;

  constructor(sender: Sender, answers: AnswersFile, width: number) {
    this.#sender = sender;
    this.#answers = answers;
    this.#width = width;
  }

  /** Sends a line, and notes the answer once the books are seen to be those of which the file tells. */
  async send(sent: Outgoing): Promise<SentAnswer> {
    const answer = await this.#sendSurely(sent);
    this.#answers.add(answer);
    return answer;
  }

  async #sendSurely(sent: Outgoing): Promise<SentAnswer> {
    for (;;) {
      const answer = await this.#sender.send(sent);
      if (this.#seen === this.#sender.turns) return answer;
      this.#checking ??= this.#look().finally(() => {
        this.#checking = null;
      });
      await this.#checking;
      // Whoever gave it may be gone, and this with it: then it is sent to who came after.
      if (!(await this.#sender.lacks(answer))) return answer;
    }
  }

  /**
   * Asks for all that tells, until nothing fails meanwhile. Throws UsageError where the ledger lacks what is noted,
   * NoAnswerError where nobody says whether it does, or somebody fails meanwhile again and again. To be called while
   * nothing is on its way.
   */
  async check(): Promise<void> {
    const end = performance.now() + this.#sender.patienceMs;
    while (!(await this.#isThere(WIDTH_MAX))) {
      if (performance.now() > end) throw new NoAnswerError('of what is asked for together some fails each time');
    }
  }

  /**
   * The same for an answer that somebody else may have given: on a mere new connection the last that were sent tell.
   */
  async #look(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (await this.#isThere(this.#failures === this.#sender.failures ? this.#width : WIDTH_MAX)) return;
    }
  }

  /** Whether all was answered by those who are there now. */
  async #isThere(width: number): Promise<boolean> {
    const { failures, turns } = this.#sender;
    await this.#askForYoungest(width);
    // Else some may have been answered by who was there before.
    if (failures !== this.#sender.failures) return false;
    this.#seen = turns;
    this.#failures = failures;
    return true;
  }

  async #askForYoungest(width: number): Promise<void> {
    const noted = this.#answers.youngest(width);
    let missing: SentAnswer | null = null;
    await runInParallel(noted.length, ASKED_AT_ONCE, async (position) => {
      if (missing === null && (await this.#sender.lacks(noted[position]!))) missing = noted[position]!;
    });
    if (missing !== null) throw new UsageError(textOf(this.#answers.path, missing));
  }
}

function textOf(path: string, { handle, luid, status }: SentAnswer): string {
  const missing = `${handle ?? luid}, which the ledger does not have${status === null ? '' : ` as ${status}`}`;
  return `--answers: ${path} tells of ${missing}: its books are older ones, or new; name a new file, and all is sent that they lack`;
}
