/** The audit against what no server does, or makes otherwise, though its key has signed it. */
import { describe, expect, test } from 'vitest';
import { hex } from '../../src/core/bytes.ts';
import { type CreateEntry, EntryType, type IntentEntry, type UpdateEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { ownCustom } from '../../src/own-records.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest, sha256 } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { bearer, connect, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit, transfer } from '../support/kit.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { startServer } from '../support/server.ts';
import { keyIn, look, plainBooks, rewritten } from './books.ts';
import { type Frames, isSystem, pick, pickTransfer, pickWallet, replaceData } from './lies.ts';

const plain = await plainBooks();

describe('what no server does', () => {
  /** The number of a record's row. */
  const rowOf = (frames: Frames, luid: string) =>
    frames
      .flatMap(({ entries }) => entries)
      .filter(({ type }) => type === EntryType.create || type === EntryType.intent)
      .findIndex((entry) => entry.luid === luid);
  const first = (frames: Frames, kind: Kind) =>
    pick<CreateEntry>(frames, (entry) => entry.kind === kind && 'seal' in entry && entry.ledger <= 1);
  const signed = (hash: Uint8Array, key = keyIn(plain)) => {
    const custom = '{"moment":"2026-11-20T10:00:00.000Z"}';
    return { public: key.public, result: sign(proofDigest(hex(hash), custom), key), custom };
  };
  const client = createKeyPair();

  test.each(['ledger', 'signer', 'symbol', 'intent'] as const)('to drop a record of kind %s', async (name) => {
    const kind = Kind[name];
    const directory = await rewritten(plain, (frames) => {
      const { ledger, luid, handle, hash: parent } = first(frames, kind);
      const { moment, entries } = frames.at(-1)!;
      const data = canon({ parent: hex(parent) });
      const [hash, row] = [sha256(data), rowOf(frames, luid)];
      const proofs = [signed(hash, client)];
      entries.push({ type: EntryType.drop, ledger, kind, luid, handle, moment, row, hash, data, proofs });
    });
    const what = `a record of kind ${name} is never dropped`;
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('to change an intent', async () => {
    const directory = await rewritten(plain, (frames) => {
      const before = pickTransfer(frames);
      const { ledger, kind, luid, handle } = before;
      const { moment, entries } = frames.at(-1)!;
      const data = canon({ ...JSON.parse(before.data), parent: hex(before.hash) });
      const [hash, row] = [sha256(data), rowOf(frames, luid)];
      const entry = { type: EntryType.update, ledger, kind, luid, handle, moment, row, hash, data };
      const [proofs, seal] = [[signed(hash, client)], new Uint8Array(64)];
      const update: UpdateEntry = { ...entry, proofs, seal };
      update.seal = sign(proofDigest(hex(hash), sealCustom(update)), keyIn(plain));
      entries.push(update);
    });
    const what = 'a record of kind intent is never changed';
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('to take a proof of who is in a circle, which has no address', async () => {
    const directory = await rewritten(plain, (frames) => {
      const { ledger, luid, handle, hash } = pickWallet(frames);
      const { moment, entries } = frames.at(-1)!;
      const [row, proof] = [rowOf(frames, luid), signed(hash, client)];
      entries.push({
        type: EntryType.proof,
        ledger,
        kind: Kind['circle-signer'],
        luid,
        handle,
        moment,
        row,
        proof,
        status: null,
      });
    });
    const what = 'a record of kind circle-signer is never signed again';
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test("to sign for a client: its own key is the default ledger's owner", async () => {
    const what = 'the server signed it as a client, which it never does';
    const lies: ((frames: Frames) => void)[] = [
      (frames) => {
        const entry = pickTransfer(frames);
        entry.proofs = [signed(entry.hash)];
      },
      (frames) => {
        const { ledger, kind, luid, handle, hash } = pickWallet(frames);
        const { moment, entries } = frames.at(-1)!;
        const [row, proof] = [rowOf(frames, luid), signed(hash)];
        entries.push({ type: EntryType.proof, ledger, kind, luid, handle, moment, row, proof, status: null });
      },
    ];
    for (const lie of lies) {
      expect((await look(await rewritten(plain, lie))).finding).toMatchObject({ kind: 'lie', what });
    }
  });

  describe('to make otherwise what it makes by itself:', () => {
    const key = keyIn(plain);
    const stranger = createKeyPair();
    /** Has it say and sign something else. */
    const remake = (entry: CreateEntry, more: Record<string, unknown>, by = key, custom = entry.proofs[0]!.custom) => {
      replaceData(entry, canon({ ...JSON.parse(entry.data), ...more }));
      const result = sign(proofDigest(hex(entry.hash), custom), by);
      entry.proofs = [{ public: by.public, result, custom }];
      entry.seal = sign(proofDigest(hex(entry.hash), sealCustom(entry)), key);
    };
    const SAYS_MORE = 'it says more of the server than any server says of itself';
    const SAYS_ELSE = 'it says something else than the first ledger of any server';
    const SIGNED_OTHERWISE = 'it is not signed as the server signs what it makes by itself';
    const closed = '{"moment":"2026-11-20T10:00:00.000Z","status":"closed"}';
    const systems = (frames: Frames) => frames.flatMap(({ entries }) => entries).filter(isSystem) as CreateEntry[];
    const begun = (frames: Frames) => frames[0]!.entries[0] as CreateEntry;

    test.each<[string, (frames: Frames) => void, string]>([
      ['its signer in the first ledger has rules', (frames) => giveRules(systems(frames)[0]!), SAYS_MORE],
      ['its signer in another ledger has rules', (frames) => giveRules(systems(frames)[1]!), SAYS_MORE],
      ['its signer is signed by a stranger', (frames) => remake(systems(frames)[1]!, {}, stranger), SIGNED_OTHERWISE],
      [
        'its signer is signed with another status',
        (frames) => remake(systems(frames)[1]!, {}, key, closed),
        SIGNED_OTHERWISE,
      ],
      ['its signer is signed twice', (frames) => signTwice(systems(frames)[1]!), SIGNED_OTHERWISE],
      ['the first ledger is signed by a stranger', (frames) => remake(begun(frames), {}, stranger), SIGNED_OTHERWISE],
      [
        'the first ledger is signed with another status',
        (frames) => remake(begun(frames), {}, key, closed),
        SIGNED_OTHERWISE,
      ],
      [
        'the first ledger lets somebody else in',
        (frames) =>
          remake(begun(frames), {
            access: [
              { action: 'any', record: 'any' },
              { action: 'read', record: 'any' },
            ],
          }),
        SAYS_ELSE,
      ],
      ['the first ledger has more to say', (frames) => remake(begun(frames), { custom: { by: 'nobody' } }), SAYS_ELSE],
      ['the first ledger is signed without a word', (frames) => remake(begun(frames), {}, key, null), SIGNED_OTHERWISE],
    ])('%s', async (_, lie, what) => {
      expect((await look(await rewritten(plain, lie))).finding).toMatchObject({ kind: 'lie', what });
    });

    test('its signer is made later than its ledger', async () => {
      const late = await rewritten(plain, (frames) => {
        const signer = systems(frames)[1]!;
        const frame = frames.find(({ entries }) => entries.includes(signer))!;
        // In the same second, by which it is named.
        signer.moment += signer.moment % 1000 === 999 ? -1 : 1;
        frame.moment = Math.max(frame.moment, signer.moment);
        remake(signer, {}, key, ownCustom(signer.moment));
      });
      const { finding } = await look(late);
      expect(finding).not.toBeNull();
      expect(finding!.what).toMatch(/^moment would be|^time goes back/);
    });

    function giveRules(signer: CreateEntry): void {
      remake(signer, { access: [{ action: 'any', record: 'any' }] });
    }

    function signTwice(signer: CreateEntry): void {
      signer.proofs.push(signer.proofs[0]!);
      signer.seal = sign(proofDigest(hex(signer.hash), sealCustom(signer)), key);
    }
  });

  test('to sign for a client, but before 0.3.0: then a client could send its proofs back', async () => {
    const lie = (frames: Frames) => {
      const entry = pickTransfer(frames);
      entry.proofs.push(signed(entry.hash));
    };
    expect((await look(await rewritten(plain, lie, keyIn(plain), SECOND_FORMAT))).finding).toBeNull();
  });
});

test("what only the server's key may is not excused by its proof, where older builds let a client send that back", async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const keys = makeKeys();
  const client = connect(server, bearer(keys));
  const kit = makeKit(client, keys);
  const { body: ledger } = await client.get('/ledger');
  const all = { action: 'any', record: 'any' };
  const access = [
    { ...all, signer: { public: keys.public } },
    { ...all, bearer: { $signer: { public: keys.public } } },
    // Of the first ledger that is the server.
    { ...all, signer: { $ledger: 'owner' } },
  ];
  const { parent: _, ...data } = ledger.data;
  const changed = await client.put('/ledger', record({ ...data, access, parent: ledger.hash }, keys));
  expect(changed.status, changed.text).toBe(200);
  const symbol = await kit.symbol();
  const [from, to] = [await kit.wallet(), await kit.wallet()];
  await kit.send([issue(from, symbol, 9)]);
  const { luid } = await kit.done([transfer(from, to, symbol, 7)]);
  await server.stop();
  expect((await look(directory, { signedOnly: true })).finding).toBeNull();
  const stolen = await rewritten(
    directory,
    (frames) => {
      const paid = frames.flatMap(({ entries }) => entries).find((entry) => entry.luid === luid) as IntentEntry;
      const own = keyIn(directory);
      const custom = '{"moment":"2026-01-01T00:00:00.000Z"}';
      paid.proofs = [{ public: own.public, result: sign(proofDigest(hex(paid.hash), custom), own), custom }];
    },
    keyIn(directory),
    SECOND_FORMAT,
  );
  const { finding, counts } = await look(stolen);
  expect([finding, counts.permitted]).toEqual([null, 1]);
  expect((await look(stolen, { signedOnly: true })).finding).toMatchObject({ kind: 'decided' });
});

/** The later of two records comes first, in the frame of the later one. */
