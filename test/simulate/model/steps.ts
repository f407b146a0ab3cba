/**
 * One intent goes from status to status: it is tried, committed or undone, and its banks say how it went. What follows
 * from that for others of its thread is told in intents.ts.
 */
import type { Net } from '../../core/model.ts';
import { isGranted } from './access.ts';
import type { Books } from './books.ts';
import { afterReport, type LegState, type Mark, marked } from './legs.ts';
import { type Keys, planOf } from './plan.ts';
import { type Ending, NOTHING, type Progress, type Stage } from './progress.ts';
import type { Rec } from './record.ts';

/** Clears an intent that holds nothing yet; null where it goes on waiting. */
export function attempt(books: Books, luid: string, keys: Keys, now: number): Ending | null {
  const { money } = books;
  const record = books.records.get(luid)!;
  const { origin, thread, received } = record.progress!;
  const { credits, isPermitted, ...plan } = planOf(books, record, keys);
  if (plan.reason === '' && !isPermitted) return null;
  const through = (net: Net) => (origin === '' ? 0n : passedOn(books, net, thread));
  const nets = plan.nets.map((net) => ({ ...net, through: through(net) }));
  const reason = plan.reason || money.judge(nets, received);
  if (reason !== '') {
    const steps = ['failed', 'aborted', 'rejected'];
    return enter(books, luid, { stage: 'final' }, { ...NOTHING, steps, reason });
  }
  const { limits, legs, forwards, routed } = plan;
  const came = { nets, limits, legs, forwards, routed };
  if (origin === '' && forwards.length === 0 && legs.length === 0 && !isManual(record)) {
    money.move(nets, limits, received, now);
    const steps = ['prepared', 'committed', 'completed'];
    return enter(books, luid, { ...came, credits, stage: 'final' }, { ...NOTHING, ...came, steps });
  }
  const counted = money.hold(nets, received, now);
  const first = legs.some(({ side }) => side === 'debit') ? 'debit' : 'credit';
  const marks = legs.flatMap((leg, n): Mark[] => (leg.side === first ? [[n, 'preparing']] : []));
  const idle = legs.map((): LegState => 'idle');
  const stage = legs.length > 0 ? 'pending' : 'prepared';
  const held = { ...came, credits, counted, stage, isHolding: true, states: marked(idle, marks) } as const;
  return enter(books, luid, held, { ...NOTHING, ...came, marks, steps: legs.length > 0 ? [] : ['prepared'] });
}

/** How much of what leaves an account comes with the thread, and nobody has taken it on yet. */
function passedOn(books: Books, { wallet, symbol, change }: Net, thread: string): bigint {
  if (change >= 0n) return 0n;
  let brought = 0n;
  for (const { progress } of books.threadIntents(thread)) {
    for (const net of progress!.isHolding ? progress!.nets : []) {
      if (net.wallet !== wallet || net.symbol !== symbol) continue;
      brought += (net.change > 0n ? net.change : 0n) - (net.through ?? 0n);
    }
  }
  return brought < -change ? brought : -change;
}

/** What was held moves, and bridges are told to settle. */
export function commit(books: Books, luid: string, now: number): Ending {
  const { nets, limits, counted, legs, received, states } = books.records.get(luid)!.progress!;
  books.money.settle(nets, limits, counted, true, now);
  if (!books.isEarly) books.money.countBegun(nets, limits, counted, received);
  const marks = legs.map((_, n): Mark => [n, 'committing']);
  const stage = legs.length > 0 ? 'committed' : 'final';
  const steps = legs.length > 0 ? ['committed'] : ['committed', 'completed'];
  const news = { stage, isHolding: false, states: marked(states, marks) } as const;
  return enter(books, luid, news, { ...NOTHING, nets, limits, marks, steps });
}

const UNDONE: Partial<Record<LegState, LegState>> = {
  preparing: 'aborting',
  prepared: 'aborting',
  failed: 'dismissing',
};

