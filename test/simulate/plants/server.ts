/** Bugs of the server around the ledger: tokens, the engine and its order, proofs, journal, snapshots, two servers, builds. */
import type { Plant } from './plant.ts';

const ENGINE = 'src/engine.ts';
const JOURNAL = 'src/storage/journal.ts';
const LOG_FILE = 'src/storage/log-file.ts';
const READER = 'src/storage/journal-reader.ts';
const PARTS = 'src/proof/parts.ts';
const POOL = 'src/proof/pool.ts';
const APP = 'src/http/app.ts';
const CODEC = 'src/storage/codec.ts';
const LOCK = 'src/storage/lock.ts';
const HELD = 'src/storage/held-disk.ts';
const SCRUB = 'src/storage/scrub.ts';

export const SERVER_PLANTS: Plant[] = [
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
  ['a read does not wait', [ENGINE, 'outage === null && this.#isCommitting', 'outage !== null && this.#isCommitting']],
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
      '    this.#isJournaling = true;\n    this.#changesCalled',
      '    this.#isJournaling = true;\n    this.#options.publish(entries, this.#options.journal.position.seq + count);\n    this.#changesCalled',
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
      'if (run.options.verifyFrame(unproven.hash, unproven.signature)) return;',
      'if (run.options.verifyFrame(unproven.hash, unproven.signature) || path.length > 0) return;',
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
    [ENGINE, '    this.#changesCalled = entries', '    this.#maybeSnapshot();\n    this.#changesCalled = entries'],
  ],
  ['a snapshot gets its name before it is synced', ['src/storage/final-parts.ts', '    await syncLater(file);\n', '']],
  [
    'a part that the disk has changed is only told of',
    [SCRUB, '        await keepPart(disk, directory, part, gatheringBuffer());\n', ''],
  ],
  ['a newest snapshot that the disk has changed is only told of', [SCRUB, '    renew(name);\n', '']],
  ['a segment that the disk has changed is only told of', [SCRUB, '    leave(file);\n', '']],
  [
    'what a start would only fall back on is not read again',
    [SCRUB, 'snapshotSeq(name) < seq && counts(name)', 'snapshotSeq(name) < seq && counts(name) && seq < 0'],
    [SCRUB, 'isNeeded || counts(file)', 'isNeeded'],
  ],
  ['what has changed of that is told of with each look', ['src/snapshots.ts', '    this.#refused.add(name);\n', '']],
  [
    'a segment in use that the disk has changed is not left for the snapshot',
    ['src/snapshots.ts', 'if (journal.end?.file !== file) request();', 'if (file) request();'],
  ],
  [
    'the next segment is begun beside a frame',
    [
      ENGINE,
      'done === null || this.#isJournaling || this.#failure !== null',
      'done === null || this.#failure !== null',
    ],
  ],
  [
    'frames go on while the next segment is begun',
    [ENGINE, '    this.#isJournaling = true;\n    this.diskWait.begin(stopwatch());\n', ''],
  ],
  ['the next segment counts before its header is on the device', [JOURNAL, '      await syncLater(file);\n', '']],
  [
    'a segment that could not be begun stays',
    [JOURNAL, '      if (this.#disk.exists(path)) await unlinkLater(this.#disk, path);\n', ''],
  ],
  [
    'a segment of which a crash has left the name is enough behind a snapshot',
    [
      'src/storage/segments.ts',
      "return withFile(disk, path, 'read', headerOf) !== null;",
      "return path !== '' && disk.exists(path);",
    ],
  ],
  ['a part is written anew beside a snapshot', [SCRUB, 'this.#turn.then(write)', 'write()']],
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
    ['src/storage/snapshot-prune.ts', 'await remove([file]);', 'await unlinkLater(disk, join(directory, file));'],
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
];
