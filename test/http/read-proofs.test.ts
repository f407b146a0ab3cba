/** Proofs made for readers: the same whether the workers sign them, or have failed and they are signed here. */
import { expect, test } from 'vitest';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import type { Call } from '../../src/http/call.ts';
import { withLateProofs, withListProof } from '../../src/http/read-proofs.ts';
import { Sealer, type Signed } from '../../src/proof/sealer.ts';
import { sign } from '../../src/proof/verify.ts';
import { unsealedList, viewText } from '../../src/render.ts';
import { Books, issue } from '../core/books.ts';
import { SERVER } from '../engine/house.ts';

const DIGEST_BYTES = 32;

interface Job {
  seals: Uint8Array;
  done: (result: { error: Error | null; signatures: Uint8Array }) => void;
}

/** A request, and how often the workers were asked for it. */
function open(error: Error | null): { call: Call; sealer: Sealer; jobs: number[] } {
  const sealer = new Sealer(SERVER);
  const jobs: number[] = [];
  const submit = ({ seals, done }: Job) => {
    jobs.push(seals.length / DIGEST_BYTES);
    const digests = jobs.at(-1)! * Number(error === null);
    const signatures = Array.from({ length: digests }, (_, n) =>
      sign(seals.subarray(n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES), SERVER),
    );
    done({ error, signatures: Buffer.concat(signatures) });
  };
  const defect = (mistake: Error) => {
    throw mistake;
  };
  const house = { sealer, pool: { submit }, listProofMsMax: 100, defect };
  return { call: { house, reply: { aborted: false } } as unknown as Call, sealer, jobs };
}

test.each([null, new Error('the workers are gone')])('the proof of a list is signed once for a while (%s)', (error) => {
  const { call, sealer, jobs } = open(error);
  const given: Signed[] = [];
  for (const moment of [1000, 1100, 1101]) {
    const list = unsealedList([], null, moment);
    withListProof(call, list, (signed) => given.push(signed));
    const kept = unsealedList([], null, given.at(-1)!.moment);
    expect(given.at(-1)!.proof).toBe(sealer.proof(kept.hash, kept.custom));
  }
  expect(given.map(({ moment }) => moment)).toEqual([1000, 1000, 1101]);
  expect(jobs).toEqual([1, 1]);
});

test.each([null, new Error('the workers are gone')])(
  'proofs of how an intent ended are signed once (%s)',
  async (error) => {
    const books = Books.open().symbols('usd').wallets('w');
    const { handle } = books.intent(issue('w', 1));
    const version = readRow(books.state, findHandle(books.state, 1, Kind.intent, handle));
    const { call, sealer, jobs } = open(error);
    const texts: string[] = [];
    for (let n = 0; n < 2; n++) {
      await new Promise<void>((told) =>
        withLateProofs(call, [version, version], () => {
          texts.push(viewText(version, sealer));
          told();
        }),
      );
    }
    expect(new Set(texts)).toEqual(new Set([viewText(version, new Sealer(SERVER))]));
    expect(texts).toHaveLength(2);
    expect(jobs).toHaveLength(1);
  },
);
