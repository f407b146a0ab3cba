/**
 * What may become of an entry: one debit or credit that the ledger asks for, in two phases.
 *
 * Two tables say all of it. STEPS: which command does what in which state; a command that comes again is answered
 * again and does nothing. POSTINGS: what a step does to the money, for each unit of the entry's amount.
 *
 * What always holds: available + held + out - in is the same before and after every step, so a bank makes no
 * money and loses none; and a prepared entry can always be committed, since what it takes was set aside before.
 */
export type Kind = 'debit' | 'credit';
export type Command = 'prepare' | 'commit' | 'abort';
/** `failed` is a prepare the bank has refused: nothing was set aside. */
export type State = 'prepared' | 'failed' | 'committed' | 'aborted';

/**
 * `decide`: the accounts say whether it will be `prepared` or `failed`. `commit`, `abort`: goes on to that state.
 * `repeat`: done already, only the report is sent again. `refuse`: contradicts what the bank has promised or done.
 */
export type Step = 'decide' | 'commit' | 'abort' | 'repeat' | 'refuse';

const STEPS: Readonly<Record<State | 'unknown', Readonly<Record<Command, Step>>>> = {
  // An abort may overtake its prepare, or the prepare was lost: the entry is aborted, and a prepare finds it so.
  unknown: { prepare: 'decide', commit: 'refuse', abort: 'abort' },
  prepared: { prepare: 'repeat', commit: 'commit', abort: 'abort' },
  failed: { prepare: 'repeat', commit: 'refuse', abort: 'abort' },
  committed: { prepare: 'repeat', commit: 'repeat', abort: 'refuse' },
  aborted: { prepare: 'repeat', commit: 'refuse', abort: 'repeat' },
};

/**
 * Where money can be. `available` and `held` belong to an account; `out` and `in` are what the whole bank has
 * given to and got from others through the ledger. `incoming` is no money: what an account has promised to take.
 */
type Place = 'available' | 'held' | 'incoming' | 'out' | 'in';
export type Posting = Readonly<Partial<Record<Place, 1 | -1>>>;

/** `prepare` is done when an entry becomes prepared; `commit` and `abort` only when it was. */
export const POSTINGS: Readonly<Record<Kind, Readonly<Record<Command, Posting>>>> = {
  debit: {
    prepare: { available: -1, held: 1 },
    commit: { held: -1, out: 1 },
    abort: { held: -1, available: 1 },
  },
  credit: {
    prepare: { incoming: 1 },
    commit: { incoming: -1, available: 1, in: 1 },
    abort: { incoming: -1 },
  },
};

export function stepOf(state: State | undefined, command: Command): Step {
  return STEPS[state ?? 'unknown'][command];
}