/** It does not happen: what was held is given back, bridges that were asked are told. */
export function undo(
  books: Books,
  luid: string,
  reason: string,
  now: number,
  states = books.records.get(luid)!.progress!.states,
): Ending {
  const { nets, counted, isHolding } = books.records.get(luid)!.progress!;
  if (isHolding) books.money.settle(nets, [], counted, false, now);
  const marks = states.flatMap((state, n): Mark[] => {
    const end = UNDONE[state];
    return end === undefined ? [] : [[n, end]];
  });
  const stage = marks.length > 0 ? 'aborted' : 'final';
  const steps = [...(reason === '' ? [] : ['failed']), 'aborted', ...(marks.length > 0 ? [] : ['rejected'])];
  const news = { stage, isHolding: false, states: marked(states, marks) } as const;
  return enter(books, luid, news, { ...NOTHING, nets: isHolding ? nets : [], marks, steps, reason });
}

/** A bank says what became of a leg. */
export function reported(
  books: Books,
  record: Rec,
  leg: number,
  status: unknown,
  keys: readonly string[],
  now: number,
): Ending | string | null {
  const { luid, ledger, progress } = record;
  const { legs, states } = progress!;
  const report = String(status);
  if (!['prepared', 'failed', 'committed', 'aborted'].includes(report)) return null;
  const bridge = books.records.get(legs[leg]!.bridge)!;
  if (!isGranted(books, ledger, 'activate', 'bridge', bridge, keys)) return 'auth.forbidden';
  const isLate = isOverdue(books, record, now) && afterReport(states[leg]!, report) !== null;
  return isLate ? undo(books, luid, 'core.intent-expired', now) : moveLeg(books, luid, leg, report, now);
}

/** What the server itself notes of a call: that no more need be said, or that it was in vain. */
export function noted(
  books: Books,
  luid: string,
  leg: number,
  state: string,
  result: 'told' | 'lost',
  now: number,
): Ending | null {
  const { stage, states } = books.records.get(luid)!.progress!;
  if (stage === 'final' || (states[leg] ?? 'idle') !== state) return null;
  if (result === 'told') return moveLeg(books, luid, leg, 'told', now);
  return enter(books, luid, {}, { ...NOTHING, steps: ['error'], reason: 'core.bridge-unreachable', leg });
}

function moveLeg(books: Books, luid: string, leg: number, report: string, now: number): Ending | null {
  const { stage, states: before, legs } = books.records.get(luid)!.progress!;
  const next = afterReport(before[leg]!, report);
  if (next === null) return null;
  const mark = [leg, next] as const;
  const states = marked(before, [mark]);
  const all = (...wanted: LegState[]) => states.every((state) => wanted.includes(state));
  const go = (to: Stage, steps: readonly string[], more: readonly Mark[] = []) =>
    enter(books, luid, { stage: to, states: marked(states, more) }, { ...NOTHING, steps, marks: [mark, ...more] });
  if (stage === 'committed') return all('committed') ? go('final', ['completed']) : go(stage, []);
  if (stage === 'aborted') return all('idle', 'aborted') ? go('final', ['rejected']) : go(stage, []);
  if (next === 'failed') return undo(books, luid, 'core.bridge-prepare-failed', now, states);
  if (all('prepared')) return go('prepared', ['prepared']);
  const areDebitsReady = legs.every(({ side }, n) => side === 'credit' || states[n] === 'prepared');
  return go(
    stage,
    [],
    areDebitsReady ? states.flatMap((state, n): Mark[] => (state === 'idle' ? [[n, 'preparing']] : [])) : [],
  );
}

/** The intent passes the statuses of an ending, each with a proof by the server, and is then as far as that. */
function enter(books: Books, luid: string, news: Partial<Progress>, ending: Ending): Ending {
  const { shown, status, progress } = books.records.get(luid)!;
  const { steps, reason } = ending;
  const told = steps.map((step) => {
    const isNo = step === 'failed' || step === 'error';
    return { by: 'server' as const, ...(!books.isEarly && { luid }), status: step, ...(isNo && { reason }) };
  });
  const last = steps.findLast((step) => step !== 'error');
  books.change(luid, { progress: { ...progress!, ...news }, status: last ?? status, shown: [...shown, ...told] });
  return ending;
}

/** Whether it has waited longer than its ledger lets it. */
export function isOverdue(books: Books, { ledger, progress }: Rec, now: number): boolean {
  const minutes = books.config(ledger)['intent.expiryThresholdMinutes'];
  const isWaiting = progress!.stage === 'pending' && typeof minutes === 'number';
  return isWaiting && now - progress!.received > minutes * 60_000;
}

export function isManual({ content }: Rec): boolean {
  return (content.value.config as { commit?: string } | undefined)?.commit === 'manual';
}
