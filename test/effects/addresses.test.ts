/**
 * Which addresses are called and which are not: each closed network at both its ends, names that lead there, and the
 * ways an operator opens one.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { Guard, isLoopback, isPublic } from '../../src/effects/addresses.ts';
import { Lanes } from '../../src/effects/lanes.ts';
import type { Found, Resolve } from '../../src/effects/names.ts';
import type { Answer, OutgoingOptions } from '../../src/effects/outgoing.ts';
import { realTimers } from '../../src/effects/timers.ts';
import { pause, until } from '../support/kit.ts';
import { noDefect } from './lanes-world.ts';
import { open, serve } from './others.ts';

const NOT_ALLOWED = { error: 'address not allowed' };

/** Calls `url` from a server that listens for everybody. */
function call(url: string, options: Partial<OutgoingOptions> = {}): Promise<Answer> {
  const outgoing = open({ allowPrivate: false, ...options });
  return outgoing.call({ method: 'POST', url, body: '{}', secure: [] });
}

/** A name server that says what it is told, and counts the questions. */
function answering(...answers: string[][]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (name, done) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)]!;
    asked.push(name);
    setImmediate(() =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  };
  return Object.assign(resolve, { asked });
}

describe('an address', () => {
  test.each([
    ['this network', '0.0.0.0', '0.255.255.255'],
    ['private', '10.0.0.0', '10.255.255.255'],
    ['carrier-grade NAT', '100.64.0.0', '100.127.255.255'],
    ['loopback', '127.0.0.0', '127.255.255.255'],
    ['link-local, with the metadata of clouds', '169.254.0.0', '169.254.255.255'],
    ['private', '172.16.0.0', '172.31.255.255'],
    ['protocol assignments', '192.0.0.0', '192.0.0.255'],
    ['documentation', '192.0.2.0', '192.0.2.255'],
    ['6to4 relays', '192.88.99.0', '192.88.99.255'],
    ['private', '192.168.0.0', '192.168.255.255'],
    ['benchmarks', '198.18.0.0', '198.19.255.255'],
    ['documentation', '198.51.100.0', '198.51.100.255'],
    ['documentation', '203.0.113.0', '203.0.113.255'],
    ['multicast, reserved, broadcast', '224.0.0.0', '255.255.255.255'],
    ['unspecified, loopback, IPv4-compatible and -mapped', '::', '::ffff:ffff:ffff'],
    ['loopback', '::1', '::1'],
    ['mapped though public', '::ffff:8.8.8.8', '::ffff:1.1.1.1'],
    ['NAT64', '64:ff9b::', '64:ff9b::ffff:ffff'],
    ['discard', '100::', '100::ffff:ffff:ffff:ffff'],
    ['Teredo and protocol assignments', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['6to4', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['documentation', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['what is given to nobody yet', '4000::', 'fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['link-local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['no address at all', 'localhost', ''],
  ])('%s: %s to %s is not called', (_, first, last) => {
    expect([isPublic(first), isPublic(last)]).toEqual([false, false]);
  });

  test.each([
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2000::',
    '2001:200::',
    '2001:db7:ffff::',
    '2001:db9::',
    '2003::',
    '2606:4700::1111',
    '3ffe:ffff::',
    '3fff:1000::',
  ])('%s is called', (address) => {
    expect(isPublic(address)).toBe(true);
  });
});

test('what is heard by this machine alone', () => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])
    expect(isLoopback(host), host).toBe(true);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'bank.example', '', '128.0.0.1', '::2', '127.0.0.1.example']) {
    expect(isLoopback(host), host).toBe(false);
  }
});

