/**
 * The acceptance rule, in every library that runs here: published cases, and forgeries made for it. Each forgery
 * satisfies the equation some verifier uses, so that only the rule's own checks stand against it.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Point } from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { LIBRARIES, verify } from '../../src/proof/verify.ts';
import { freshDirectory } from '../support/directory.ts';
import { bytesOf, hexOf, readData } from './data.ts';
import { startTables } from './tables.ts';

const { p: P, n: L } = Point.CURVE();

interface Wycheproof {
  tests: [id: number, publicKey: string, message: string, signature: string, result: string, comment: string][];
}

interface Speccheck {
  accepted: number[];
  cases: { message: string; pub_key: string; signature: string }[];
}

const isAcceptedByTable = startTables();

/** Every library gives this answer, and so does the exported function; a key's table accepts nothing else. */
function expectVerdict(expected: boolean, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): void {
  const context = `A ${hexOf(publicKey)} M ${hexOf(message)} signature ${hexOf(signature)}`;
  for (const library of LIBRARIES) {
    expect(library.verify(publicKey, message, signature), `${library.name}: ${context}`).toBe(expected);
  }
  expect(verify(publicKey, message, signature)).toBe(expected);
  if (!expected) expect(isAcceptedByTable(publicKey, message, signature), `a table: ${context}`).toBe(false);
}

test('both libraries run where both are installed, so that they are compared at all', () => {
  expect(LIBRARIES.map((library) => library.name)).toStrictEqual(
    isInstalled('sodium-native') ? ['sodium', 'noble'] : ['noble'],
  );
});

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

describe('the native library fails: the other one takes its place', () => {
  const rows: [name: string, module: string][] = [
    ['it is not there', "throw new Error('Cannot find module')"],
    ['it accepts everything', 'return { ...load(name, ...rest), crypto_sign_verify_detached: () => true }'],
    ['it accepts nothing', 'return { ...load(name, ...rest), crypto_sign_verify_detached: () => false }'],
    ['it signs nothing', 'return { ...load(name, ...rest), crypto_sign_detached() {} }'],
    ['it lacks a function', 'return {}'],
    ['it reduces nothing modulo L', 'return { ...load(name, ...rest), crypto_core_ed25519_scalar_reduce: undefined }'],
    ['it derives another key', 'return { ...load(name, ...rest), crypto_sign_seed_keypair() {} }'],
  ];
  test.each(rows)('%s', (_, module) => {
    const directory = freshDirectory();
    const stub = join(directory, 'stub.cjs');
    const load = 'const { Module } = require("node:module"); const load = Module._load;';
    writeFileSync(
      stub,
      `${load} Module._load = (name, ...rest) => { if (name === 'sodium-native') { ${module} } return load(name, ...rest); };`,
    );
    const url = new URL('../../src/proof/verify.js', import.meta.url).href;
    const script = `import { LIBRARIES } from '${url}'; console.log(LIBRARIES.map(({ name }) => name).join());`;
    const parameters = ['--require', stub, '--input-type=module', '--eval', script];
    expect(execFileSync(process.execPath, parameters, { encoding: 'utf8' }).trim()).toBe('noble');
  });
});

describe('Wycheproof', () => {
  for (const [id, publicKey, message, signature, result, comment] of readData<Wycheproof>('wycheproof-ed25519.json')
    .tests) {
    test(`${id} ${result} ${comment}`, () => {
      expectVerdict(result === 'valid', bytesOf(publicKey), bytesOf(message), bytesOf(signature));
    });
  }
});

describe('ed25519-speccheck', () => {
  const { accepted, cases } = readData<Speccheck>('speccheck.json');
  test('only number 3 of twelve', () => {
    expect(accepted).toStrictEqual([3]);
    expect(cases).toHaveLength(12);
  });
  for (const [i, { message, pub_key, signature }] of cases.entries()) {
    test(`case ${i}`, () =>
      expectVerdict(accepted.includes(i), bytesOf(pub_key), bytesOf(message), bytesOf(signature)));
  }
});

// Arithmetic for forgeries.

function encodeNumber(value: bigint): Uint8Array {
  return bytesOf(value.toString(16).padStart(64, '0')).reverse();
}

function decodeNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${hexOf(Uint8Array.from(bytes).reverse())}`);
}

function times(point: Point, n: bigint): Point {
  let result = Point.ZERO;
  for (let bit = n.toString(2).length - 1; bit >= 0; bit--) {
    result = result.double();
    if ((n >> BigInt(bit)) & 1n) result = result.add(point);
  }
  return result;
}

function challenge(r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint {
  return decodeNumber(sha512(Uint8Array.from([...r, ...a, ...message]))) % L;
}

function signatureOf(r: Uint8Array, s: bigint): Uint8Array {
  return Uint8Array.from([...r, ...encodeNumber(s)]);
}

const mod = (n: bigint) => ((n % L) + L) % L;

/** A point of order 8, and with it the eight points of small order: its multiples 0 to 7. */
function torsionPoints(): Point[] {
  for (let y = 2n; ; y++) {
    try {
      const point = times(Point.fromBytes(encodeNumber(y)), L);
      if (!times(point, 4n).is0()) return Array.from({ length: 8 }, (_, i) => times(point, BigInt(i)));
    } catch {
      // No point has this y.
    }
  }
}

const torsion = torsionPoints();
const secret = 0x1234567890abcdef1234567890abcdef1234567890abcdefn;
const nonce = 0xfedcba0987654321fedcba0987654321fedcba0987654321n;
const honest = times(Point.BASE, secret);

/** Each way to write down a point of small order: canonical, x = 0 with the sign bit, and y + p. */
function smallOrderEncodings(): { bytes: Uint8Array; point: Point }[] {
  const encodings: { bytes: Uint8Array; point: Point }[] = [];
  for (const point of torsion) {
    const { x, y } = point.toAffine();
    const sign = x & 1n;
    const signs = x === 0n ? [0n, 1n] : [sign];
    for (const written of signs) {
      encodings.push({ bytes: encodeNumber(y | (written << 255n)), point });
      if (y + P < 1n << 255n) encodings.push({ bytes: encodeNumber((y + P) | (written << 255n)), point });
    }
  }
  return encodings;
}

const encodings = smallOrderEncodings();

test('there are fourteen ways to write the eight points of small order', () => {
  expect(new Set(torsion.map((point) => point.toHex())).size).toBe(8);
  expect(new Set(encodings.map(({ bytes }) => hexOf(bytes))).size).toBe(14);
});

const messages = Array.from({ length: 400 }, (_, i) => sha512(Uint8Array.of(i & 255, i >> 8)).subarray(0, 32));

describe('small order', () => {
  test.each(encodings)('A = $bytes: a signature anyone can make', ({ bytes, point }) => {
    let forged = 0;
    for (const message of messages.slice(0, 40)) {
      // SB = R + kA holds with R = SB - jA where k = j modulo the order of A.
      for (let j = 0n; j < 8n; j++) {
        const r = times(Point.BASE, nonce).subtract(times(point, j)).toBytes();
        if (!times(point, challenge(r, bytes, message)).equals(times(point, j))) continue;
        forged++;
        expectVerdict(false, bytes, message, signatureOf(r, nonce));
        break;
      }
      if (forged === 3) break;
    }
    expect(forged).toBe(3);
  });

  test.each(encodings)('R = $bytes: the equation holds without the cofactor', ({ bytes, point }) => {
    // A = aB + T. With S = ka the equation leaves R = -kT.
    let forged = 0;
    for (const t of torsion) {
      const a = honest.add(t).toBytes();
      for (const message of messages.slice(0, 60)) {
        const k = challenge(bytes, a, message);
        if (!times(t, k).negate().equals(point)) continue;
        forged++;
        expectVerdict(false, a, message, signatureOf(bytes, mod(k * secret)));
        break;
      }
    }
    expect(forged).toBeGreaterThan(0);
  });

  test.each(encodings)('R = $bytes: the equation holds with the cofactor', ({ bytes }) => {
    const k = challenge(bytes, honest.toBytes(), messages[0]!);
    expectVerdict(false, honest.toBytes(), messages[0]!, signatureOf(bytes, mod(k * secret)));
  });

  test('A and R both of small order, S = 0', () => {
    for (const a of encodings) {
      for (const r of encodings) expectVerdict(false, a.bytes, messages[0]!, signatureOf(r.bytes, 0n));
    }
  });
});

describe('mixed order', () => {
  for (let i = 0; i < 8; i++) {
    for (let j = 0; j < 8; j++) {
      test(`A = aB + ${i}T, R = rB + ${j}T: accepted exactly where the equation holds without the cofactor`, () => {
        const a = honest.add(torsion[i]!).toBytes();
        const r = times(Point.BASE, nonce).add(torsion[j]!).toBytes();
        let held = 0;
        for (const message of messages.slice(0, 6)) {
          const k = challenge(r, a, message);
          const holds = times(torsion[i]!, k).add(torsion[j]!).is0();
          if (holds) held++;
          expectVerdict(holds, a, message, signatureOf(r, mod(nonce + k * secret)));
        }
        if (i === 0) expect(held).toBe(j === 0 ? 6 : 0);
      });
    }
  }

  test('a mixed key whose signature holds is accepted', () => {
    const a = honest.add(torsion[1]!).toBytes();
    const r = times(Point.BASE, nonce).toBytes();
    const message = messages.find((candidate) => challenge(r, a, candidate) % 8n === 0n)!;
    expectVerdict(true, a, message, signatureOf(r, mod(nonce + challenge(r, a, message) * secret)));
  });
});

describe('S', () => {
  const message = messages[0]!;
  const a = honest.toBytes();
  const r = times(Point.BASE, nonce).toBytes();
  const s = mod(nonce + challenge(r, a, message) * secret);
  const rows: [name: string, s: bigint, expected: boolean][] = [
    ['as signed', s, true],
    ['S + L', s + L, false],
    ['S + 2L', s + 2n * L, false],
    ['S + 8L', s + 8n * L, false],
    ['S + 15L', s + 15n * L, false],
    ['S with bit 253', s | (1n << 253n), false],
    ['S with bit 255', s | (1n << 255n), false],
    ['L - S', L - s, false],
    ['L', L, false],
    ['L - 1', L - 1n, false],
    ['0', 0n, false],
    ['all ones', (1n << 256n) - 1n, false],
  ];
  test.each(rows)('%s', (_, value, expected) => expectVerdict(expected, a, message, signatureOf(r, value)));
});

describe('encodings', () => {
  const r = times(Point.BASE, nonce).toBytes();
  const nonCanonical = Array.from({ length: 19 }, (_, y) => BigInt(y) + P).flatMap((y) => [y, y | (1n << 255n)]);

  test.each(nonCanonical)('y >= p: %s', (y) => {
    const bytes = encodeNumber(y);
    for (const s of [0n, 1n, nonce]) {
      expectVerdict(false, bytes, messages[0]!, signatureOf(r, s));
      expectVerdict(false, honest.toBytes(), messages[0]!, signatureOf(bytes, s));
      expectVerdict(false, bytes, messages[0]!, signatureOf(bytes, s));
    }
  });

  test('points that are on no curve', () => {
    for (let y = 2n; y < 40n; y++) {
      for (const sign of [0n, 1n << 255n]) {
        expectVerdict(false, encodeNumber(y | sign), messages[0]!, signatureOf(r, 1n));
        expectVerdict(false, honest.toBytes(), messages[0]!, signatureOf(encodeNumber(y | sign), 1n));
      }
    }
  });

  test('-A and -R', () => {
    const a = honest.toBytes();
    const s = mod(nonce + challenge(r, a, messages[0]!) * secret);
    expectVerdict(true, a, messages[0]!, signatureOf(r, s));
    expectVerdict(false, honest.negate().toBytes(), messages[0]!, signatureOf(r, s));
    expectVerdict(false, a, messages[0]!, signatureOf(times(Point.BASE, nonce).negate().toBytes(), s));
  });
});

describe('lengths', () => {
  const pair = keyPairFromSecret(new Uint8Array(32).fill(3));
  const message = messages[0]!;
  const signature = LIBRARIES[0]!.sign(message, pair);
  const rows: [name: string, publicKey: Uint8Array, signature: Uint8Array][] = [
    ['no key', new Uint8Array(0), signature],
    ['31 bytes of key', pair.public.subarray(1), signature],
    ['33 bytes of key', Uint8Array.from([...pair.public, 0]), signature],
    ['no signature', pair.public, new Uint8Array(0)],
    ['63 bytes of signature', pair.public, signature.subarray(0, 63)],
    ['65 bytes of signature', pair.public, Uint8Array.from([...signature, 0])],
    ['128 bytes of signature', pair.public, Uint8Array.from([...signature, ...signature])],
  ];
  test.each(rows)('%s', (_, publicKey, bytes) => expectVerdict(false, publicKey, message, bytes));

  test('messages of any length, and views into larger buffers', () => {
    for (const length of [0, 1, 31, 32, 33, 1000, 70_000]) {
      const framed = new Uint8Array(length + 7).fill(5);
      const view = framed.subarray(3, 3 + length);
      const [first, ...others] = LIBRARIES.map((library) => library.sign(view, pair));
      for (const other of others) expect(hexOf(other)).toBe(hexOf(first!));
      const frame = new Uint8Array(200);
      frame.set(first!, 9);
      expectVerdict(true, pair.public, view, frame.subarray(9, 73));
    }
  });
});

describe('generated', () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

  test('libraries derive the same key, sign alike, accept what they signed, and refuse it with any one bit turned', () => {
    fc.assert(
      fc.property(bytes(32), bytes(32), fc.nat(1023), (seed, message, bit) => {
        const pair = keyPairFromSecret(seed);
        for (const library of LIBRARIES)
          expect(hexOf(library.publicKeyOf(seed)), library.name).toBe(hexOf(pair.public));
        const signatures = LIBRARIES.map((library) => hexOf(library.sign(message, pair)));
        expect(new Set(signatures).size).toBe(1);
        const row = Uint8Array.from([...pair.public, ...message, ...bytesOf(signatures[0]!)]);
        expectVerdict(true, row.subarray(0, 32), row.subarray(32, 64), row.subarray(64));
        row[bit >> 3]! ^= 1 << (bit & 7);
        expectVerdict(false, row.subarray(0, 32), row.subarray(32, 64), row.subarray(64));
      }),
      { numRuns: 60 },
    );
  });

  test('libraries agree on noise', () => {
    fc.assert(
      fc.property(bytes(32), bytes(32), bytes(64), (publicKey, message, signature) => {
        expectVerdict(false, publicKey, message, signature);
      }),
      { numRuns: 100 },
    );
  });
});
