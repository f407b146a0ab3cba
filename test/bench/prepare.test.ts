/** `npm run bench -- prepare`, and `--help`: what a load of one's own is driven with is taken by a server, each once. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bearer, connect, type Json, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { serverOfTest } from '../support/of-test.ts';
import { slow } from '../support/slow.ts';

const BENCH = fileURLToPath(new URL('../../bench/', import.meta.url));

async function bench(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [join(BENCH, 'index.js'), ...args])).stdout;
}

slow(
  'a server refuses what was prepared for it, or the files do not hold the same; on books that are prepared it fails',
  async () => {
    const server = await serverOfTest();
    const client = connect(server);
    for (const claims of [2, 3]) {
      const out = freshDirectory();
      const sizes = ['--intents', '5', '--claims', String(claims), '--wallets', '4'];
      const said = await bench('prepare', '--url', server.url, '--out', out, ...sizes);
      const bodies = readdirSync(out).find((name) => name.endsWith('.jsonl'))!;
      expect(said).toContain(join(out, bodies));
      const lines = readFileSync(join(out, bodies), 'utf8').trimEnd().split('\n');
      // Half of them for each of wrk's threads, rounded up.
      expect(lines).toHaveLength(6);
      for (const line of lines) {
        const { status, body } = await client.post('/intents', JSON.parse(line), { prefer: 'wait=30' });
        expect([status, body.meta.status, body.data.claims.length]).toEqual([201, 'completed', claims]);
      }
      expect((await client.post('/intents', JSON.parse(lines[0]!))).status).toBe(409);
      const [part] = said.match(/\S+-0(?= 1000 256 10)/)!;
      const lengths = readFileSync(`${part}.lengths`);
      const sum = [0, 4, 8].reduce((before, at) => before + lengths.readUInt32LE(at), 0);
      expect([lengths.length, sum]).toEqual([12, statSync(`${part}.http`).size]);
      expect(readFileSync(`${part}.http`, 'utf8').split('\r\n\r\n')[1]).toContain(lines[0]!);
    }
    const balances = (await client.get('/wallets/wallet-000000/balances')).body.data as Json[];
    expect(balances).toHaveLength(1);
  },
);

test('a moment’s figures are saved, from which charts are drawn', async () => {
  const told = await bench('access', '--smoke', '--save').catch(({ code, stderr }) => [code, stderr]);
  expect(told).toEqual([2, expect.stringContaining('--save: not with --smoke')]);
});

test('the help does not know a bench that there is', async () => {
  const said = await bench('--help');
  const helpers = ['index', 'result', 'svg'];
  const names = readdirSync(BENCH).flatMap((file) => (file.endsWith('.js') ? [file.slice(0, -'.js'.length)] : []));
  expect(names.length).toBeGreaterThan(8);
  expect(
    names.filter((name) => !helpers.includes(name) && !new RegExp(`^ .*\\b${name}\\b|-- ${name}`, 'm').test(said)),
  ).toEqual([]);
});

slow('prepare writes somewhere without a directory, or where no server takes it', async () => {
  const fails = (...args: string[]) => bench('prepare', ...args).catch(({ code, stderr }) => [code, stderr]);
  expect(await fails()).toEqual([2, expect.stringContaining('--out')]);
  const out = join(freshDirectory(), 'load');
  expect(await fails('--out', out, '--url', 'main')).toEqual([2, expect.stringContaining('--url')]);
  const { url } = await serverOfTest();
  const there = url.replace('/v2', '/v3');
  expect(await fails('--out', out, '--url', there)).toEqual([1, expect.stringContaining('404')]);
  const owner = makeKeys();
  const closed = await serverOfTest({ flags: ['--owner', owner.public], headers: bearer(owner) });
  expect(await fails('--out', out, '--url', closed.url)).toEqual([1, expect.stringContaining('not open to all: 403')]);
  await closed.kill();
  expect(await fails('--out', out, '--url', closed.url)).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  expect(existsSync(out)).toBe(false);
});