describe('a URL', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '017700000001',
    '0.0.0.0',
    '0',
    '10.1.2.3',
    '169.254.169.254',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::7f00:1]',
    '[64:ff9b::7f00:1]',
    '[fe80::1]',
    '[fd00::1]',
  ])('with the address %s is refused', async (host) => {
    const { port, seen } = await serve((_, response) => response.end());
    expect(await call(`http://${host}:${port}/`)).toEqual(NOT_ALLOWED);
    expect(await call(`https://${host}:${port}/`)).toEqual(NOT_ALLOWED);
    expect(seen).toEqual([]);
  });

  test('with a name that leads here is refused', async () => {
    const { port, seen } = await serve((_, response) => response.end());
    for (const name of ['localhost', 'LocalHost']) expect(await call(`http://${name}:${port}/`)).toEqual(NOT_ALLOWED);
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '169.254.169.254']) {
      expect(await call(`http://bank.example:${port}/`, { resolve: answering([address]) })).toEqual(NOT_ALLOWED);
    }
    expect(seen).toEqual([]);
  });

  test('is not looked up a second time: what was looked at is what is called', async () => {
    const { port, seen } = await serve((_, response) => response.end());
    // The first answer may be called and leads to nobody, each later one leads here.
    const resolve = answering(['127.0.0.2'], ['127.0.0.1']);
    const answer = await call(`http://bank.example:${port}/`, { resolve, callsAllow: '127.0.0.2', callMsMax: 500 });
    expect(answer).toHaveProperty('error');
    expect(answer).not.toEqual(NOT_ALLOWED);
    expect(resolve.asked).toEqual(['bank.example']);
    expect(seen).toEqual([]);
  });

  test('of many addresses only those that may be called are tried', async () => {
    const { port, seen } = await serve((_, response) => response.end());
    const resolve = answering(['127.0.0.1', '127.0.0.2']);
    const options = { resolve, callsAllow: '127.0.0.2', callMsMax: 500 };
    const answer = await call(`http://bank.example:${port}/`, options);
    expect(answer).not.toEqual({ status: 200 });
    expect(answer).not.toEqual(NOT_ALLOWED);
    expect(seen).toEqual([]);
  });

  test('whose name leads to thousands of addresses is called at the first of them: where each failed at once, the stack was full and the process ended', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `fe80::${(n + 1).toString(16)}`);
    const outgoing = { resolve: answering(many(6000)), allowPrivate: true, callMsMax: 500 };
    expect(await call('http://bank.example/', outgoing)).toHaveProperty('error');
    const resolve = answering([...many(100), '127.0.0.1', '127.0.0.2']);
    const guard = new Guard({ allowPrivate: true, callsAllow: '', resolve });
    const asking = { party: '', signal: new AbortController().signal };
    const lookup = guard.lookupFor(new URL('http://bank.example/'), asking)!;
    const found = await new Promise((done) => lookup('bank.example', { all: true }, (_, all) => done(all)));
    expect(found).toMatchObject([...many(8), '127.0.0.1', '127.0.0.2'].map((address) => ({ address })));
  });

  test('whose name is not known, or not in time', async () => {
    const unknown: Resolve = (_, done) => done(Object.assign(new Error('secret'), { code: 'ENOTFOUND' }), []);
    expect(await call('http://bank.example/', { resolve: unknown })).toEqual({ error: 'connection failed: ENOTFOUND' });
    expect(await call('http://bank.example/', { resolve: answering([]) })).toEqual(NOT_ALLOWED);
    const silent = { resolve: () => {}, callMsMax: 100 };
    expect(await call('http://bank.example/', silent)).toEqual({ error: 'no answer within 100 ms' });
  });

  test('is looked up before the many of another party of the lanes, which all were before it', async () => {
    const asked: { name: string; done: Found }[] = [];
    const { call } = open({ resolve: (name, done) => asked.push({ name, done }) });
    const lanes = new Lanes({ timers: realTimers, call, inFlightMax: 100, attemptsMax: 1, defect: noDefect });
    onTestFinished(() => lanes.close());
    const add = (name: string, party: string) => {
      const make = () => ({ method: 'POST', url: `http://${name}/`, body: '{}', secure: [] });
      lanes.add(name, 1, { key: 0, receiver: 0, make, settled: () => {} }, party);
    };
    for (let n = 0; n < 9; n++) add(`dead${n}.example`, 'events of eve');
    await until(() => lanes.counts().inFlight === 9);
    // One fetches a token first, whose name is looked up for the same party.
    const make = () => ({ method: 'POST', url: 'http://bank.example/', body: '{}', secure: [credentials] });
    const credentials = { schema: 'oauth2', tokenUrl: 'http://token.example/', clientId: 'a', clientSecret: 'b' };
    lanes.add('token', 1, { key: 0, receiver: 0, make, settled: () => {} }, 'bridges of luz');
    add('bank.example', 'bridges of ana');
    await until(() => lanes.counts().inFlight === 11);
    await pause(50);
    for (const { done } of asked.splice(0)) done(Object.assign(new Error(), { code: 'ENOTFOUND' }), []);
    expect(asked.map(({ name }) => name).sort()).toEqual(['bank.example', 'token.example']);
  });

  test('is asked for once, however many calls wait for it', async () => {
    const { port, seen } = await serve((_, response) => response.writeHead(200, { connection: 'close' }).end());
    const resolve = answering(['127.0.0.1']);
    const outgoing = open({ resolve });
    const url = `http://bank.example:${port}/`;
    const calls = [1, 2, 3].map(() => outgoing.call({ method: 'POST', url, body: '{}', secure: [] }));
    expect(await Promise.all(calls)).toEqual([{ status: 200 }, { status: 200 }, { status: 200 }]);
    expect(resolve.asked).toHaveLength(1);
    expect(seen[0]!.headers.host).toBe(`bank.example:${port}`);
    // Another connection is another question.
    expect(await outgoing.call({ method: 'POST', url, body: '{}', secure: [] })).toEqual({ status: 200 });
    expect(resolve.asked).toHaveLength(2);
  });
});

