/** Bugs of the ledger, its threads, banks and events. */
import type { Plant } from './plant.ts';

export const LEDGER_PLANTS: Plant[] = [
  // The ledger
  [
    'one move inside an intent is forgotten',
    [
      'src/core/postings.ts',
      '    balances.add(slot, postings[i + CHANGE]!, moment);\n',
      '    if (i < 2 * POSTING_WIDTH) balances.add(slot, postings[i + CHANGE]!, moment);\n',
    ],
  ],
  [
    'a hold is released twice',
    [
      'src/core/postings.ts',
      '    balances.endHold(slot, postings[i + CHANGE]!, throughAt(outcome, i), moves, moment);\n',
      '    balances.endHold(slot, postings[i + CHANGE]!, throughAt(outcome, i), moves, moment);\n    if (!moves) balances.endHold(slot, postings[i + CHANGE]!, throughAt(outcome, i), moves, moment);\n',
    ],
  ],
  [
    'an abort keeps what it counted',
    [
      'src/core/postings.ts',
      'if (balances.countedDay(slot) === day) balances',
      'if (balances.countedDay(slot) === day - 1) balances',
    ],
  ],
  [
    'a daily limit that comes with a hold counts it twice',
    ['src/core/postings.ts', 'if (counted[i + 2] !== 0) begun', 'if (counted[i + 2] === 0) begun'],
  ],
  [
    'proofs of what old builds decided name the intent',
    ['src/core/proofs.ts', "outcome.isEarly ? '' : ", "outcome.isEarly === undefined && luid === '' ? '' : "],
  ],
  [
    'what is held does not count towards maxBalance',
    ['src/core/bounds.ts', '  if (after + held > max) {', '  if (after > max) {'],
  ],
  [
    'minBalance is asked of positive ones only',
    ['src/core/bounds.ts', '} else if (after < min) {', '} else if (after < min && min > 0) {'],
  ],
  [
    'dailyAmount counts the days before only',
    ['src/core/bounds.ts', 'if (day.amount + moved > dailyAmount) {', 'if (day.amount > dailyAmount) {'],
  ],
  [
    'dailyCount lets one more',
    ['src/core/bounds.ts', 'if (day.count + 1 > dailyCount) {', 'if (day.count > dailyCount) {'],
  ],
  [
    'a refusal by a limit leaves its moment on the balance',
    [
      'src/core/bounds.ts',
      '  if (after + held > max) {\n',
      '  if (after + held > max) {\n    balances.add(slot, 0, moment);\n',
    ],
  ],
  ['a missing permission is no matter', ['src/core/clearing.ts', '  if (!plan.isPermitted) return WAITING;\n', '']],
  [
    'a retry gets a new answer',
    [
      'src/core/decide.ts',
      '  const { luid, hash } = readRow(state, holder).entry;\n',
      "  const { entry, status } = readRow(state, holder);\n  const { luid, hash } = entry;\n  if (status === 'rejected') return null;\n",
    ],
  ],
  [
    'a repeated proof counts again',
    [
      'src/core/decide.ts',
      '  if (record.added.some((each) => each.type === EntryType.proof && isSameProof(each.proof, proof))) return [];\n',
      '',
    ],
  ],
  [
    'an old version may be updated',
    [
      'src/core/decide.ts',
      "if (typeof parent === 'string' && parent.toLowerCase() === hex(record.entry.hash)) return null;",
      "if (typeof parent === 'string') return null;",
    ],
  ],
  [
    'anybody may commit',
    [
      'src/core/intents.ts',
      'if (action === null || !isCommanded(state, record, open, action, caller)) return null;',
      'if (action === null) return null;',
    ],
  ],
  [
    'prepared intents expire',
    ['src/core/intents.ts', "return status === 'pending' && now", 'return status !== undefined && now'],
  ],
  [
    'lists show what was dropped',
    [
      'src/core/terms.ts',
      'return rows.place.get(row) !== place || (rows.flags.get(row) & DROPPED) !== 0;',
      'return rows.place.get(row) !== place;',
    ],
  ],
  [
    'a status that changes is not counted',
    [
      'src/core/apply.ts',
      '  state.rows.status.set(row, status);\n  count(state, ledger, kind, status, 1);',
      '  state.rows.status.set(row, status);',
    ],
  ],
  [
    'an old name of a record stays',
    ['src/core/apply.ts', '        unindexHandle(state, ledger, kind, before, row);\n', ''],
  ],
  // Threads, banks, events
  [
    'money that a route passed on is passed on twice',
    ['src/core/clearing.ts', 'if (passed > 0) through.push(', 'if (passed < 0) through.push('],
  ],
  [
    'the rest of a thread outlives a failure',
    [
      'src/core/threads.ts',
      "for (const record of others(['pending', 'prepared'])) {",
      "for (const record of others(['pending'])) {",
    ],
  ],
  [
    'credits are asked before debits',
    [
      'src/core/legs.ts',
      'const side = legs.some((leg) => leg.side === Side.debit) ? Side.debit : Side.credit;',
      'const side = legs.some((leg) => leg.side === Side.credit) ? Side.credit : Side.debit;',
    ],
  ],
  [
    'a bank that contradicts itself is believed',
    [
      'src/core/legs.ts',
      "  committing: { committed: 'committed' },",
      "  prepared: { failed: 'failed' },\n  committing: { committed: 'committed' },",
    ],
  ],
  [
    'a leg is settled twice',
    [
      'src/core/legs.ts',
      "  committing: { committed: 'committed' },",
      "  committing: { committed: 'committed' },\n  committed: { committed: 'committed' },",
    ],
  ],
  [
    'anybody reports for a bank',
    [
      'src/core/intents.ts',
      "if (!isGranted(state, open.ledger, 'activate', Kind.bridge, bridge, by)) {",
      "if (!isGranted(state, open.ledger, 'activate', Kind.bridge, bridge, by) && bridge < 0) {",
    ],
  ],
  [
    'committed as soon as one leg is prepared',
    [
      'src/core/intents.ts',
      "  if (all('prepared')) return go(['prepared']);",
      "  if (next === 'prepared') return go(['prepared']);",
    ],
  ],
  [
    'who is in a circle is remembered for ever',
    ['src/core/access/people.ts', 'if (known.epoch !== epoch) {', 'if (known.epoch < 0) {'],
  ],
  [
    'an audit knows of no token that lets a proof count',
    [
      'src/cli/audit/entries.ts',
      'if (unlike === null && !mayBeMore(bySigners as Entry[], entry, next)) {',
      'if (unlike === null) {',
    ],
  ],
  [
    'an audit of books without their beginning knows of no token that was used there',
    ['src/cli/audit/audit.ts', '    entries.tokens.take(oldest.state.tokens, oldest.seq);\n', ''],
  ],
  [
    'an audit of books without their beginning takes two frames for one',
    [
      'src/cli/audit/entries.ts',
      'if (due.value.moment === upcoming.moment) return',
      'if (due.value.moment <= upcoming.moment) return',
    ],
  ],
  [
    'a bank is asked again in other words',
    [
      'src/effects/leg-call.ts',
      '    const body = outwardText(data, moment, {',
      '    const body = outwardText(data, moment + (this.#made++ % 2), {',
    ],
    ['src/effects/leg-call.ts', '  #told: Telling | null = null;\n', '  #told: Telling | null = null;\n  #made = 0;\n'],
  ],
  [
    'a bank is told of an account only by its wallet’s handle',
    [
      'src/effects/leg-call.ts',
      '  const isNamed = !leg.claims.some((index) => led.has(sideOf(index, leg.side)));\n',
      "  const isNamed = (objectOf(mine[0]![own] ?? '') as { handle: string }).handle === called.wallet;\n",
    ],
  ],
  [
    'an event is told again in other words',
    [
      'src/effects/event-call.ts',
      '  const body = eventTexts.of(event);\n',
      "  const body = eventTexts.of(event).slice(0, -1).concat(',\"at\":', String(state.log.length), '}');\n",
    ],
  ],
  ['calls that were due are forgotten at a start', ['src/effects/calls.ts', '    this.#resume(() => true);\n', '']],
  [
    'events that were due are forgotten at a start',
    [
      'src/effects/feeds.ts',
      "this.#open(row, 'reading', Math.max(feed.seq, 1));",
      "this.#open(row, 'live', Math.max(feed.seq, 1));",
    ],
  ],
  [
    'calls go out after the disk has failed',
    ['src/effects/index.ts', '  close(): void {\n    this.#lanes.close();\n', '  close(): void {\n'],
  ],
  [
    'whoever refused agrees once another signs',
    ['src/core/consent.ts', "hear(each.proof.public, said === 'yes')", 'hear(each.proof.public, true)'],
  ],
  [
    'of who asks for an intent and refuses it later the first word counts',
    [
      'src/core/consent.ts',
      'for (let index = added.length - 1; index >= 0; index--) {',
      'for (let index = 0; index < added.length; index++) {',
    ],
  ],
  [
    'who gives an intent a status that it never has agrees to it',
    [
      'src/core/consent.ts',
      'status !== undefined && !AGREEING.includes(status)',
      "['failed', 'aborted', 'rejected'].includes(status as string)",
    ],
  ],
  [
    'who comes too late is in time as long as nobody looks',
    [
      'src/core/intents.ts',
      'isRefusal(step) || !isOverdue(state, open, now)) return',
      'isRefusal(step) || now > 0) return',
    ],
  ],
  [
    'what an intent says of who may commit it is no matter',
    [
      'src/core/intents.ts',
      'isGranted(state, ledger, action, Kind.intent, intent, by)',
      'isGranted(state, ledger, action, Kind.intent, -1, by)',
    ],
  ],
  [
    'who asks to abort and to commit commits',
    [
      'src/core/consent.ts',
      '  if (isCommit === isAbort) return null;\n  if (isAbort) return',
      '  if (!isCommit && !isAbort) return null;\n  if (!isCommit) return',
    ],
  ],
  ['what a thread brings is passed on twice', ['src/core/threads.ts', ' - throughAt(held, i);', ';']],
  [
    'a wallet goes that a prepared intent limits',
    [
      'src/core/decide.ts',
      "    if (state.open.isAbout(record.row)) return no('A prepared intent speaks of the wallet');\n",
      '',
    ],
  ],
  ['nobody looks for a ring of routes', ['src/core/threads.ts', 'new Set([wallet])', 'new Set<number>()']],
  [
    'a claim that no route takes is told before a name that leads nowhere',
    ['src/core/clearing.ts', 'at < claims.length && !plan.isUnnamed;', 'at < claims.length && plan.refusal === null;'],
  ],
  [
    'no room is kept for what only passes through',
    ['src/core/bounds.ts', '  const passing = balances.passing(slot);\n', '  const passing = 0;\n'],
  ],
  [
    'a bank that is woken hears of what the disk does not have',
    [
      'src/effects/calls.ts',
      'if (wanted(due.bridge) && due.address <= this.#durable) this.#add(due);',
      'if (wanted(due.bridge)) this.#add(due);',
    ],
  ],
  [
    'a bridge hears of the first status of each intent only',
    [
      'src/effects/feeds.ts',
      '    // Most intents have no links, so',
      "    if (entry.type === EntryType.step && entry.outcome.steps.includes('completed')) return false;\n    // Most intents have no links, so",
    ],
  ],
  [
    'an event counts as taken that was not',
    [
      'src/effects/feeds.ts',
      "const isDelivered = outcome === 'delivered';",
      "const isDelivered = outcome !== 'final';",
    ],
  ],
];
