/** X.509 certificates for tests (RFC 5280), with Ed25519 keys (RFC 8410): Node reads them, and makes none. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface Issued {
  /** PEM. */
  cert: string;
  key: string;
}

export interface Issuer extends Issued {
  name: string;
  secret: KeyObject;
}

interface Wanted {
  /** The address it is for. */
  address?: string;
  /** Itself, where nobody is named. */
  by?: Issuer;
  /** Whose key it has; one of its own, where nobody is named. */
  as?: Issuer;
  from?: Date;
  to?: Date;
}

const YEAR_MS = 365 * 24 * 3600 * 1000;
const ED25519 = sequence(oid(0x2b, 0x65, 0x70));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const SUBJECT_ALT_NAME = oid(0x55, 0x1d, 0x11);
const SUBJECT_KEY = oid(0x55, 0x1d, 0x0e);
const AUTHORITY_KEY = oid(0x55, 0x1d, 0x23);
let made = 0;

/** A certificate of this name and its key; it may issue others. */
export function certificate(name: string, { address = '127.0.0.1', by, as, from, to }: Wanted = {}): Issuer {
  const secret = as?.secret ?? generateKeyPairSync('ed25519').privateKey;
  const issuer = by ?? { name, secret };
  const now = Date.now();
  const body = sequence(
    der(0xa0, integer(2)),
    integer(++made),
    ED25519,
    nameOf(issuer.name),
    sequence(time(from ?? new Date(now - YEAR_MS)), time(to ?? new Date(now + YEAR_MS))),
    nameOf(name),
    createPublicKey(secret).export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(BASIC_CONSTRAINTS, der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff))))),
        // By which two of one name are told apart.
        sequence(SUBJECT_KEY, der(0x04, der(0x04, keyId(secret)))),
        sequence(AUTHORITY_KEY, der(0x04, sequence(der(0x80, keyId(issuer.secret))))),
        sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(0x87, Buffer.from(address.split('.').map(Number)))))),
      ),
    ),
  );
  const whole = sequence(body, ED25519, der(0x03, Buffer.of(0), sign(null, body, issuer.secret)));
  const lines = whole
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n');
  return {
    name,
    secret,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: secret.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...head), body]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function keyId(secret: KeyObject): Buffer {
  const key = createPublicKey(secret).export({ type: 'spki', format: 'der' });
  return createHash('sha1').update(key).digest();
}

function nameOf(name: string): Buffer {
  return sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))));
}

function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(digits.slice(2)));
}