describe('the operator opens', () => {
  test.each([
    ['everything', '127.0.0.1', { allowPrivate: true }],
    ['an address', '127.0.0.1', { callsAllow: '10.0.0.1, 127.0.0.1' }],
    ['an address, for a name', 'localhost', { callsAllow: '127.0.0.1' }],
    ['an address, however it is written', '2130706433', { callsAllow: '127.0.0.1' }],
    ['a subnet', '127.0.0.1', { callsAllow: '127.0.0.0/8' }],
    ['a subnet, for a name', 'localhost', { callsAllow: '127.0.0.0/30' }],
    ['a name', 'localhost', { callsAllow: 'other,LOCALHOST' }],
    ['a name with this port', 'localhost', { callsAllow: 'localhost:PORT' }],
    ['an address with this port', '127.0.0.1', { callsAllow: '127.0.0.1:PORT' }],
    ['an address with this port, however it is written', '127.0.0.1', { callsAllow: '127.1:PORT' }],
  ])('%s', async (_, host, options: Partial<OutgoingOptions>) => {
    const { port, seen } = await serve((_seen, response) => response.end());
    const callsAllow = (options.callsAllow ?? '').replace('PORT', `${port}`);
    expect(await call(`http://${host}:${port}/`, { ...options, callsAllow })).toEqual({ status: 200 });
    expect(seen).toHaveLength(1);
  });

  const mayCallBy = (callsAllow: string) => {
    const guard = new Guard({ allowPrivate: false, callsAllow, resolve: () => {} });
    const asking = { party: '', signal: new AbortController().signal };
    return (url: string) => guard.lookupFor(new URL(url), asking) !== null;
  };

  test('an IPv6 address with this port, however it is written', () => {
    const mayCall = mayCallBy('[FD00:0:0:0::1]:8080');
    expect(mayCall('http://[fd00::1]:8080/')).toBe(true);
    expect(mayCall('http://[fd00:0:0:0::1]:8080/')).toBe(true);
    expect(mayCall('http://[fd00::1]/')).toBe(false);
    expect(mayCall('http://[fd00::2]:8080/')).toBe(false);
  });

  test('the port that a URL need not say, by its scheme; and of the public internet nothing need be opened', () => {
    const urls = ['http', 'https'].flatMap((scheme) => [`${scheme}://10.0.0.1/`, `${scheme}://10.0.0.2/`]);
    expect(urls.filter(mayCallBy('10.0.0.1:443,10.0.0.2:80'))).toEqual(['http://10.0.0.2/', 'https://10.0.0.1/']);
    expect(['http://8.8.8.8/', 'http://10.0.0.1/', 'http://[2606:4700::1]/'].map(mayCallBy(''))).toEqual([
      true,
      false,
      true,
    ]);
  });

  test.each([
    ['another address', '127.0.0.1', '127.0.0.2'],
    ['another subnet', '127.0.0.1', '127.0.0.2/31'],
    ['another name', 'localhost', 'localhos,ocalhost,xlocalhost'],
    ['another port', 'localhost', 'localhost:1'],
    ['the name, not the address it has', '127.0.0.1', 'localhost'],
    ['the port it would have had', 'localhost', 'localhost:80'],
    ['nothing', 'localhost', ' , ,'],
  ])('%s: refused all the same', async (_, host, callsAllow) => {
    const { port, seen } = await serve((_seen, response) => response.end());
    expect(await call(`http://${host}:${port}/`, { callsAllow })).toEqual(NOT_ALLOWED);
    expect(seen).toEqual([]);
  });

  test('a subnet that is none: said at the start', () => {
    for (const callsAllow of ['10.0.0.0/33', 'x/8', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/0x8'])
      expect(() => open({ callsAllow })).toThrow();
  });
});
