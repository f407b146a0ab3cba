/** A mistake of ours in one request: the operator is told all of it, the client nothing. */
import { expect, test } from 'vitest';
import { type Call, guarded } from '../../src/http/call.ts';
import { LongAnswers, tellNow } from '../../src/http/long-answers.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { House, SERVER } from '../engine/house.ts';
import { FakeDisk } from '../storage/fake-disk.ts';

test('is a 500 without a stack, a path or its message', async () => {
  const { engine } = await House.open(new FakeDisk());
  const defects: Error[] = [];
  const sent: [status: number, text: string][] = [];
  const reply = {
    aborted: false,
    whenGone() {},
    send: (status: number, body: string) => void sent.push([status, body]),
  };
  const mistake = new TypeError('no such member in /var/lib/ayni');
  const house = { engine, sealer: new Sealer(SERVER), defect: (error: Error) => void defects.push(error) };
  guarded(house, reply, () => {
    throw mistake;
  });
  expect(defects).toEqual([mistake]);
  const [[status, text]] = sent as [[number, string]];
  expect([sent.length, status]).toEqual([1, 500]);
  const { data, ...rest } = JSON.parse(text);
  expect(data).toEqual({ reason: 'api.unexpected-error', detail: 'The server met a defect of its own' });
  expect(Object.keys(rest)).toEqual(['hash', 'meta']);
});

test('while a long answer is made gives its room back: past some of them nobody got another long one', async () => {
  const { engine } = await House.open(new FakeDisk());
  const longAnswers = new LongAnswers();
  const statuses: number[] = [];
  const reply = { aborted: false, whenGone() {}, send: (status: number) => void statuses.push(status) };
  const house = { engine, sealer: new Sealer(SERVER), defect() {}, longAnswers };
  const call = { house, reply } as unknown as Call;
  const seen = { size: 8 * 1_048_576 };
  for (let n = 1; n <= 10; n++) {
    const tell = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    expect([tellNow(call, seen, tell), longAnswers.size, statuses.length]).toEqual([true, 0, n]);
  }
  expect(new Set(statuses)).toEqual(new Set([500]));
});
