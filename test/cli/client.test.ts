/** The demo's client says "nothing is missing": here is what it must not overlook in a record, nor wait for. */
import { describe, expect, test } from 'vitest';
import { connect, findLie, type SignedRecord, signRecord } from '../../src/cli/client.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { serveRaw } from '../effects/others.ts';
import { farUrl } from '../support/far.ts';

const keys = keyPairFromSecret(new Uint8Array(32).fill(7));
const others = keyPairFromSecret(new Uint8Array(32).fill(8));

function record(): SignedRecord {
  return signRecord({ handle: 'one', claims: [{ amount: 5 }] }, keys);
}

describe('findLie', () => {
  test('believes a record as it was signed, also after travelling', () => {
    expect(findLie(record())).toBeNull();
    expect(findLie(JSON.parse(JSON.stringify(record())) as SignedRecord)).toBeNull();
  });

  const lies: [string, RegExp, (record: SignedRecord) => void][] = [
    ['data changed', /hash/, (it) => Object.assign(it.data, { handle: 'two' })],
    ['hash changed with the data', /digest of proof 0/, (it) => Object.assign(it, otherContent(it))],
    ['no proof', /no proof/, (it) => it.meta.proofs.splice(0)],
    ['custom changed', /digest of proof 0/, (it) => Object.assign(it.meta.proofs[0]!.custom!, { status: 'completed' })],
    ['custom gone', /digest of proof 0/, (it) => delete it.meta.proofs[0]!.custom],
    ["another's key", /signature of proof 0/, (it) => Object.assign(it.meta.proofs[0]!, { public: otherPublic() })],
    ['a key that is none', /signature of proof 0/, (it) => Object.assign(it.meta.proofs[0]!, { public: 'AAAA' })],
    ['a second proof of another record', /digest of proof 1/, (it) => it.meta.proofs.push(foreignProof())],
  ];
  test.each(lies)('finds the lie: %s', (_, words, tell) => {
    const lying = record();
    tell(lying);
    expect(findLie(lying)).toMatch(words);
  });
});

describe('an answer', () => {
  test('that changes the protocol is none: whoever waits is told', async () => {
    const { url } = await serveRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    );
    await expect(connect(url).get('/wallets')).rejects.toThrow('no answer');
  });

  test('that none of several addresses gives is told as such: it was told with no word', async () => {
    await expect(connect(farUrl(1)).get('/wallets')).rejects.toThrow('ECONNREFUSED');
  });

  test('without an end is not kept, as far as half a gigabyte of it was', async () => {
    let written = 0;
    const { url } = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const piece = Buffer.alloc(1024 * 1024, ' ');
      const write = () => {
        while (!socket.destroyed && socket.write(piece)) written += piece.length;
      };
      socket.on('drain', write).on('error', () => {});
      write();
    });
    await expect(connect(url).get('/wallets')).rejects.toThrow('the answer is too large');
    expect(written).toBeLessThan(256 * 1024 * 1024);
  });

  test('that comes byte by byte, and never to its end, is waited for no longer than any', async () => {
    const { url } = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
      const dripping = setInterval(() => socket.write(' '), 20);
      socket.once('close', () => clearInterval(dripping)).on('error', () => {});
    });
    await expect(connect(url, {}, { answerMsMax: 300 }).get('/wallets')).rejects.toThrow('no answer within 0.3 s');
  });
});

function otherContent(it: SignedRecord): Pick<SignedRecord, 'hash' | 'data'> {
  const { hash, data } = signRecord({ ...it.data, handle: 'two' }, keys);
  return { hash, data };
}

function otherPublic(): string {
  return signRecord({}, others).meta.proofs[0]!.public;
}

function foreignProof(): SignedRecord['meta']['proofs'][number] {
  return signRecord({ handle: 'foreign' }, others).meta.proofs[0]!;
}
