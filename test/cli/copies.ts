/** Copies of the books of a house that lives in this process, on disks that may be anything. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { Source } from '../../src/cli/follow/source.ts';
import { readBooks } from '../../src/recovery.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { transfer } from '../core/books.ts';
import { DIRECTORY, type House, verifyHash } from '../engine/house.ts';
import { live, lived } from '../engine/life.ts';
import { Power } from '../engine/power.ts';
import { answering } from '../support/of-test.ts';
import { showTo } from './follower.ts';

export const COPY = '/copy';
export const booksIn = (disk: Disk) => readBooks({ disk, directory: COPY, verify: verifyHash, hashSeed: 7 });

export async function openTo({ disk, journal, kept }: House) {
  const told: string[] = [];
  const tell = (text: string) => void told.push(text);
  return {
    ...(await showTo({ disk, directory: DIRECTORY, journal, offers: (name) => kept.offers(name), tell })),
    told,
  };
}

/** Books that lived on, with two snapshots, and some segments before each. */
export async function livedOn(...how: Parameters<typeof lived>): Promise<House> {
  const house = await lived(...how);
  for (let n = 0; n < 2; n++) {
    for (let m = 0; m < 8; m++) await moves(house, `${n}-${m}`);
    await house.takeSnapshot();
  }
  return house;
}

/** Books that have left their journal, since the disk has changed it, and have no entry behind the snapshot that stands for it. */
export async function leftHouse(): Promise<House> {
  const house = await lived('pruned');
  await moves(house, 'before');
  house.disk.flip(join(DIRECTORY, house.journal.end!.file), 100);
  await house.kept.scrub!.round();
  await house.quiet();
  return house;
}

/** Somebody between a house and who follows it, who answers in its stead where `change` makes something of an answer. */
export function between(url: string, change: (path: string, body: Buffer) => Buffer | number): Promise<string> {
  return answering(async (request, response) => {
    const real = await fetch(`${url}${request.url}`);
    const body = Buffer.from(await real.arrayBuffer());
    const changed = real.status === 204 ? body : change(request.url!, body);
    const length = typeof changed === 'number' ? body.length : changed.length;
    const status = changed === body ? real.status : 200;
    const type = { 'content-type': 'application/octet-stream', 'content-length': length };
    response.writeHead(status, {
      'ayni-snapshot': real.headers.get('ayni-snapshot') ?? '0',
      ...(status === 200 && type),
    });
    if (typeof changed === 'number') response.write(body.subarray(0, changed), () => response.destroy());
    else response.end(changed);
  });
}

export function sourceOf(url: string, name = 'copy'): Source {
  const source = new Source(url, name, new AbortController().signal);
  onTestFinished(() => source.close());
  return source;
}

export const moves = (house: House, name: string) => live(house, [(each) => each.intent(name, transfer('a', 'b', 1))]);

/** All but the lock. */
export const filesOf = (disk: Disk) => disk.readdir(COPY).filter((name) => !name.startsWith('lock'));

/** The process is gone that had the directory: here it is this one. */
export function forgetLock(disk: Disk): void {
  const names = disk.exists(COPY) ? disk.readdir(COPY) : [];
  for (const name of names) if (name.startsWith('lock')) disk.unlink(join(COPY, name));
}

/** For a copy whose notes nobody asks for. */
export const untold = () => {};

/** Follows until there is nothing more. */
export async function catchUp(copy: Copy, source: Source): Promise<void> {
  if (copy.end === null) await copy.begin(source);
  else await copy.compare(source);
  while ((await copy.goOn(source, false)) === 'more');
  await copy.takeSnapshots(source);
}

/** The same onto this disk, as one who ends then. */
export async function followOnce(disk: Disk, url: string): Promise<Copy> {
  const copy = new Copy(disk, COPY, verifyHash, untold);
  const source = sourceOf(url);
  // As where the process ends: a server takes so many connections and no more.
  if (disk instanceof Power) void disk.gone.then(() => source.close());
  try {
    await catchUp(copy, source);
    copy.close();
  } finally {
    source.close();
  }
  return copy;
}
