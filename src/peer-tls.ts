/**
 * TLS between machines of one operator: each shows a certificate to the other, and neither goes on without. What a machine
 * needs lies in a directory:
 *
 *     cert.pem   its certificate, with those that lead to its issuer behind it
 *     key.pem    the key of that, for nobody else to read
 *     peers.pem  the certificates of the others, where they issued them themselves, or of who did
 *
 * What always holds: nobody is trusted but by `peers.pem`; the authorities that Node itself trusts are nobody here.
 */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Disk, readWhole } from './storage/disk.ts';
import { isOpenToOthers } from './storage/key-file.ts';
import { errorCode } from './storage/system-error.ts';

/** As node:tls and node:https take it, on either side. */
export interface PeerTls {
  cert: Buffer;
  key: Buffer;
  ca: string[];
  minVersion: 'TLSv1.3';
  /** Said, or a variable (NODE_TLS_REJECT_UNAUTHORIZED) could unsay it. */
  rejectUnauthorized: true;
}

/** Why they cannot be used; the message is for the operator. */
export class PeerTlsError extends Error {
  override name = 'PeerTlsError';
}

const FILE_BYTES_MAX = 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Throws PeerTlsError where anything of it is missing, open to others, or not what it should be. */
export function readPeerTls(disk: Disk, directory: string): PeerTls {
  const at = (name: string) => join(directory, name);
  const [cert, key, peers] = [
    readPem(disk, at('cert.pem')),
    readPem(disk, at('key.pem')),
    readPem(disk, at('peers.pem')),
  ];
  if (isOpenToOthers(disk, at('key.pem')))
    throw new PeerTlsError(`${at('key.pem')} holds a secret, and others may use it; run: chmod 600 ${at('key.pem')}`);
  const text = peers.toString();
  const ca = text.match(CERTIFICATE) ?? [];
  // Where nobody is named Node would trust whom the world does.
  if (ca.length === 0) throw new PeerTlsError(`${at('peers.pem')} holds no certificate: nobody could be trusted`);
  // One that was cut off, or is no plain certificate, would be passed over, and its peer not be let in.
  if (text.match(/-----BEGIN /g)?.length !== ca.length)
    throw new PeerTlsError(`${at('peers.pem')} holds what is no whole certificate`);
  const tls: PeerTls = { cert, key, ca: [...ca], minVersion: 'TLSv1.3', rejectUnauthorized: true };
  const certificates = check(`${at('peers.pem')} holds what is no certificate`, () =>
    ca.map((each) => new X509Certificate(each)),
  );
  // So would one that somebody issued of whom nothing is known: each has to lead to one that issued itself.
  const lost = certificates.find(
    (each) => !certificates.some((by) => each.issuer === by.subject || each.checkIssued(by)),
  );
  if (lost !== undefined)
    throw new PeerTlsError(
      `${at('peers.pem')} holds that of ${oneLine(lost.subject)}, and not of who issued it (${oneLine(lost.issuer)}): name that one instead`,
    );
  check(`${at('cert.pem')} and key.pem are no certificate and its key`, () => createSecureContext(tls));
  return tls;
}

function readPem(disk: Disk, path: string): Buffer {
  try {
    return readWhole(disk, path, FILE_BYTES_MAX);
  } catch (error) {
    throw new PeerTlsError(`${path} cannot be read (${errorCode(error as Error) || (error as Error).message})`);
  }
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ');
}

function check<T>(fault: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    // OpenSSL tells the error, and nothing of what it read.
    throw new PeerTlsError(`${fault} (${(error as Error).message})`);
  }
}
