/**
 * TLS between machines of one operator: each shows a certificate to the other, and neither goes on without. What a
 * machine needs lies in a directory:
 *
 *     cert.pem   its certificate, with those that lead to its issuer behind it
 *     key.pem    the key of that, for nobody else to read
 *     peers.pem  the certificates of the others, where they issued them themselves, or of who did
 *
 * They are looked at again now and then: certificates are renewed while those run who show them.
 *
 * What always holds: nobody is trusted but by `peers.pem`; the authorities that Node itself trusts are nobody here.
 */
import { constants, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { type Disk, readWhole } from './storage/disk.ts';
import { openToOthers } from './storage/key-file.ts';
import { errorCode } from './storage/system-error.ts';

/** As node:tls and node:https take it, on either side. */
interface PeerTls {
  cert: Buffer;
  key: Buffer;
  ca: string[];
  minVersion: 'TLSv1.3';
  /** Said, or a variable (NODE_TLS_REJECT_UNAUTHORIZED) could unsay it. */
  rejectUnauthorized: true;
  /** Nobody takes a session up again: a certificate that is over, or trusted no more, would not be looked at. */
  secureOptions: number;
}

/** Why they cannot be used; the message is for the operator. */
class PeerTlsError extends Error {
  override name = 'PeerTlsError';
}

const FILE_BYTES_MAX = 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
/** Any of them, and a key too. Single hyphens stand in some. */
const ANYTHING = /-----BEGIN ([^-]*)-----(?:[^-]|-(?!----))*-----END \1-----/g;
/**
 * What is left beside whole ones of one that is damaged or was cut off, be it but a hyphen; a line of hyphens may stand
 * anywhere.
 */
const NOT_WHOLE = /-----(?:BEGIN|END) |-(?:B(?:E(?:G(?:IN?)?)?)?)?$/;
const LOOK_MS = 5_000;
/** How long before a certificate ends that is said, but for no more than a third of its lifetime: some last a day. */
const ENDS_SOON_MS = 14 * 24 * 3_600_000;
const ENDS_SOON_SHARE = 1 / 3;

interface Files {
  cert: Buffer;
  key: Buffer;
  peers: Buffer;
}

/** What lies in a directory, and is in use. */
export class PeerFiles {
  readonly #disk: Disk;
  readonly #directory: string;
  #files: Files;
  #tls: PeerTls;
  /** Why what has come to lie there is not in use, and whether that was told. */
  #fault = { message: '', isTold: false };
  /** The last word about the end of its own certificate. */
  #ending = '';

  /** Throws PeerTlsError where anything of it is missing, open to others, or not what it should be. */
  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
    this.#files = readFiles(disk, directory);
    this.#tls = peerTlsOf(disk, directory, this.#files);
  }

  get tls(): PeerTls {
    return this.#tls;
  }

  /**
   * Looks now and then, until what it returns is called; calls `renewed` where others are in use since, `looked` each
   * time.
   */
  watch(tell: (text: string) => void, renewed = () => {}, looked = () => {}): () => void {
    this.#tellConfused(tell);
    this.tellEnding(tell, Date.now());
    const timer = setInterval(() => {
      if (this.look(tell)) renewed();
      this.tellEnding(tell, Date.now());
      looked();
    }, LOOK_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  /**
   * Takes what has come to lie there; returns whether anything has. Tells what it cannot use, and goes on with what it
   * has.
   */
  look(tell: (text: string) => void): boolean {
    try {
      const files = readFiles(this.#disk, this.#directory);
      const isNew = !isSame(files, this.#files);
      if (isNew) this.#tls = peerTlsOf(this.#disk, this.#directory, files);
      this.#files = files;
      this.#fault = { message: '', isTold: false };
      if (!isNew) return false;
      tell(`Uses what lies in ${this.#directory} now to know its peers, and to be known.`);
      this.#tellConfused(tell);
      return true;
    } catch (error) {
      this.#tellFault((error as Error).message, tell);
      return false;
    }
  }

  /** Not before it is there a second time: of files that are put there one after the other, the first alone is one. */
  #tellFault(message: string, tell: (text: string) => void): void {
    if (message !== this.#fault.message) this.#fault = { message, isTold: false };
    else if (!this.#fault.isTold) {
      tell(`${message}. Until that is mended, it goes on with what lay there before.`);
      this.#fault.isTold = true;
    }
  }

  /**
   * Tells of two of which OpenSSL takes one for the other: it looks for who issued one by name, and by key where one is
   * named, and stops at the first. Of two that issued themselves the second is refused then, as a stranger.
   */
  #tellConfused(tell: (text: string) => void): void {
    const named = new Map<string, X509Certificate[]>();
    for (const each of this.#tls.ca.map((pem) => new X509Certificate(pem))) {
      const before = named.get(each.subject) ?? [];
      if (before.some((other) => each.fingerprint256 !== other.fingerprint256 && each.checkIssued(other)))
        return tell(
          `${join(this.#directory, 'peers.pem')} holds two of ${oneLine(each.subject)} that have one key, or do not say which (openssl does, by key identifiers): of peers that show these only the first is let in. Issue the other anew, with a key of its own, or under another name.`,
        );
      named.set(each.subject, [...before, each]);
    }
  }

  /** Tells, once of each, that its own certificate ends soon, is over, or does not hold yet. */
  tellEnding(tell: (text: string) => void, now: number): void {
    const text = this.#endingAt(now);
    if (text !== '' && text !== this.#ending) tell(text);
    this.#ending = text;
  }

  #endingAt(now: number): string {
    const { validFrom, validTo } = new X509Certificate(this.#files.cert);
    const begin = Date.parse(validFrom);
    const { end, soon } = termOf(validFrom, validTo);
    const what = `The certificate in ${join(this.#directory, 'cert.pem')}`;
    if (now < begin)
      return `${what} holds from ${new Date(begin).toISOString()} on: no peer takes it before that. Is this machine's clock right?`;
    if (now >= end)
      return `${what} ended at ${new Date(end).toISOString()}: no peer takes it any more. Put another there.`;
    if (now < soon) return '';
    return `${what} ends at ${new Date(end).toISOString()}: no peer takes it after that. Put another there in time.`;
  }
}

/** When certificates end, and from when on they are to be renewed; milliseconds since 1970. */
export interface Term {
  end: number;
  soon: number;
}

function termOf(from: string, to: string): Term {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  return { end, soon: end - Math.min(ENDS_SOON_MS, (end - begin) * ENDS_SOON_SHARE) };
}

/** The term of what a peer has shown: the earliest of its certificate and those that lead to its issuer. */
export function termOfPeer(socket: TLSSocket): Term {
  const term = { end: Number.POSITIVE_INFINITY, soon: Number.POSITIVE_INFINITY };
  const seen = new Set<string>();
  let each: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (each?.valid_to !== undefined && !seen.has(each.fingerprint256)) {
    seen.add(each.fingerprint256);
    const { end, soon } = termOf(each.valid_from, each.valid_to);
    term.end = Math.min(term.end, end);
    term.soon = Math.min(term.soon, soon);
    each = each.issuerCertificate;
  }
  return term;
}

function readFiles(disk: Disk, directory: string): Files {
  const read = (name: string) => readPem(disk, join(directory, name));
  return { cert: read('cert.pem'), key: read('key.pem'), peers: read('peers.pem') };
}

function isSame(one: Files, other: Files): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key) && one.peers.equals(other.peers);
}

function peerTlsOf(disk: Disk, directory: string, { cert, key, peers }: Files): PeerTls {
  const at = (name: string) => join(directory, name);
  const open = openToOthers(disk, at('key.pem'));
  if (open !== null) throw new PeerTlsError(open);
  const text = peers.toString();
  const ca = text.match(CERTIFICATE) ?? [];
  // Where nobody is named Node would trust whom the world does.
  if (ca.length === 0) throw new PeerTlsError(`${at('peers.pem')} holds no certificate: nobody could be trusted`);
  // One that is damaged, or is no plain certificate, would be passed over, and its peer not be let in.
  if (NOT_WHOLE.test(text.replace(CERTIFICATE, '')))
    throw new PeerTlsError(`${at('peers.pem')} holds what is no whole certificate`);
  const secureOptions = constants.SSL_OP_NO_TICKET;
  const tls: PeerTls = { cert, key, ca: [...ca], minVersion: 'TLSv1.3', rejectUnauthorized: true, secureOptions };
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
  // One that leads to its issuer would be left out, and peers not know whose this is.
  if (NOT_WHOLE.test(cert.toString('latin1').replace(ANYTHING, '')))
    throw new PeerTlsError(`${at('cert.pem')} holds what is no whole certificate`);
  check(`${at('cert.pem')} and key.pem are no certificate and its key`, () => createSecureContext(tls));
  // OpenSSL takes its own as it is, and looks at nothing in it.
  if (Number.isNaN(endOf(cert))) throw new PeerTlsError(`${at('cert.pem')} does not say when it ends, or is damaged`);
  return tls;
}

function endOf(cert: Buffer): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

function readPem(disk: Disk, path: string): Buffer {
  try {
    return readWhole(disk, path, FILE_BYTES_MAX);
  } catch (error) {
    throw new PeerTlsError(`${path} cannot be read (${errorCode(error) || (error as Error).message})`);
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
