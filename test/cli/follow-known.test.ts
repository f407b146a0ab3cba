import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { verifyHash } from '../engine/house.ts';
import { lived } from '../engine/life.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { freshDirectory } from '../support/directory.ts';
import { until } from '../support/kit.ts';
import { turn } from '../support/turns.ts';
import { COPY, catchUp, moves, openTo, sourceOf, untold } from './copies.ts';

describe('a copy that goes on', () => {
  test('says how far it is, so that a stop can wait for it', async () => {
    const house = await lived('whole');
    const { url, followers } = await openTo(house);
    expect(followers.entries).toEqual([]);
    expect(await followers.caughtUp()).toMatchObject({
      haveAll: false,
      text: expect.stringContaining('nobody follows'),
    });
    const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
    const source = sourceOf(url);
    await catchUp(copy, source);
    expect(followers.entries).toEqual([house.journal.position.seq]);
    await moves(house, 'later');
    const isCaughtUp = followers.caughtUp();
    await catchUp(copy, source);
    const { seq } = house.journal.position;
    const text = `All who follow these books (1) have entries up to ${seq}.`;
    expect(await isCaughtUp).toEqual({ haveAll: true, text });
    await until(() => followers.entries[0] === house.journal.position.seq);
    // Nobody waits for who took what there was, and is over.
    await catchUp(copy, sourceOf(url, ''));
    expect(followers.entries).toHaveLength(1);
    copy.close();
  });

  test('is waited for by a stop for some seconds where it does not have all, and else not at all', async () => {
    const house = await lived('whole');
    const { url, followers } = await openTo(house);
    const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    copy.close();
    const atOnce = turn();
    expect(await Promise.race([followers.caughtUp(), atOnce])).toMatchObject({ haveAll: true });
    await moves(house, 'later');
    const isCaughtUp = followers.caughtUp();
    const later = performance.now() + 3_001;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later);
    onTestFinished(() => clock.mockRestore());
    const { seq } = house.journal.position;
    const text = `Not every copy of these books has what they have, entries up to ${seq}: one has entries up to ${copy.end!.seq}.`;
    expect(await isCaughtUp).toEqual({ haveAll: false, text });
  });

  test('is spoken of by a stop where it has been silent for long, and does not have all', async () => {
    const house = await lived('whole');
    const { url, followers } = await openTo(house);
    const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    copy.close();
    const later = performance.now() + 61_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later);
    onTestFinished(() => clock.mockRestore());
    // What it had was all there was.
    expect(await followers.caughtUp()).toMatchObject({ text: expect.stringContaining('nobody follows them') });
    await moves(house, 'later');
    expect(await followers.caughtUp()).toMatchObject({
      haveAll: false,
      text: expect.stringMatching(/one has said nothing for 6\d s, and had entries up to \d+\.$/),
    });
  });

  test('has one name, whoever keeps it going', () => {
    const [one, other] = [freshDirectory(), freshDirectory()];
    const names = [one, one, other].map((directory) => {
      const copy = new Copy(realDisk, directory, verifyHash, untold);
      copy.close();
      return copy.name();
    });
    expect(names[1]).toBe(names[0]);
    expect(names[2]).not.toBe(names[0]);
  });
});
