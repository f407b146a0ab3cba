/**
 * The bugs that planted.ts puts into the server, one at a time: each breaks one thing that is promised. Where the text it
 * changes has moved, the edit moves along.
 */

/** File, what stands there once, what stands there instead. */
export type Edit = [file: string, find: string, replace: string];

export type Plant = [name: string, ...edits: Edit[]];

/** A bug that no life can see, and the test that does. */
export type TestedPlant = [name: string, test: string, ...edits: Edit[]];

const ENGINE = 'src/engine.ts';
const JOURNAL = 'src/storage/journal.ts';
const LOG_FILE = 'src/storage/log-file.ts';
const READER = 'src/storage/journal-reader.ts';
const PARTS = 'src/proof/parts.ts';
const POOL = 'src/proof/pool.ts';
const APP = 'src/http/app.ts';
const CODEC = 'src/storage/codec.ts';
const LANE = 'src/proof/lane.ts';
const COMB = 'src/proof/comb/index.ts';
const LOCK = 'src/storage/lock.ts';
const HELD = 'src/storage/held-disk.ts';

export const PLANTS: Plant[] = [
  // Tokens on their way to be verified
  ['a token that a stranger signed is taken', [APP, 'settle(bad < 0,', 'settle(true,']],
  [
    'a request goes on while its token is verified',
    [
      APP,
      'house.pool.submit({ checks, text, seals: NO_BYTES, done });',
      'house.pool.submit({ checks, text, seals: NO_BYTES, done: () => {} });\n  done({ error: null, bad: -1, signatures: NO_BYTES });',
    ],
  ],
  [
    'a request whose token is verified keeps its place for ever',
    [APP, '    leave();\n    if (reply.aborted) return;', '    if (reply.aborted) return;'],
  ],
  [
    'one whose client has gone meanwhile keeps its place',
    [APP, '    leave();\n    if (reply.aborted) return;', '    if (reply.aborted) return;\n    leave();'],
  ],
  [
    'a request has no place while its token is verified',
    [APP, 'const leave = isReading ? () => {} :', 'const leave = true ? () => {} :'],
  ],
  [
    'a disk that does not answer turns nobody away',
    [ENGINE, 'return this.diskWait.isLate || this.#options.copies', 'return this.#options.copies'],
  ],
  [
    'a token that was used up is not looked for at the door',
    [
      APP,
      '  if (token !== null && token.jti !== null && house.state.tokens.has(tokenId(call, token))) {\n    return refuseDurable(call, USED_UP);\n  }\n',
      '',
    ],
  ],
  [
    'a token is held to the time of its request',
    [APP, 'settle(bad < 0, contextOf(call))', 'settle(bad < 0, at)'],
    [
      APP,
      '  // Others wait for their turn while it is',
      '  const at = contextOf(call);\n  // Others wait for their turn while it is',
    ],
  ],

  // The engine and its order
  [
    'acknowledged before the sync',
    [
      ENGINE,
      '    journal.commit(moment, (error) => {',
      '    this.#acknowledge(tickets, entries);\n    journal.commit(moment, (error) => {',
    ],
    [
      ENGINE,
      '        this.#underway = [];\n        this.#acknowledge(tickets, entries);',
      '        this.#underway = [];',
    ],
  ],
  ['a failed commit is acknowledged', [ENGINE, '      if (error !== null) this.fail(error);\n', '']],
  ['a read does not wait', [ENGINE, '    else if (this.#isCommitting) this.#held.push(send);\n', '']],
  [
    'a refusal does not wait for its batch',
    [
      ENGINE,
      'const tickets = taken === inbox.length ? inbox : inbox.slice(0, taken);',
      'const tickets = inbox.slice(0, taken).filter((ticket) => !isRefusal(ticket.outcome));\n    for (const ticket of inbox.slice(0, taken)) if (isRefusal(ticket.outcome)) this.#answer(ticket, ticket.outcome);',
    ],
  ],
  [
    'published before the sync',
    [
      ENGINE,
      '    this.#isCommitting = true;\n',
      '    this.#isCommitting = true;\n    this.#options.publish(entries, this.#options.journal.position.seq + count);\n',
    ],
    [ENGINE, '    this.#options.publish(entries, this.#options.journal.position.seq);\n', ''],
  ],
  [
    'the order queue is skipped',
    [
      ENGINE,
      "    while (taken < door.length && door[taken]!.verdict !== 'waiting') {",
      "    door.sort((one, other) => Number(one.verdict === 'waiting') - Number(other.verdict === 'waiting'));\n    while (taken < door.length && door[taken]!.verdict !== 'waiting') {",
    ],
  ],
  ['moments straight from the clock', [ENGINE, '    return this.#lastMoment;\n', '    return now;\n']],
  [
    'the last moment forgotten at a start',
    [
      ENGINE,
      'this.#lastMoment = this.#earliest();\n    this.#sinceSnapshot',
      'this.#lastMoment = 0;\n    this.#sinceSnapshot',
    ],
  ],
  [
    'a clock that went back is believed by all',
    [ENGINE, 'now < this.#lastMoment && isQuiet', 'now < this.#lastMoment'],
  ],
  [
    'expiry by the wall clock',
    [
      'src/batch.ts',
      'stepsDue(state, moment)',
      'stepsDue(state, (this.#options as unknown as { clock(): number }).clock())',
    ],
  ],
  [
    'refused requests keep their place',
    [
      ENGINE,
      '    this.#entrance.leave(ticket.submission.command.ledger, ticket.bytes, ticket.ms);\n',
      '    if (!isRefusal(outcome)) this.#entrance.leave(ticket.submission.command.ledger, ticket.bytes, ticket.ms);\n',
    ],
  ],
  [
    'duplicates are looked for on the disk only',
    [
      'src/core/decide.ts',
      '  if (holder < 0) return keptForHome(state, command, handle);\n',
      '  if (holder < 0 || holder >= ((state as unknown as { onDisk?: number }).onDisk ?? 0)) return keptForHome(state, command, handle);\n',
    ],
    [
      ENGINE,
      '    this.#options.publish(entries, this.#options.journal.position.seq);\n',
      '    Object.assign(this.state, { onDisk: this.state.rows.at.length });\n    this.#options.publish(entries, this.#options.journal.position.seq);\n',
    ],
    [
      ENGINE,
      '    this.state = options.state;\n',
      '    this.state = options.state;\n    Object.assign(this.state, { onDisk: this.state.rows.at.length });\n',
    ],
  ],
  // What was signed once
  [
    'what was signed for one thing is good for another',
    ['src/core/replays.ts', 'if (at === 0) continue;', 'if (at >= 0) continue;'],
  ],
  ['what was signed for a record is not found by its name', ['src/core/replays.ts', ' || named.find(result);', ';']],
  [
    'what made a record is forgotten with its next entry',
    ['src/core/used-proofs.ts', '    if (this.#heap.prev(before) === 0) this.#add(ledger, before);\n', ''],
  ],
  ['a snapshot forgets what was signed', ['src/core/dump.ts', '  restoreUsedProofs(state);\n', '']],
  [
    'a refusal has the moment of the one before',
    ['src/http/errors.ts', 'last.refusal === refusal && last.moment === moment &&', 'last.refusal === refusal &&'],
  ],
  // Proofs
  [
    'a bad signature lets in',
    [
      ENGINE,
      '        if (result.bad >= 0) return this.#verified(ticket, badSignature(submission.places?.[result.bad] ?? result.bad));\n',
      '',
    ],
  ],
  [
    'rows of a silent thread are taken for good',
    [PARTS, 'return !slab.verdicts.subarray(0, rows).includes(Verdict.none);', 'return true;'],
    [PARTS, 'if (verdicts[from + i] !== Verdict.good) return', 'if (verdicts[from + i] === Verdict.bad) return'],
  ],
  [
    'rows of a dead thread are not verified again',
    [
      POOL,
      '    this.stats.tasksFailed++;\n',
      '    this.stats.tasksFailed++;\n    if (this.stats.tasksFailed > 0) return this.#onAnswer(task, 0);\n',
    ],
    [PARTS, 'return !slab.verdicts.subarray(0, rows).includes(Verdict.none);', 'return true;'],
    [PARTS, 'if (verdicts[from + i] !== Verdict.good) return', 'if (verdicts[from + i] === Verdict.bad) return'],
  ],
  ['verdicts of the task before count', [PARTS, '  slab.verdicts.fill(Verdict.none, 0, rows);\n', '']],
  [
    'the slab of a task that was taken over is given out twice',
    [
      POOL,
      '    this.#tasks.delete(task);\n    this.#partsInline',
      '    this.#tasks.delete(task);\n    this.#giveBack(task.slab);\n    this.#partsInline',
    ],
  ],
  // The journal
  ['no sync at all', [JOURNAL, "if (this.#options.durability === 'none') {", 'if (this.#directory) {']],
  [
    'the name of a new segment is not synced',
    [JOURNAL, 'if (error === null && created)', "if (error === null && created && this.#directory === '')"],
  ],
  [
    'what was read is not synced before it is built on',
    [JOURNAL, '    file.sync();\n    file.close();\n', '    file.close();\n'],
  ],
  [
    'what a failed sync left is not written again',
    [JOURNAL, '    writeAgain(file, end?.written ?? 0, this.#fileBytes);\n', ''],
  ],
  [
    'a frame is believed without its CRC',
    [
      'src/storage/window.ts',
      'return frameWhole(bytes, from, from + length) ? { bytes, from, to: from + length } : null;',
      'return { bytes, from, to: from + length };',
    ],
  ],
  [
    'a frame need not continue the one before',
    [
      READER,
      "  if (!equalBytes(frameChain(bytes, from), position.chain)) return 'does not continue the frame before it';\n",
      '',
    ],
  ],
  [
    'a frame need not be signed by this server',
    [
      READER,
      'if (run.options.verifyFrame(unproven.hash, unproven.signature) !== false) return;',
      'if (run.options.verifyFrame(unproven.hash, unproven.signature) !== false || path.length > 0) return;',
    ],
  ],
  [
    'the torn tail is cut a frame too early',
    [
      READER,
      'run.result.torn = { file: segment.file, byte: at,',
      'run.result.torn = { file: segment.file, byte: run.result.position.written || at,',
    ],
  ],
  ['the torn tail is not cut', ['src/storage/mend.ts', '    cutTornTail(disk, directory, torn);\n', '']],
  [
    'the next frame goes behind the room',
    [JOURNAL, 'this.#fileBytes = end?.byte ?? this.#reservedTo;', 'this.#fileBytes = this.#reservedTo;'],
  ],
  [
    'a frame begins before the room does',
    [
      JOURNAL,
      '    file.sync();\n    file.close();\n',
      '    this.#fileBytes = end?.written || this.#fileBytes;\n    file.sync();\n    file.close();\n',
    ],
  ],
  [
    'a log tells that it is synced before the device has its blocks',
    [
      LOG_FILE,
      'if (this.#takesBlocks) this.#syncBlocks(end);',
      'if (this.#takesBlocks) queueMicrotask(() => (this.#syncBlocks(() => {}), end(null)));',
    ],
  ],
  [
    'a block is written again without what it held',
    [LOG_FILE, '    this.#stage.copyWithin(0, kept - this.#from, this.#to - this.#from);\n', ''],
  ],
  [
    'a log that goes on takes the block it goes on in for empty',
    [
      LOG_FILE,
      'assert(readAll(this.#file, this.#stage.subarray(0, held), this.#from) === held,',
      'assert(this.#file.size() >= position,',
    ],
  ],
  [
    'the room is cut off with the end of its frame',
    [JOURNAL, 'await truncateLater(file, this.#fileBytes);', 'await truncateLater(file, this.#fileBytes - 1);'],
  ],
  [
    'a zero behind the last frame ends it, whatever follows',
    [
      READER,
      '  if (at > 0 && end === at) return;\n',
      '  if (at > 0 && (end === at || run.window!.bytes[run.window!.load(at, 1)] === 0)) return;\n',
    ],
  ],
  [
    'one byte among the zeros is no matter',
    [READER, '  if (at > 0 && end === at) return;\n', '  if (at > 0 && end <= at + 1) return;\n'],
  ],
  [
    'a changed byte of the last frame is a torn tail',
    [
      'src/storage/mend.ts',
      'const changed = changeIn(disk, directory, { torn, position }, verify);',
      'const changed = changeIn(disk, directory, { torn, position }, () => false);',
    ],
  ],
  // Snapshots
  [
    'a dump has what came after it in the middle of a block',
    ['src/memory/lines.ts', 'offset - (offset % this.blockBytes)', 'offset'],
  ],
  [
    'a dump goes to where a table has grown to',
    [
      'src/memory/table.ts',
      '[this.capacities.slice(), this.rows.slice(), this.pages.slice(0, this.rowsEnd)]',
      '[this.capacities, this.rows, this.pages]',
    ],
  ],
  [
    'a snapshot without the last of open intents, supply, counts',
    ['src/memory/held-map.ts', '    yield lineOf(rows);\n  }', '  }'],
  ],
  [
    'a snapshot that forgets what tokens were forgotten',
    ['src/core/used-tokens.ts', '    this.#forgotten = extra.forgotten;\n', ''],
  ],
  [
    'a snapshot of a state ahead of its position',
    [ENGINE, '    this.#isCommitting = true;\n', '    this.#isCommitting = true;\n    this.#maybeSnapshot();\n'],
  ],
  ['a snapshot gets its name before it is synced', ['src/storage/final-parts.ts', '    await syncLater(file);\n', '']],
  [
    'segments go that the older snapshot needs',
    ['src/storage/snapshot-prune.ts', 'next.firstSeq > older.seq + 1', 'next.firstSeq > newest.seq + 1'],
  ],
  [
    'segments go newest first',
    ['src/storage/snapshot-prune.ts', 'of segments.entries()) {', 'of [...segments.entries()].reverse()) {'],
    [
      'src/storage/snapshot-prune.ts',
      'next.firstSeq > older.seq + 1) break;',
      'next.firstSeq > older.seq + 1) continue;',
    ],
  ],
  [
    'segments go together, and are synced never',
    [
      'src/storage/snapshot-prune.ts',
      'await remove(disk, directory, [file]);',
      'await unlinkLater(disk, join(directory, file));',
    ],
  ],
  [
    'the snapshot before the newest is never read',
    ['src/storage/snapshot-reader.ts', '    refused.push(read);\n', '    refused.push(read);\n    break;\n'],
  ],
  [
    'a part is believed whatever its hash',
    [
      'src/storage/snapshot-reader.ts',
      'if (!equalBytes(hash, row.hash!)) throw',
      'if (!equalBytes(hash, row.hash!) && hash.length === 0) throw',
    ],
  ],
  [
    'a snapshot is believed without its sums',
    [
      'src/storage/snapshot-reader.ts',
      'if (!equalBytes(sha.copy().update(manifestBytes).digest(), foot.hash)) throw',
      'if (!equalBytes(sha.copy().update(manifestBytes).digest(), foot.hash) && parts.length === 0) throw',
    ],
  ],
  // Two servers of which neither sees the other
  [
    'a write does not ask for the lock',
    [
      HELD,
      'write: (bytes, from, to, position) => held(() => file.write(bytes, from, to, position)),',
      'write: (bytes, from, to, position) => file.write(bytes, from, to, position),',
    ],
  ],
  ['a sync counts whoever has the lock by then', [HELD, 'file.syncLater(stillHeld(done))', 'file.syncLater(done)']],
  [
    'the lock is looked at before a sync, not after it',
    [
      HELD,
      'syncLater: (done) => file.syncLater(stillHeld(done)),',
      'syncLater: (done) => heldLater(() => file.syncLater(done), done),',
    ],
  ],
  [
    'the name of a new segment counts whoever has the lock by then',
    [HELD, 'disk.syncDirectoryLater(path, stillHeld(done))', 'disk.syncDirectoryLater(path, done)'],
  ],
  [
    'a segment is made without a look at the lock',
    [HELD, 'heldLater(() => disk.createLater(path, stillHeld(done)), done),', 'disk.createLater(path, done),'],
  ],
  [
    'room is given back by who has lost the lock',
    [HELD, 'heldLater(() => file.truncateLater(size, stillHeld(done)), done),', 'file.truncateLater(size, done),'],
  ],
  [
    'a snapshot is written on without the lock',
    [
      HELD,
      '      heldLater(\n        () => file.writeLater(bytes, from, to, position, done),\n        (error) => done(error, 0),\n      ),',
      '      file.writeLater(bytes, from, to, position, done),',
    ],
  ],
  [
    'a snapshot gets its name without the lock',
    [HELD, 'heldLater(() => disk.renameLater(from, to, stillHeld(done)), done),', 'disk.renameLater(from, to, done),'],
  ],
  [
    'a quiet server does not end when its lock is gone',
    [
      ENGINE,
      'fail(error: Error): void {\n    if (this.#failure !== null) return;',
      'fail(error: Error): void {\n    if (this.#failure !== null || !this.#isCommitting) return;',
    ],
  ],
  ['a lock that is gone counts as held', [LOCK, 'if (!released && present(() =>', 'if (released && present(() =>']],
  [
    'the lock before stays beside the new one',
    [LOCK, '  for (const old of numbers) if (old < number) remove(disk, join(directory, lockName(old)));\n', ''],
  ],
  [
    'a new lock has the number of the one before',
    [
      LOCK,
      '  const number = highest + 1;\n',
      '  const number = Math.max(1, highest);\n  if (highest > 0) remove(disk, join(directory, lockName(highest)));\n',
    ],
  ],
  [
    'whoever has the lock is not looked for',
    [LOCK, '  if (boot !== holder.boot) return false;\n', "  if (boot !== '') return false;\n"],
  ],
  ['a process of the same number holds the lock', [LOCK, ' && state.start === holder.start;', ';']],
  // Builds that follow one another
  [
    'moments of an older format are read as those of this one',
    [CODEC, 'readMoment(reader, version === 1 ? 0 : secondOf(luid))', 'readMoment(reader, secondOf(luid))'],
  ],
  [
    'an intent of an older format has a thread of its own',
    [CODEC, '(version === 1 ? msgpack.readText(reader) : ', '(version === 1 ? msgpack.readText(reader) && null : '],
  ],
  [
    'what an old build wrote last is not synced',
    [
      JOURNAL,
      '    writeAgain(file, end?.written ?? 0, this.#fileBytes);\n    file.sync();\n',
      '    if (header.version === this.#format.version) {\n      writeAgain(file, end?.written ?? 0, this.#fileBytes);\n      file.sync();\n    }\n',
    ],
  ],
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
      'if (rows.place.get(row) !== place || (rows.flags.get(row) & DROPPED) !== 0) return -1;',
      'if (rows.place.get(row) !== place) return -1;',
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
      "  const isNamed = (objectOf(mine[0]![own] ?? '') as { handle: string }).handle === handleIn(leg.wallet);\n",
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

export const TESTED_PLANTS: TestedPlant[] = [
  // These take more than one thing that seldom happens: about one life in a thousand met the first.
  [
    'a bridge that changes misses the statuses that wait for it',
    'effects/feeds',
    [
      'src/core/apply.ts',
      '  else if (!feeds.has(row)) feeds.set(',
      '  else if (kind === Kind.bridge || !feeds.has(row)) feeds.set(',
    ],
  ],
  [
    'what passes through is forgotten at a start',
    'core/open-books',
    ['src/core/dump.ts', '    if (isHolding) restorePassing(state, row);\n', ''],
  ],
  // No life has rules that tell the intents of a thread apart.
  [
    'who may move what the server passes on moves its thread',
    'core/threads',
    ['src/core/intents.ts', 'return may(row) && (', 'return may(row) || ('],
  ],
  // Only in books of earlier builds is such a wallet gone.
  [
    'whoever a name comes to passes on in the place of one that is gone',
    'core/threads',
    [
      'src/core/threads.ts',
      'const why = crowded(state, parent) ?? gone(state, wallet);',
      'const why = crowded(state, parent);',
    ],
  ],
  [
    'wallets of open intents are not looked for where a snapshot lacks them',
    'core/intents',
    ['src/core/open-intents.ts', 'dumped ?? (isHolding ? walletsOf(row) : NONE)', 'dumped ?? NONE'],
  ],
  // Of 1200 lives none had two claims whose wallets pass on one to the other.
  [
    'what other claims come to makes a ring of routes',
    'core/threads',
    [
      'src/core/threads.ts',
      '    if (isOwn(at)) passedBy.add(heldBy(at)!.postings[0]!);\n',
      '    for (const one of heldBy(at)?.links?.forwards ?? []) passedBy.add(one.wallet);\n',
    ],
  ],
  // Bodies of lives are short.
  [
    'a long body takes one place',
    'effects/long-bodies',
    ['src/effects/lanes.ts', 'Math.ceil(Math.max(1, body.length / this.#placeBytes))', '1'],
  ],
  [
    'a long body gives one place back',
    'effects/long-bodies',
    ['src/effects/lanes.ts', 'this.#take(lane, -1, -row.places);', 'this.#take(lane, -1, -1);'],
  ],
  [
    'a party takes what is left for others, by long bodies',
    'effects/long-bodies',
    ['src/effects/lanes.ts', '    if (!fits(party, row, room)) return', '    if (false as boolean) return'],
  ],
  [
    'a body that is too long for its room waits for as long as others come',
    'effects/long-bodies',
    ['src/effects/lanes.ts', '    putBy(lane.party, row.places / 2);\n', ''],
  ],
  [
    'who follows is told of no other history where it is as long',
    'cli/follow-books',
    ['src/followers.ts', '    if (isStrange) return void response.writeHead(409).end();\n', ''],
  ],
  [
    'a copy is not compared with the books it comes to',
    'cli/follow-books',
    ['src/cli/follow/copy.ts', '    if (!here.equals(there)) throw otherHistory(seq);\n', ''],
  ],
  // A life would have to bring one symbol, and less than it takes of another, to a wallet that has none of either.
  [
    'what a thread brings is passed on in any symbol',
    'core/threads',
    [
      'src/core/threads.ts',
      'postings[i] === wallet && postings[i + 1] === symbol',
      'postings[i] === wallet && symbol >= 0',
    ],
  ],
  // No life has a ledger whose data is that of a record in it.
  [
    'what was signed in a ledger changes the ledger',
    'api/replays',
    ['src/core/replays.ts', 'kind === Kind.ledger && row !== NO_ROW ?', 'row < NO_ROW ?'],
  ],
  // Between two removals behind a snapshot there is little time: no life that was tried came to it.
  [
    'what is superfluous goes without a look at the lock',
    'storage/lock',
    [HELD, 'heldLater(() => disk.unlinkLater(path, stillHeld(done)), done),', 'disk.unlinkLater(path, done),'],
  ],
  // A life's books are too small for these.
  [
    'a dump has what a table that grows has left behind',
    'memory/hold',
    ['src/memory/slabs.ts', 'for (let at = from; at < address + slots * 2;', 'for (let at = from; at < address;'],
  ],
  [
    'a dump has open intents, supply, counts as they became',
    'memory/held-map',
    [
      'src/memory/held-map.ts',
      '    this.#keep(key);\n    this.#map.set(key, value);',
      '    this.#map.set(key, value);\n    this.#keep(key);',
    ],
  ],
  [
    'a dump of a map lets go what it has not met yet',
    'memory/held-map',
    ['src/memory/held-map.ts', 'if (entries === kept) drop();', 'drop();'],
  ],
  [
    'what a hold counts is noted in an intent that a dump holds',
    'core/open-intents',
    ['src/core/apply.ts', 'const counted = [...open.counted];', 'const counted = open.counted as number[];'],
  ],
  [
    'a dump lets go what was not read yet',
    'memory/hold',
    [
      'src/memory/hold.ts',
      'if (!this.unread.delete(name) || this.unread.size > 0) return;',
      'if (!this.unread.delete(name)) return;',
    ],
  ],
  // One life in some hundred thousand has a bridge fail twice in one moment, in other words.
  ['errors of one leg in one moment share their proof', 'http/outcomes', ['src/render.ts', '{detail}`;', '{0}`;']],
  // Threads of the simulator are no threads, and have no lanes.
  [
    'nobody hears that a slab is done',
    'proof/pool',
    [LANE, '    Atomics.add(this.#words, DONE, 1);\n    Atomics.notify(this.#words, DONE);\n', ''],
  ],
  ['a dead thread keeps what it had', 'proof/pool', ['src/proof/threads.ts', '      waiting.reject(error);\n', '']],
  [
    'a slab counts as done before it is worked on',
    'proof/pool',
    [
      LANE,
      '    let state: number = SlabState.failed;\n',
      '    let state: number = SlabState.done;\n    Atomics.store(this.#words, at, state);\n',
    ],
  ],
  // A thread of theirs that comes back late does so once in some thousand lives.
  [
    'a slab that was taken over is free while its thread may still write',
    'proof/pool',
    [
      POOL,
      '    this.#tasks.delete(task);\n    this.#partsInline',
      '    this.#tasks.delete(task);\n    this.#giveBack(task.slab);\n    this.#partsInline',
    ],
    [POOL, '    this.#takeOver(task);\n    this.#giveBack(task.slab);\n', '    this.#takeOver(task);\n'],
    [
      POOL,
      'giveBackLate(slab: number): void {\n    this.#giveBack(slab);',
      'giveBackLate(slab: number): void {\n    if (slab < 0) this.#giveBack(slab);',
    ],
  ],
  // Nor do they verify by tables, and lives know no forgeries that only this arithmetic would believe.
  [
    'a table believes an S that is not below L',
    'proof/comb',
    [COMB, 'if (place >= 0 && isBelow(ORDER, words, at + S)) {', 'if (place >= 0) {'],
  ],
  [
    'a table believes an R of small order',
    'proof/comb',
    [COMB, '    return !isSmallOrder(this.#encoding);', '    return true;'],
  ],
  [
    'a key of mixed order gets a table',
    'proof/comb-arithmetic',
    ['src/proof/comb/combs.ts', '    return this.#isOrderL(table);', '    return true;'],
  ],
  [
    'what is on its way is finished with what a new table left',
    'proof/comb',
    [COMB, '    this.#finish(rows, words, onVerdict);\n    const hasTable', '    const hasTable'],
  ],
];
