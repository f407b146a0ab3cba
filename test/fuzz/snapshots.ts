/**
 * The snapshot reader, and the whole road back, over files that anything may have happened to. The reader gives a
 * snapshot that was taken, bit for bit, or passes it over with the reason. Recovery leads to the very state that was
 * live, or to an earlier one of it where the journal's tail was cut, or names the damage.
 */
import assert from 'node:assert/strict';
import type { Part } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { crc, sha256 } from '../../src/storage/format.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { type SnapshotContent, takeSnapshot } from '../../src/storage/snapshot.ts';
import { FOOT_BYTES, packFoot, snapshotSeq, unpackFoot } from '../../src/storage/snapshot-format.ts';
import { House, recoverFrom } from '../engine/house.ts';
import type { Schedule } from '../storage/fake-disk.ts';
import { DIRECTORY, diskOf, filesOf, freshDisk, readInFull, server, type WholeSnapshot } from '../storage/kit.ts';
import { Dice } from '../support/dice.ts';
import { stateDigest } from '../support/state-digest.ts';
import { mutate } from './bytes.ts';
import { measured } from './memory.ts';

type Files = Map<string, Buffer>;

const inTurns: Schedule = (run) => setImmediate(run);
const sizeOf = (files: Files) => [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);

function spoil(dice: Dice, files: Files, names: string[]): void {
  const name = dice.pick(names);
  const bytes = files.get(name);
  if (bytes === undefined) return;
  const other = files.get(dice.pick(names)) ?? bytes;
  const what = dice.below(12);
  if (what === 0) files.delete(name);
  else if (what === 1) files.set(name, other);
  else if (what === 2) files.set(dice.pick(names), bytes);
  else files.set(name, mutate(dice, bytes, other));
}

// ---------------------------------------------------------------- the reader alone

let taken: { files: Files; texts: Set<string> } | undefined;

async function takeTwo() {
  const dice = new Dice(5);
  const disk = freshDisk(1, inTurns);
  const texts = new Set<string>();
  const chunk: Part = { name: 'chunk-0', final: true, bytes: dice.bytes(700) };
  const chain = dice.bytes(32);
  for (const seq of [4, 9]) {
    const parts: Part[] = [{ name: 'table', final: false, pieces: [dice.bytes(300)] }, chunk];
    if (seq === 9) parts.push({ name: 'chunk.1', final: true, bytes: dice.bytes(90) });
    const content: SnapshotContent = { seq, chain, moment: seq, extra: dice.bytes(30), parts };
    await takeSnapshot(disk, DIRECTORY, content, server);
    texts.add(textOf(content));
  }
  return { files: filesOf(disk), texts };
}

function textOf({ seq, chain, moment, extra, parts }: SnapshotContent | WholeSnapshot): string {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return JSON.stringify([
    seq,
    hex(chain),
    moment,
    hex(extra),
    parts.map((part) => [
      part.name,
      part.final,
      hex('bytes' in part ? part.bytes : Buffer.concat(Array.from(part.pieces, (piece) => piece.slice()))),
    ]),
  ]);
}

/** One directory of snapshots, spoilt; returns what became of it. */
export async function fuzzSnapshots(seed: number): Promise<string[]> {
  taken ??= await takeTwo();
  const dice = new Dice(seed);
  const files = new Map(taken.files);
  const how = dice.pick(['spoilt', 'spoilt', 'checksums fit', 'signed']);
  if (how !== 'spoilt') reseal(dice, files, how === 'signed');
  else for (let left = 1 + dice.few(4); left > 0; left--) spoil(dice, files, [...files.keys()]);
  const disk = diskOf(files, 1, inTurns);
  const { allocated, outcome } = measured(() => readInFull(disk, DIRECTORY, server.verify));
  const size = sizeOf(files);
  assert.ok(allocated <= 16 * size + (1 << 16), `${allocated} bytes of memory for ${size} of files`);
  if (outcome instanceof Error) throw outcome;
  const { snapshot, refused } = outcome;
  for (const { file, reason } of refused) assert.ok(file.startsWith('snapshot-') && reason !== '');
  // What we signed ourselves is believed, whatever it is.
  if (snapshot !== null && how !== 'signed')
    assert.ok(taken.texts.has(textOf(snapshot)), 'another snapshot than was taken');
  return [`${how}: ${snapshot === null ? 'none' : `of ${snapshot.seq}`}`];
}

