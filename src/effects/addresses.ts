/**
 * Which addresses may be called. Who may write a bridge or an effect names URLs that this machine then calls, so what
 * only this machine can reach (itself, its neighbours, the metadata service of its cloud) is refused, unless the
 * operator names it.
 *
 * What always holds: the address that is connected to is the one that was looked at. A name is looked up once per
 * connection, here, and only addresses that passed are handed on, so that no second answer of a name server can
 * differ from the first.
 */
import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type Addresses, type Asking, Names, type Resolve } from './names.ts';
import { realTimers } from './timers.ts';

/** Addresses that are not of the public internet (IANA special-purpose registry), multicast included. */
const CLOSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/**
 * Of IPv6 only 2000::/3 is public, without what carries other addresses within it (Teredo, 6to4) and documentation.
 * IPv4-mapped addresses (::ffff:0:0/96) lie outside, so they are closed whatever they carry.
 */
const OPEN_V6 = ['2000::/3'];
const CLOSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** Code of the error where a name leads only to addresses that may not be called. */
export const NOT_ALLOWED = 'ADDRESS_NOT_ALLOWED';

/** The system's way, so that its hosts file counts. */
export const systemResolve: Resolve = (name, done) =>
  systemLookup(name, { all: true, verbatim: true }, (error, addresses) => done(error, addresses ?? []));

/**
 * Addresses of a name that are called, of each family: it may have thousands, and Node calls the next while it hears
 * that one fails, each call inside the one before.
 */
const TRIED_MAX = 8;

export interface GuardOptions {
  /** Private and loopback addresses may be called, as all others. */
  allowPrivate: boolean;
  /** What may be called all the same: names, addresses, each also with a port, and subnets; commas between. */
  callsAllow: string;
  resolve: Resolve;
}

export class Guard {
  readonly #allowPrivate: boolean;
  readonly #names = new Set<string>();
  readonly #allowed = new BlockList();
  readonly #resolved: Names;

  /** Throws for a subnet that is none. */
  constructor(options: GuardOptions) {
    this.#allowPrivate = options.allowPrivate;
    this.#resolved = new Names(options.resolve, realTimers);
    for (const entry of options.callsAllow.split(',').map((host) => host.trim())) {
      if (entry.includes('/')) addSubnet(this.#allowed, entry);
      else if (isIP(entry) !== 0) this.#allowed.addAddress(entry, family(entry));
      else if (entry !== '') this.#names.add(asInUrls(entry));
    }
  }

  /**
   * How the host of `target` is to be looked up, and for whom; null where it may not be called. A host that is an
   * address is not looked up by anybody, so it is looked at here.
   */
  lookupFor(target: URL, asking: Asking): LookupFunction | null {
    const port = target.port || (target.protocol === 'https:' ? '443' : '80');
    const named = this.#names.has(target.hostname) || this.#names.has(`${target.hostname}:${port}`);
    const address = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !named && !this.#mayCall(address)) return null;
    return (name, options, done) => {
      this.#resolved.find(name, asking, (error, found) => {
        if (error !== null) return done(error, '', 0);
        const fit = tried(named ? found : found.filter((one) => this.#mayCall(one.address)));
        const [first] = fit;
        if (first === undefined) return done(notAllowed(), '', 0);
        if (options.all) done(null, fit);
        else done(null, first.address, first.family);
      });
    };
  }

  #mayCall(address: string): boolean {
    return this.#allowPrivate || isPublic(address) || this.#allowed.check(address, family(address));
  }
}

const closedV4 = subnets(CLOSED_V4);
const openV6 = subnets(OPEN_V6);
const closedV6 = subnets(CLOSED_V6);
const loopback = subnets(['127.0.0.0/8', '::1/128']);

/** Whether an address is one of the public internet. What is no address is not. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !closedV4.check(address, 'ipv4');
  return isIP(address) === 6 && openV6.check(address, 'ipv6') && !closedV6.check(address, 'ipv6');
}

/** Whether a server listening on `host` is heard by this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || loopback.check(host, family(host));
}

/**
 * A host, and its port where it has one, as they stand in a URL: there a name has small letters, and an address one
 * form.
 */
function asInUrls(entry: string): string {
  const [, host, port] = /^(.*?)(:\d+)?$/.exec(entry)!;
  return `${new URL(`http://${host}`).hostname}${port ?? ''}`;
}

function subnets(list: readonly string[]): BlockList {
  const made = new BlockList();
  for (const subnet of list) addSubnet(made, subnet);
  return made;
}

function addSubnet(list: BlockList, subnet: string): void {
  const [, address, bits] = /^(.*)\/(\d+)$/.exec(subnet) ?? [];
  if (address === undefined) throw new RangeError(`${subnet} is no subnet`);
  list.addSubnet(address, Number(bits), family(address));
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Of each family the first few. */
function tried(addresses: Addresses): { address: string; family: number }[] {
  const left = new Map<number, number>();
  return addresses.filter(({ family }) => {
    const count = left.get(family) ?? TRIED_MAX;
    left.set(family, count - 1);
    return count > 0;
  });
}

export function notAllowed(): NodeJS.ErrnoException {
  return Object.assign(new Error(), { code: NOT_ALLOWED });
}
