/**
 * Books whose files another directory has too, by links: whoever goes on with one of the two changes nothing in the other.
 */
import { expect, test } from 'vitest';
import { recover } from '../../src/recovery.ts';
import { segmentName } from '../../src/storage/format.ts';
import { Journal } from '../../src/storage/journal.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { transfer } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { afterRead, diskOf, linked } from '../storage/kit.ts';
import { DIRECTORY, House, recoverFrom, signHash, verifyHash } from './house.ts';
import { freshWorld, live, lived, SCRIPT } from './life.ts';

const TWIN = '/twin';

const lastOf = ({ disk }: House) => disk.readdir(DIRECTORY).findLast((name) => name.startsWith('journal'))!;
const wasShared = (name: string) => expect.stringMatching(`^${name} was a file of other books too`);
const later = (house: House) => house.intent('later', transfer('a', 'b', 1));

test.each(['one', 'whole', 'pruned'] as const)('a start goes on in a last segment of its own (%s)', async (shape) => {
  const house = await lived(shape);
  await house.stop();
  const { disk, world } = house;
  const last = lastOf(house);
  const twin = linked(disk, DIRECTORY, TWIN);
  const before = twin();
  const again = await House.open(disk, { world });
  await live(again, [later]);
  expect(twin()).toEqual(before);
  expect(differencesOf(recoverFrom(disk).state, again.state)).toEqual([]);
  expect(again.recovered.notes).toContainEqual(wasShared(last));
});

// The one before it was written to where it is shorter than --segment-bytes-max has become.
test.each([
  ['nothing', Buffer.alloc(0)],
  ['half a header', Buffer.from('AYNI')],
])('where a last segment with %s in it is removed, the one before becomes its own', async (_, bytes) => {
  const house = await House.open(new FakeDisk(1), { world: freshWorld() });
  await live(house, SCRIPT.slice(0, 6));
  await house.stop();
  const { disk, world, journal } = house;
  const [before, empty] = [lastOf(house), segmentName(journal.position.seq + 1)];
  disk.put(`${DIRECTORY}/${empty}`, bytes);
  const twin = linked(disk, DIRECTORY, TWIN);
  const was = twin();
  const again = await House.open(disk, { world });
  await live(again, [later]);
  expect(twin()).toEqual(was);
  expect(differencesOf(recoverFrom(disk).state, again.state)).toEqual([]);
  expect(again.recovered.notes).toEqual([wasShared(empty), expect.stringContaining(empty), wasShared(before)]);
});

// It was read, and then taken with what had come to it since: a start refused that, or said that its books were damaged.
test('of books that another server goes on with a start has what there was at one moment', async () => {
  const house = await House.open(new FakeDisk(1), { world: freshWorld() });
  await live(house, SCRIPT.slice(0, 6));
  const [name, { seq }] = [lastOf(house), house.journal.position];
  const path = `${DIRECTORY}/${name}`;
  const before = house.disk.bytesOf(path);
  await live(house, [later]);
  const after = house.disk.bytesOf(path);
  expect(after).toHaveLength(before.length);
  for (let nth = 1; nth <= 6; nth++) {
    const disk = diskOf(new Map([[name, before]]));
    linked(disk, DIRECTORY, TWIN);
    const goesOn = () => disk.open(path, 'write').write(after, 0, after.length, 0);
    const options = { directory: TWIN, verify: verifyHash, hashSeed: 7 };
    const { end } = recover({ disk: afterRead(disk, `${TWIN}/${name}`, nth, goesOn), ...options });
    expect([seq, house.journal.position.seq], `read ${nth}`).toContain(end.seq);
    await Journal.open(disk, TWIN, end, { segmentBytesMax: 1 << 20, sign: signHash }).close();
    expect(recover({ disk, ...options }).end, `read ${nth}`).toEqual(end);
  }
});
