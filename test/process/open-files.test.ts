/**
 * A process may have only so many files open, and every connection is one. The real process must keep what it needs for
 * the journal and snapshots, whoever comes: a flood of silent connections once took the last, and the next segment ended
 * the server.
 */
import { connect as dial, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';
import { type Fitted, filesMax, fitOpenFiles } from '../../src/open-files.ts';
import { clientOf, crowd, judge } from '../engine/process.ts';
import { makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { makeKit, until } from '../support/kit.ts';
import { launch } from '../support/server.ts';

const config = (...flags: string[]) => readConfig(['--workers', '1', ...flags], {});

/** What the process may have open at the same time, its own files apart. */
const outside = ({ config, connectionsCutMax }: Fitted) => connectionsCutMax + 2 * config.callsInFlightMax;

describe('connections and calls', () => {
  test.each([null, 1_048_576, 20_648])('where %s files may be open: as configured, and not a word', (limit) => {
    const given = config();
    expect(fitOpenFiles(given, limit)).toEqual({ config: given, connectionsCutMax: 20_000, note: null });
  });

  test.each([13_148, 16_000, 20_647])('where %i may be open: as configured, and the next are cut sooner', (limit) => {
    const fitted = fitOpenFiles(config(), limit);
    expect([fitted.config, fitted.note, outside(fitted)]).toEqual([config(), null, limit - 136]);
    expect(fitted.connectionsCutMax).toBeGreaterThanOrEqual(12_500);
  });

  test.each([152, 256, 1024, 4096, 13_147])('where %i may be open: they leave the server its own', (limit) => {
    const fitted = fitOpenFiles(config(), limit);
    const { connectionsMax, callsInFlightMax } = fitted.config;
    expect(outside(fitted)).toBeLessThanOrEqual(limit - 136);
    expect(Math.min(connectionsMax, callsInFlightMax)).toBeGreaterThan(0);
    expect(fitted.connectionsCutMax).toBeGreaterThan(connectionsMax);
    expect(fitted.note).toContain(`may have ${limit} files open (ulimit -n)`);
    expect(fitted.note).toContain(`${connectionsMax} connections at once, not 10000`);
    expect(fitted.note).toContain('It needs 13148');
    expect(fitted.note!.includes('calls')).toBe(callsInFlightMax < 256);
    expect({ ...fitted.config, connectionsMax: 10_000, callsInFlightMax: 256 }).toEqual(config());
  });

  test('that are configured to be few enough stay as they are', () => {
    const given = config('--connections-max', '100', '--calls-in-flight-max', '10');
    expect(fitOpenFiles(given, 1024)).toEqual({ config: given, connectionsCutMax: 200, note: null });
  });

  test('a limit that leaves nothing is told, and how far it must be raised', () => {
    expect(() => fitOpenFiles(config('--workers', '16'), 200)).toThrow(ConfigError);
    expect(() => fitOpenFiles(config('--workers', '16'), 200)).toThrow(/200 files .*ulimit -n.* at least 272/);
  });

  test.runIf(process.platform === 'linux')('the limit is that of this process', () => {
    expect(filesMax()).toBeGreaterThan(100);
  });
});

test.runIf(process.platform === 'linux')(
  'connections that say nothing take no file that a snapshot or segment needs',
  async () => {
    const path = freshDirectory();
    const flags = ['--segment-bytes-max', '8192'];
    const server = await launch(path, { before: 'ulimit -n 256', flags });
    onTestFinished(async () => {
      if (server.child.kill('SIGKILL')) await server.ended;
    });
    const client = await clientOf(server);
    const kit = makeKit(client, makeKeys());
    const [wallet, symbol] = [await kit.wallet(), await kit.symbol()];
    const before = crowd(server.url, 4, wallet, symbol);
    await before.acknowledged(20);
    await before.end(true);

    const settled = new Set<Socket>();
    const flood = Array.from({ length: 300 }, () => {
      const socket = dial(Number(new URL(server.url).port), '127.0.0.1');
      for (const event of ['connect', 'error', 'close']) socket.on(event, () => settled.add(socket));
      return socket;
    });
    onTestFinished(() => flood.forEach((socket) => void socket.destroy()));
    await until(() => settled.size === flood.length);
    server.child.kill('SIGUSR2');
    const [told] = await until(() => /Took snapshot|The disk failed.*/.exec(server.log()));
    expect(told).toBe('Took snapshot');

    expect(server.log()).toContain('may have 256 files open');
    for (const socket of flood) socket.destroy();
    await until(async () => (await fetch(`${server.url}/head`)).status === 200);
    const after = crowd(server.url, 4, wallet, symbol);
    await after.acknowledged(40);
    await after.end(true);
    await judge(client, [...before.sent, ...after.sent], wallet, symbol);
  },
);

test.runIf(process.platform === 'linux')(
  'that there are fewer than asked for was not told where only trouble is: connections were refused, and nobody knew why',
  async () => {
    const flags = ['--log-level', 'error'];
    const server = await launch(freshDirectory(), { before: 'ulimit -n 256', flags });
    onTestFinished(async () => {
      if (server.child.kill('SIGKILL')) await server.ended;
    });
    await until(() => server.log().includes('may have 256 files open'), server.log);
  },
);
