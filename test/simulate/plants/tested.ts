/** Bugs that no life can see, or too few, and the test of each that does. */
import type { TestedPlant } from './plant.ts';

const POOL = 'src/proof/pool.ts';
const LANE = 'src/proof/lane.ts';
const COMB = 'src/proof/comb/index.ts';
const HELD = 'src/storage/held-disk.ts';

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
    ['src/effects/lanes.ts', 'const places = calls * row.places;', 'const places = calls > 0 ? row.places : -1;'],
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
    'cli/follow-goes-on',
    ['src/followers.ts', '    if (isStrange) return void response.writeHead(409).end();\n', ''],
  ],
  [
    'a copy is not compared with the books it comes to',
    'cli/follow-goes-on',
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
  [
    'what made a ledger is good in it once the ledger has changed',
    'core/replays',
    ['src/core/replays.ts', ' || usedProofs.find(SERVER_LEDGER, result)', ''],
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
