/** `ayni sign` and `ayni token`: what curl sends is taken, and what they cannot use is named. */
import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { connect, type Json } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { serverOfTest } from '../support/of-test.ts';
import { AYNI } from '../support/server.ts';
import { slow } from '../support/slow.ts';
import { ayniProcess, makeKeyFile } from './books.ts';

async function printed(...args: string[]): Promise<string> {
  const { code, out, err } = await ayniProcess(...args);
  expect([code, err]).toEqual([0, '']);
  return out.trim();
}

test('what it signs makes records, and a proof more moves an intent; its token reads where rules ask for one', async () => {
  const { file, key } = await makeKeyFile();
  const headers = { authorization: `Bearer ${await printed('token', '--key', file)}` };
  const server = await serverOfTest({ flags: ['--owner', key], headers });
  const stranger = connect(server);
  const make = async (kind: string, data: Json) => {
    const sent = JSON.parse(await printed('sign', JSON.stringify(data), '--key', file));
    return (await stranger.post(`/${kind}`, sent)).body;
  };
  await make('symbols', { handle: 'usd', factor: 100 });
  // The text is told by its canonical form, whatever its members' order, and not only ASCII.
  const wallet = await make('wallets', { handle: 'ana', custom: { name: 'Añá 🌽', b: 1.5, a: null } });
  expect(wallet.data.custom.name).toBe('Añá 🌽');
  const issue = { action: 'issue', target: 'ana', symbol: 'usd', amount: 5 };
  const intent = await make('intents', { handle: 'pay', claims: [issue], config: { commit: 'manual' } });

  const owner = connect(server, headers);
  expect((await stranger.get('/intents/pay')).status).toBe(403);
  expect((await owner.get('/intents/pay')).body.meta.status).toBe('prepared');
  const elsewhere = await printed('token', '--key', file, '--ledger', 'other');
  expect((await connect(server, { authorization: `Bearer ${elsewhere}` }).get('/wallets')).status).toBe(401);

  const proof = await printed('sign', '--hash', intent.hash, '--custom', '{"action":"commit"}', '--key', file);
  expect((await stranger.post('/intents/pay/proofs', JSON.parse(proof))).body.meta.status).toBe('completed');
});

test('a token ends when it was told to', async () => {
  const { file } = await makeKeyFile();
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
  const { iat, exp } = claimsOf(await printed('token', '--key', file, '--seconds', '7'));
  expect(exp - iat).toBe(7);
});

test('the data comes by standard input where it is not given', async () => {
  const { file } = await makeKeyFile();
  const child = spawn(process.execPath, [AYNI, 'sign', '--key', file]);
  child.stdin.end('{"handle":\n"ana"}');
  expect(JSON.parse(await text(child.stdout)).data).toEqual({ handle: 'ana' });
});

slow('a key comes through a pipe too, by whatever name the shell gives it, and what is no key is named', async () => {
  const { file, key } = await makeKeyFile();
  const damaged = join(freshDirectory(), 'damaged.json');
  const { secret } = JSON.parse(await printed('keygen'));
  writeFileSync(damaged, JSON.stringify({ format: 'ed25519-raw', public: key, secret }), { mode: 0o600 });
  const sign = async (source: string) => {
    const script = `"$0" "$1" sign '{"handle":"ana"}' --key <(${source})`;
    const child = spawn('bash', ['-c', script, process.execPath, AYNI, file, damaged]);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(err).not.toContain('secret":');
    return [out, err] as const;
  };
  const [out, err] = await sign('cat "$2"');
  expect([JSON.parse(out).meta.proofs[0].public, err]).toEqual([key, '']);
  const cases: [source: string, says: string][] = [
    ['true', 'gives no key'],
    ['head -c 5000 /dev/zero', 'gives more than a key'],
    ['head -c 40 "$2"', 'is damaged'],
    ['cat "$3"', 'do not belong together'],
  ];
  for (const [source, says] of cases) expect(await sign(source)).toEqual(['', expect.stringContaining(says)]);
});

slow('what cannot be used is named, and no secret is shown', async () => {
  const { file } = await makeKeyFile();
  const open = join(freshDirectory(), 'open.json');
  writeFileSync(open, await printed('keygen'));
  chmodSync(open, 0o644);
  const cases: [code: number, says: string, ...args: string[]][] = [
    [2, 'keygen --out', 'sign', '{}'],
    [2, 'keygen --out', 'token'],
    [2, '<data>: must be a JSON object', 'sign', '[]', '--key', file],
    [2, '<data>: is the key itself', 'sign', readFileSync(file, 'utf8'), '--key', file],
    [2, '--custom: must be a JSON object', 'sign', '{}', '--custom', 'commit', '--key', file],
    [2, '--hash: must be 64 hex digits', 'sign', '--hash', 'abc', '--key', file],
    [2, 'one <data>, or --hash', 'sign', '{}', '--hash', 'a'.repeat(64), '--key', file],
    [2, '--seconds', 'token', '--seconds', '0', '--key', file],
    [2, '--ledger', 'token', '--ledger', '', '--key', file],
    [1, 'does not exist', 'sign', '{}', '--key', `${file}.gone`],
    [1, `chmod 600 ${open}`, 'sign', '{}', '--key', open],
  ];
  for (const [code, says, ...args] of cases) {
    const ran = await ayniProcess(...args);
    expect([args, ran.code, ran.out]).toEqual([args, code, '']);
    expect(ran.err).toContain(says);
    expect(ran.err).not.toContain('secret":');
  }
});