/** Spoils the newest snapshot's manifest and makes the checksums fit again, or hash and signature too. */
function reseal(dice: Dice, files: Files, isSigned: boolean): void {
  const name = [...files.keys()].filter((key) => key.startsWith('snapshot-')).at(-1)!;
  const bytes = files.get(name)!;
  const foot = unpackFoot(bytes.subarray(bytes.length - FOOT_BYTES));
  const end = bytes.length - FOOT_BYTES;
  const at = end - foot.manifestBytes;
  const manifest = mutate(dice, bytes.subarray(at, end), bytes);
  const manifestCrc = crc(manifest, 0, manifest.length);
  const content = Buffer.concat([bytes.subarray(0, at), manifest]);
  const hash = isSigned ? sha256(content) : foot.hash;
  // What the foot says of the manifest's length, too, may be anything.
  const anyLength = dice.pick([0, manifest.length + 1, end, end + 1, 2 ** 31, 2 ** 32 - 1]);
  const manifestBytes = dice.chance(0.7) ? manifest.length : anyLength;
  const sealed = packFoot({ manifestBytes, manifestCrc, hash, signature: server.sign(hash) });
  files.set(name, Buffer.concat([content, sealed]));
}

// ---------------------------------------------------------------- the whole road back

interface Life {
  files: Files;
  /** Digest of the live state after each number of entries. */
  digests: Map<number, string>;
  end: number;
}

let life: Life | undefined;

/** A short life with two snapshots, the second in the last of its segments of a few frames. */
async function live(): Promise<Life> {
  const disk = freshDisk(1, inTurns);
  const house = await House.open(disk, { segmentBytesMax: 3_000 });
  const digests = new Map<number, string>();
  const settle = async () => {
    await house.quiet();
    digests.set(house.journal.position.seq, digestOf(house.state));
  };
  await settle();
  house.create(Kind.symbol, { handle: 'usd', factor: 100 });
  house.create(Kind.wallet, { handle: 'ana' });
  await settle();
  for (let step = 0; step < 24; step++) {
    const symbol = { handle: 'usd' };
    const target = { handle: 'ana' };
    if (step % 5 === 3) house.create(Kind.wallet, { handle: `w${step}`, custom: { step } });
    else house.intent(`i${step}`, { action: 'issue', target, symbol, amount: 1 + step });
    if (step % 7 === 6) house.update(Kind.wallet, 'ana', { handle: 'ana', custom: { step } });
    await settle();
    if (step === 8 || step === 22) await house.takeSnapshot();
  }
  await house.stop();
  return { files: filesOf(disk), digests, end: house.journal.position.seq };
}

const digestOf = (state: House['state']) => Buffer.from(stateDigest(state)).toString('hex');

/** A whole directory, spoilt, and recovered; returns what became of it. */
export async function fuzzRecovery(seed: number): Promise<string[]> {
  life ??= await live();
  const dice = new Dice(seed);
  const files = new Map(life.files);
  const names = [...files.keys()].filter((name) => /^(journal|snapshot|part)-/.test(name));
  const kind = dice.pick(['snapshot', 'journal', '']);
  const chosen = names.filter((name) => name.startsWith(kind));
  for (let left = 1 + dice.few(3); left > 0; left--) spoil(dice, files, chosen);
  const disk = diskOf(files, 1, inTurns);
  try {
    const { state, end } = recoverFrom(disk);
    assert.equal(digestOf(state), life.digests.get(end.seq), `another state after entry ${end.seq}`);
    // Only the journal's last segment can have lost its end; what a snapshot holds is never lost.
    if (kind === 'snapshot') assert.equal(end.seq, life.end);
    const named = Math.max(0, ...[...files.keys()].map(snapshotSeq));
    assert.ok(end.seq >= named, `ends at entry ${end.seq}, and a snapshot is named after entry ${named}`);
    return [end.seq === life.end ? `${kind || 'all'}: the same` : `${kind || 'all'}: shorter`];
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    assert.ok(error instanceof DamageError, `another error: ${(error as Error).stack}`);
    return [`${kind || 'all'}: damage`];
  }
}
