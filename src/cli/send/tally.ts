/**
 * What became of all lines together, by what they came to and why not, each with the first line of which it was said.
 */
import { plain } from '../../story/shown.ts';
import { countText } from '../count.ts';
import type { SentAnswer } from './answers.ts';

interface End {
  count: number;
  first: SentAnswer;
}

export class Tally {
  readonly #ends = new Map<string, End>();
  #taken = 0;
  #there = 0;
  #noted = 0;
  #refused = 0;

  /** `noted`: the answer is of an earlier run. */
  add(answer: SentAnswer, noted: boolean): void {
    const { outcome, status, reason } = answer;
    if (noted) this.#noted++;
    else if (outcome === 'taken') this.#taken++;
    else if (outcome === 'there') this.#there++;
    else this.#refused++;
    const name = `${(outcome === 'refused' ? outcome : (status ?? 'in')).padEnd(10)} ${reason ?? ''}`.trimEnd();
    const end = this.#ends.get(name);
    if (end === undefined) this.#ends.set(name, { count: 1, first: answer });
    else end.count++;
  }

  /** Whether there is anything that was refused, or rejected, or may have been. */
  get hasLosses(): boolean {
    const isLost = ({ outcome, status }: SentAnswer) =>
      outcome === 'refused' || status === 'rejected' || status === 'unknown';
    return [...this.#ends.values()].some(({ first }) => isLost(first));
  }

  /** Whether there was no line at all. */
  get isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  *text(): Generator<string> {
    const all = this.#taken + this.#there + this.#noted + this.#refused;
    const counts = [
      `${countText(this.#taken)} taken`,
      `${countText(this.#there)} there already`,
      `${countText(this.#noted)} known from before`,
      `${countText(this.#refused)} refused`,
    ];
    yield `${countText(all)} answered: ${counts.join(', ')}.\n`;
    for (const [name, { count, first }] of [...this.#ends].sort(([, a], [, b]) => b.count - a.count)) {
      const { line, handle, detail } = first;
      const example = detail === null ? '' : `, as line ${line}${handle === null ? '' : ` (${handle})`}: ${detail}`;
      // What a bank says of a payment stands in it, too, and makes no line of its own.
      yield `${plain(`${countText(count).padStart(13)} ${name}${example}`)}\n`;
    }
  }
}
