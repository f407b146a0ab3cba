/**
 * The audit against every small change of every field: of each type of entry, and each path in it, the first that the
 * books have is changed in a few ways, what the server signs is signed again, and somebody must notice. What nobody can
 * notice is listed here: it is the server's own word.
 */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { hex } from '../../src/core/bytes.ts';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { proofDigest } from '../../src/proof/digest.ts';
import { sign } from '../../src/proof/verify.ts';
import { againWith, everyOther, often } from '../support/long.ts';
import { slow } from '../support/slow.ts';
import { copyOf, framesOf, keyIn, look, rewritten } from './books.ts';
import { type Frames, flipped } from './lies.ts';

type Path = readonly string[];
type Change = readonly [name: string, changed: unknown];

const TYPES = new Map(Object.entries(EntryType).map(([name, type]) => [type, name]));

function changesOf(value: unknown): Change[] {
  if (typeof value === 'number') {
    return [
      ['more', value + 1],
      ['less', value - 1],
    ];
  }
  if (typeof value === 'string') {
    const end = value.endsWith('A') ? 'B' : 'A';
    return [['other end', value.slice(0, -1) + end]];
  }
  if (typeof value === 'boolean') return [['the other', !value]];
  if (value === null) return [['a text', 'x']];
  if (value instanceof Uint8Array) return [['a bit', flipped(value, 5)]];
  if (!Array.isArray(value)) return [];
  return [
    ['the last gone', value.slice(0, -1)],
    ['the last twice', [...value, ...value.slice(-1)]],
  ];
}

/** All paths into an entry, each by its names; of a list the first element stands for all. */
function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  const names = Array.isArray(value) ? Object.keys(value).slice(0, 1) : Object.keys(value);
  for (const name of names) yield* pathsIn((value as Record<string, unknown>)[name], [...path, name]);
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((inner, name) => (inner as Record<string, unknown>)[name], value);
}

function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Uint8Array) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

interface Lie {
  frame: number;
  index: number;
  path: Path;
  changed: unknown;
}

/** By what is changed and how, where the books have it: the first place at which there are bytes for it will do. */
function liesOf(frames: Frames): Map<string, Lie[]> {
  const lies = new Map<string, Lie[]>();
  for (const [frame, { entries }] of frames.entries()) {
    for (const [index, entry] of entries.entries()) {
      for (const path of pathsIn(entry)) {
        if (IMPLIED.includes(path.at(-1)!)) continue;
        for (const [name, changed] of changesOf(at(entry, path))) {
          if (isSame(changed, at(entry, path))) continue;
          const what = `${TYPES.get(entry.type)} ${path.join('.')}: ${name}`;
          lies.set(what, [...(lies.get(what) ?? []), { frame, index, path, changed }]);
        }
      }
    }
  }
  return lies;
}

/** What says by itself what else is in the entry, or is not written. */
const IMPLIED = ['type', 'isEarly'];

/** What nothing in the books says, or a client has signed. */
const SERVERS_WORD = [
  // When it came, as long as that is no earlier than what came before, and no later than when it was decided.
  // Of a record it is tried on the first ledger, which the server makes and signs with that moment.
  ...['update', 'drop', 'proof', 'delivery', 'token'].map((type) => `${type} moment: less`),
  'intent moment: less',
  'intent moment: more',
  // Which luid it drew, of those of its kind and second; that of an intent is its thread's name too.
  'create luid: other end',
  // That a client's signature came twice in one body, or, where its ledger lets anybody drop, with none.
  ...['update', 'drop', 'intent'].map((type) => `${type} proofs: the last twice`),
  'drop proofs: the last gone',
  // What became of calls outward: that an event was delivered, and how. The event must be one of the ledger.
  'delivery attempts: less',
  'delivery attempts: more',
  'delivery detail: other end',
  'delivery isDelivered: the other',
  // Tokens are not in the books: whose it was, of which ledger, until when it held.
  'token exp: less',
  'token exp: more',
  'token ledger: more',
];

slow(
  'each field of each type of entry, changed and signed again, is noticed, but for what is the server’s own word',
  async () => {
    const books = copyOf(join(process.cwd(), 'test', 'golden', '0.4.0', 'books'));
    chmodSync(join(books, 'server.key'), 0o600);
    const key = keyIn(books);
    expect((await look(await rewritten(books, () => {}))).finding).toBeNull();
    const lies = liesOf(framesOf(books));
    expect([...lies.keys()]).toEqual(expect.arrayContaining(SERVERS_WORD));
    const tried = new Set<string>();
    const unseen: string[] = [];
    for (const [what, places] of everyOther([...lies], 4)) {
      for (const place of places) {
        const lying = await lie(place);
        if (lying === null) continue;
        tried.add(what);
        if ((await look(lying, { key: key.public })).finding === null) unseen.push(what);
        rmSync(lying, { recursive: true });
        break;
      }
    }
    expect(unseen.sort(), againWith()).toEqual(SERVERS_WORD.filter((what) => tried.has(what)).sort());
    expect(tried.size).toBeGreaterThan(often(35, 150));

    /** Null where there are no bytes for such an entry. */
    async function lie({ frame, index, path, changed }: Lie): Promise<string | null> {
      const change = (entry: Entry) => {
        Object.assign(at(entry, path.slice(0, -1)) as object, { [path.at(-1)!]: changed });
        if ('seal' in entry && path[0] !== 'seal')
          entry.seal = sign(proofDigest(hex(entry.hash), sealCustom(entry)), key);
      };
      try {
        return await rewritten(books, (frames) => change(frames[frame]!.entries[index]!));
      } catch {
        return null;
      }
    }
  },
);
