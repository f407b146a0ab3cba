/** `ayni send`: whatever ends it, or the server, all lines are in once in the end, and what became of each is told. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { canMount, mountDisk } from '../process/system.ts';
import { dieWithUs } from '../support/children.ts';
import { connect, makeKeys, proof, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, transfer, until } from '../support/kit.ts';
import { answering, serverOfTest } from '../support/of-test.ts';
import { AYNI } from '../support/server.ts';
import { SLOW, slow } from '../support/slow.ts';
import { ayniProcess, makeKeyFile } from './books.ts';
import { answersFile, answersIn, doorTo, enoughAnswers, linesOf, send, startSend } from './senders.ts';

test('the server is killed at work, then the sender is: all is in once, and the last run tells of all lines', async () => {
  const { file, key } = await makeKeyFile();
  const directory = freshDirectory();
  const token = (await ayniProcess('token', '--key', file, '--seconds', '3600')).out.trim();
  const headers = { authorization: `Bearer ${token}` };
  const first = await serverOfTest({ directory, flags: ['--owner', key], headers });
  const door = await doorTo();
  door.leadTo(first);
  const { url } = door;
  const flags = (name: string) => ['--key', file, '--answers', name];

  const symbols = await send('{"handle":"usd","factor":100}', `${url}/symbols`, ...flags(answersFile()));
  expect(symbols).toEqual({
    code: 0,
    out: '1 answered: 1 taken, 0 there already, 0 known from before, 0 refused.\n            1 in\n',
    err: '',
  });
  const count = 300;
  const names = Array.from({ length: count }, (_, index) => `acc-${index}`);
  const wallets = linesOf(names.map((handle) => ({ handle, custom: { text: 'a line\u2028in a text' } })));
  expect((await send(wallets, `${url}/wallets`, ...flags(answersFile()))).code).toBe(0);

  const answers = answersFile();
  const lines = names.map((handle, index) => ({
    handle: `opening-${handle}`,
    claims: [issue(handle, 'usd', index + 1)],
  }));
  const patient = ['--patience', '600', ...flags(answers)];
  const one = startSend(`${url}/intents`, ...patient);
  one.child.stdin!.write(linesOf(lines.slice(0, 100)));
  await until(enoughAnswers(answers, 50));
  await first.kill();
  one.child.stdin!.write(linesOf(lines.slice(100, 200)));
  const second = await serverOfTest({ directory, headers });
  door.leadTo(second);
  await until(enoughAnswers(answers, 150));
  one.child.kill('SIGKILL');
  await one.ran;
  // As if it had been killed while it wrote a line, and as if it had lost one.
  const whole = readFileSync(answers, 'utf8');
  const kept = whole.slice(0, whole.lastIndexOf('\n', whole.length - 2) + 20);
  writeFileSync(answers, kept);

  const known = kept.split('\n').length - 2;
  // The last line has no end.
  const last = await send(linesOf(lines).trimEnd(), `${url}/intents`, ...patient);
  expect([last.code, last.err]).toEqual([0, '']);
  expect(last.out).toMatch(/^300 answered: \d+ taken, [1-9]\d* there already, /);
  expect(last.out).toContain(`${known} known from before, 0 refused.\n          300 completed\n`);
  const owner = connect(second, headers);
  for (const [index, handle] of names.entries()) {
    const balances = await owner.get(`/wallets/${handle}/balances`);
    expect([handle, balances.body.data[0].data.amount]).toEqual([handle, index + 1]);
  }
  // The line that was cut stands alone, between whole ones.
  const torn = readFileSync(answers, 'utf8')
    .split('\n')
    .slice(1, -1)
    .filter((line) => !line.endsWith('}'));
  expect(torn.length).toBe(1);
  const again = await send(linesOf(lines), `${url}/intents`, ...patient);
  expect(again.out).toBe(
    '300 answered: 0 taken, 0 there already, 300 known from before, 0 refused.\n          300 completed\n',
  );
}, 300_000);

test('what is refused, rejected, there or waits is told by line, with why, and refused ones are sent again', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  const flags = (answers: string) => ['--key', file, '--answers', answers];
  await send('{"handle":"usd","factor":100}\n', `${server.url}/symbols`, ...flags(answersFile()));
  await send(linesOf([{ handle: 'ana' }, { handle: 'luz' }]), `${server.url}/wallets`, ...flags(answersFile()));

  const signed = await ayniProcess(
    'sign',
    JSON.stringify({ handle: 'signed', claims: [issue('luz', 'usd', 3)] }),
    '--key',
    file,
  );
  const input = [
    JSON.stringify({ handle: 'first', claims: [issue('ana', 'usd', 5)] }),
    '',
    JSON.stringify({ handle: 'first', claims: [issue('ana', 'usd', 5)] }),
    JSON.stringify({ handle: 'first', claims: [issue('ana', 'usd', 6)] }),
    JSON.stringify({ handle: 'much', claims: [transfer('ana', 'luz', 'usd', 100)] }),
    JSON.stringify({ handle: 'much', claims: [transfer('ana', 'luz', 'usd', 100)] }),
    JSON.stringify({ handle: 'manual', claims: [transfer('ana', 'luz', 'usd', 1)], config: { commit: 'manual' } }),
    signed.out.trim(),
    '[1]',
    JSON.stringify({ handle: 'zero', claims: [issue('ana', 'usd', 0)] }),
  ].join('\r\n');
  const answers = answersFile();
  const ran = await send(input, `${server.url}/intents`, '--width', '1', ...flags(answers));
  expect([ran.code, ran.err]).toEqual([1, '']);
  expect(answersIn(answers).map(({ line, outcome, status, reason }) => [line, outcome, status, reason])).toEqual([
    [1, 'taken', 'completed', null],
    [3, 'there', 'completed', null],
    [4, 'refused', null, 'record.duplicated'],
    [5, 'taken', 'rejected', 'core.insufficient-balance'],
    [6, 'there', 'rejected', 'core.insufficient-balance'],
    [7, 'taken', 'prepared', null],
    [8, 'taken', 'completed', null],
    [9, 'refused', null, 'input.no-object'],
    [10, 'refused', null, 'record.schema-invalid'],
  ]);
  expect(ran.out).toBe(`9 answered: 4 taken, 2 there already, 0 known from before, 3 refused.
            3 completed
            2 rejected   core.insufficient-balance, as line 5 (much): Wallet ana in usd has 5 available, and 100 is needed
            1 refused    record.duplicated, as line 4 (first): A record with handle first already exists
            1 prepared
            1 refused    input.no-object, as line 9: the line is no JSON object
            1 refused    record.schema-invalid, as line 10 (zero): /data/claims/0/amount must be >= 1
`);

  const commit = await ayniProcess(
    'sign',
    '--hash',
    answersIn(answers)[5].hash,
    '--custom',
    '{"action":"commit"}',
    '--key',
    file,
  );
  await connect(server).post('/intents/manual/proofs', JSON.parse(commit.out));
  const again = await send(input, `${server.url}/intents`, '--width', '1', ...flags(answers));
  expect([again.code, again.err]).toEqual([1, '']);
  expect(again.out).toContain('9 answered: 0 taken, 1 there already, 5 known from before, 3 refused.\n');
  expect(answersIn(answers).at(9)).toMatchObject({ line: 4, outcome: 'refused' });
  expect(answersIn(answers).at(10)).toMatchObject({ line: 7, outcome: 'there', status: 'completed' });
});

slow('a server that takes one at a time gets all of them', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest({ flags: ['--inbox-max', '1'] });
  const input = linesOf(Array.from({ length: 40 }, (_, index) => ({ handle: `ana-${index}` })));
  const ran = await send(
    input,
    `${server.url}/wallets`,
    '--key',
    file,
    '--answers',
    answersFile(),
    '--width',
    '8',
    '--patience',
    '600',
  );
  expect([ran.code, ran.out]).toEqual([0, expect.stringMatching(/^40 answered: .* 0 refused\.\n {11}40 in\n$/)]);
});

slow('where nobody answers it ends, says so, and goes on the next time', async () => {
  const { file } = await makeKeyFile();
  const directory = freshDirectory();
  const door = await doorTo();
  const first = await serverOfTest({ directory });
  door.leadTo(first);
  const answers = answersFile();
  const flags = [`${door.url}/wallets`, '--key', file, '--answers', answers, '--patience', '0'];
  expect((await send('{"handle":"ana"}\n', ...flags)).code).toBe(0);
  await first.kill();
  const input = '{"handle":"ana"}\n{"handle":"luz"}\n{"handle":"eva"}\n';
  const ran = await send(input, ...flags, '--width', '1');
  expect(ran.code).toBe(1);
  expect(ran.out).toContain('1 answered: 0 taken, 0 there already, 1 known from before, 0 refused.\n');
  expect(ran.err).toMatch(
    /^ayni: no answer for 0 s \(.+\), to line 2 \(luz\) for one\. What was sent last may be in; the same command again goes on\.\n$/,
  );
  door.leadTo(await serverOfTest({ directory }));
  const again = await send(input, ...flags);
  expect([again.code, again.out]).toEqual([
    0,
    expect.stringContaining('2 taken, 0 there already, 1 known from before'),
  ]);
});

test.skipIf(!canMount('a file of answers on a disk that is full'))(
  'where the file of answers cannot grow it ends, says so, and goes on when there is room',
  SLOW,
  async () => {
    const { file } = await makeKeyFile();
    const server = await serverOfTest();
    const disk = mountDisk('16k');
    onTestFinished(() => disk.remove());
    const answers = join(disk.path, 'answers');
    const input = linesOf(Array.from({ length: 300 }, (_, index) => ({ handle: `ana-${index}` })));
    const flags = [`${server.url}/wallets`, '--key', file, '--answers', answers];
    const ran = await send(input, ...flags);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toMatch(/^ayni: .*answers: ENOSPC.*the same command again goes on\n$/);
    disk.resize('1m');
    const again = await send(input, ...flags);
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/^300 answered: .* 0 refused\.\n {10}300 in\n$/),
    ]);
    expect(again.out).not.toContain(' 0 known from before');
  },
);

/** What stands before a server and always answers so. */
async function proxySaying(status: number, text: string, headers: Record<string, string> = {}): Promise<string> {
  const url = await answering((request, response) => {
    request.resume().once('end', () => response.writeHead(status, headers).end(text));
  });
  return `${url}/v2`;
}

test('what is not the answer of a ledger to this record is none', async () => {
  const { file } = await makeKeyFile();
  const other = { hash: 'ab'.repeat(32), luid: '$wlt.other', data: { handle: 'ana' }, meta: { proofs: [] } };
  const strange: [path: string, status: number, body: string][] = [
    ['wallets', 200, '{"ok":true}'],
    ['intents', 200, '{"ok":true}'],
    ['wallets', 201, JSON.stringify(other)],
    ['wallets', 200, '<html>Log in</html>'],
    ['wallets', 404, 'null'],
  ];
  for (const [path, status, body] of strange) {
    const url = await proxySaying(status, body);
    const answers = answersFile();
    const flags = ['--key', file, '--answers', answers, '--patience', '0'];
    const ran = await send('{"handle":"ana"}\n', `${url}/${path}`, ...flags);
    expect([body, ran.code, ran.out, answersIn(answers)]).toEqual([
      body,
      1,
      expect.stringMatching(/^0 answered: /),
      [],
    ]);
    expect(ran.err).toMatch(/^ayni: no answer for 0 s \(the answer, of status \d+, is /);
  }
});

test('a line that is too large for a proxy is refused, and the others go on', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  for (const text of ['<html>413 Request Entity Too Large</html>', 'null']) {
    const url = await answering((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part) => parts.push(part));
      request.once('end', async () => {
        const body = Buffer.concat(parts);
        if (body.length > 1000) {
          response.writeHead(413).end(text);
          return;
        }
        const headers = { 'content-type': 'application/json' };
        const { status, body: answer } = await post(`${server.url}/wallets`, body, headers);
        response.writeHead(status).end(answer);
      });
    });
    const input = linesOf([
      { handle: 'much', custom: { text: 'x'.repeat(1000) } },
      { handle: `little-${text.length}` },
    ]);
    const ran = await send(input, `${url}/v2/wallets`, '--key', file, '--answers', answersFile());
    expect([ran.code, ran.err]).toEqual([1, '']);
    expect(ran.out).toContain(
      '1 refused    413, as line 1 (much): what stands before the server takes none that is so large\n',
    );
    expect(ran.out).toContain(' 1 in\n');
  }
});

async function post(url: string, body: Buffer, headers: Record<string, string>) {
  const answer = await fetch(url, { method: 'POST', body, headers });
  return { status: answer.status, body: await answer.text() };
}

test('a line that ends its connection by its size is named', async () => {
  const { file } = await makeKeyFile();
  const url = await answering((request) => request.socket.destroy());
  const input = linesOf([{ handle: 'much', custom: { text: 'x'.repeat(5_000_000) } }]);
  const flags = ['--key', file, '--answers', answersFile(), '--patience', '0'];
  const ran = await send(input, `${url}/v2/wallets`, ...flags);
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('), to line 1 (much) for one. What was sent')]);
});

slow('a line of more than 16 MiB is refused, and one with millions of escapes is read', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  const long = JSON.stringify({ handle: 'long', custom: { text: 'x'.repeat(16 * 1024 * 1024) } });
  const escapes = JSON.stringify({ handle: 'escapes', custom: { text: '\n'.repeat(8_000_000) } });
  const answers = answersFile();
  const flags = ['--key', file, '--answers', answers, '--width', '1', '--patience', '0'];
  const ran = await send(`${long}\n{"handle":"ana"}\n${long}`, `${server.url}/wallets`, ...flags);
  expect([ran.code, ran.err]).toEqual([1, '']);
  expect(answersIn(answers).map(({ line, outcome, reason }) => [line, outcome, reason])).toEqual([
    [1, 'refused', 'input.too-long'],
    [2, 'taken', null],
    [3, 'refused', 'input.too-long'],
  ]);
  // The server takes no such body, and may close before it was heard: then the line is named.
  const escaped = await send(`${escapes}\n`, `${server.url}/wallets`, ...flags);
  expect(escaped.code).toBe(1);
  expect(escaped.out + escaped.err).toContain('line 1 (escapes)');
});

test('a directory is no input, and where no line came at all that is said', async () => {
  const { file } = await makeKeyFile();
  const flags = ['http://127.0.0.1:1/v2/wallets', '--key', file, '--answers', answersFile()];
  const fd = openSync(freshDirectory(), 'r');
  onTestFinished(() => closeSync(fd));
  const child = spawn(process.execPath, [AYNI, 'send', ...flags], { stdio: [fd, 'pipe', 'pipe'] });
  dieWithUs(child);
  const ended = new Promise((resolve) => child.once('close', resolve));
  expect([await text(child.stdout!), await text(child.stderr!), await ended]).toEqual([
    '',
    'ayni: standard input: is a directory, and no file\n',
    2,
  ]);
  for (const input of ['', '\n  \n']) {
    const ran = await send(input, ...flags);
    expect(ran).toMatchObject({ code: 0, err: 'ayni: no line came: standard input had nothing\n' });
  }
});

test('a mark of the byte order ahead of the first line is none of it', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  const flags = [`${server.url}/wallets`, '--key', file, '--answers', answersFile(), '--width', '1'];
  const ran = await send('\ufeff{"handle":"ana"}\n\ufeff{"handle":"luz"}\n', ...flags);
  expect([ran.code, ran.err]).toEqual([1, '']);
  expect(ran.out).toContain('2 answered: 1 taken, 0 there already, 0 known from before, 1 refused.\n');
  expect(ran.out).toContain('input.no-object, as line 2: ');
});

test('why an intent was rejected is told by the server’s word alone', async () => {
  const { file } = await makeKeyFile();
  const [client, server, bank] = [makeKeys(), makeKeys(), makeKeys()];
  const luid = '$int.0123456789abcdefg';
  const { hash, data, meta } = record({ handle: 'paid', claims: [] }, client, [{ status: 'created' }]);
  const proofs = [
    ...meta.proofs,
    proof(hash, server, { luid, status: 'pending' }),
    proof(hash, bank, { status: 'failed', reason: 'bridge.account-none', detail: 'not true' }),
    proof(hash, server, { luid, status: 'failed', reason: 'core.bridge-prepare-failed', failId: 'x', detail: 'it is' }),
  ];
  const stored = { hash, luid, data, meta: { proofs, status: 'rejected' } };
  const url = await proxySaying(201, JSON.stringify(stored));
  const answers = answersFile();
  await send(`${JSON.stringify(data)}\n`, `${url}/intents`, '--key', file, '--answers', answers, '--patience', '0');
  expect(answersIn(answers)).toMatchObject([
    { outcome: 'taken', status: 'rejected', reason: 'core.bridge-prepare-failed', detail: 'x: it is' },
  ]);
});

test('what others say of a line makes no line of its own', async () => {
  const { file } = await makeKeyFile();
  const said = { reason: 'core.x\u001b[2K', detail: 'no\n            1 completed' };
  for (const status of [422, 503]) {
    const url = await proxySaying(status, JSON.stringify({ data: said, meta: { proofs: [] } }));
    const flags = ['--key', file, '--answers', answersFile(), '--patience', '0'];
    const { out, err } = await send('{"handle":"ana"}\n', `${url}/intents`, ...flags);
    const [told, lines] = status === 422 ? [out, 2] : [err, 1];
    expect(told.split('\n')).toHaveLength(lines + 1);
    expect(told).toMatch(/core\.x\\u001b\[2K.* no\\u000a {12}1 completed/);
  }
});

test('nobody makes it wait for longer than its patience', async () => {
  const { file } = await makeKeyFile();
  const envelope = JSON.stringify({ data: { reason: 'api.unexpected-error' }, meta: { proofs: [] } });
  const url = await proxySaying(503, envelope, { 'retry-after': '86400' });
  const ran = await send(
    '{"handle":"ana"}\n',
    `${url}/wallets`,
    ...['--key', file, '--answers', answersFile(), '--patience', '1'],
  );
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('no answer for 1 s')]);
});

test('it ends where each look at what is noted meets a failure: it asked for ever, and said nothing', async () => {
  const { file } = await makeKeyFile();
  let asked = 0;
  const url = await answering(({ url: path }, response) => {
    if (++asked % 10 === 0) return void response.writeHead(502).end('<html>Bad gateway</html>');
    const luid = decodeURIComponent(path!.split('/').at(-1)!);
    response.end(JSON.stringify({ hash: '', luid, data: {}, meta: { status: 'completed', proofs: [] } }));
  });
  const answers = answersFile();
  const known = Array.from({ length: 40 }, (_, n) => {
    const luid = `$int.${String(n).padStart(17, '0')}`;
    return { line: n + 1, handle: `i${n}`, hash: `${n}`, luid, outcome: 'taken', status: 'completed' };
  });
  writeFileSync(answers, linesOf([{ url: `${url}/v2/intents`, ledger: 'main' }, ...known]));
  const ran = await send('', `${url}/v2/intents`, '--key', file, '--answers', answers, '--patience', '1');
  expect([ran.code, ran.err]).toEqual([
    1,
    expect.stringMatching(/^ayni: no answer for 1 s \(of what is asked for together/),
  ]);
});

test('it ends where nobody answers, though its input goes on', async () => {
  const { file } = await makeKeyFile();
  const { child, ran } = startSend(
    'http://127.0.0.1:1/v2/wallets',
    ...['--key', file, '--answers', answersFile(), '--patience', '0'],
  );
  child.stdin!.write('{"handle":"ana"}\n');
  expect((await ran).code).toBe(1);
});

test('what JSON would read otherwise than it is written is not signed', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  const unclear = [
    '{"handle":"a","custom":{"account":12345678901234567890}}',
    '{"handle":"b","custom":{"rate":1.00000000000000000001}}',
    '{"handle":"c","custom":{"much":1e999}}',
    '{"handle":"d","handle":"e"}',
    '{"handle":"f","custom":{"a":[{"b":1,"\\u0062":2}]}}',
  ];
  const clear = [
    '{"handle":"g","custom":{"a:1":"1e999, 12345678901234567890 \\" : ","b":[-0.50, 1e21, 0.0, 10, 1.5e-7, 0.30000000000000004]}}',
    '{"handle":"h","custom":{"__proto__":{"a":9007199254740991},"n":-1}}',
  ];
  const answers = answersFile();
  const flags = [`${server.url}/wallets`, '--key', file, '--answers', answers, '--width', '1'];
  const ran = await send([...unclear, ...clear].join('\n'), ...flags);
  expect(answersIn(answers).map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ...unclear.map(() => ['refused', 'input.unclear']),
    ...clear.map(() => ['taken', null]),
  ]);
  expect(ran.code).toBe(1);
  for (const data of unclear) {
    const signed = await ayniProcess('sign', data, '--key', file);
    expect([signed.code, signed.out]).toEqual([2, '']);
  }
});

test('a signed record is known by its data, whatever it says that its hash is', async () => {
  const { file } = await makeKeyFile();
  const server = await serverOfTest();
  const flags = [`${server.url}/wallets`, '--key', file, '--answers', answersFile()];
  const signed = JSON.parse((await ayniProcess('sign', '{"handle":"ana"}', '--key', file)).out);
  expect((await send(JSON.stringify(signed), ...flags)).code).toBe(0);
  const edited = { ...signed, data: { handle: 'luz' } };
  const ran = await send(JSON.stringify(edited), ...flags);
  expect([ran.code, ran.out]).toEqual([1, expect.stringContaining('crypto.hash-invalid, as line 1 (luz)')]);
});

slow('of an intent that its sender may not read it is not said that it came to its end', async () => {
  const { file, key } = await makeKeyFile();
  const poster = await makeKeyFile();
  const server = await serverOfTest();
  const access = [
    { action: 'any', record: 'any', signer: { public: key } },
    { action: 'any', record: 'any', bearer: { $signer: { public: key } } },
    { action: 'access', record: 'any', bearer: { $signer: { public: poster.key } } },
    { action: 'create', record: 'intent', bearer: { $signer: { public: poster.key } } },
  ];
  const ledger = await ayniProcess('sign', JSON.stringify({ handle: 'closed', access }), '--key', file);
  const made = await connect(server).post('/ledgers', JSON.parse(ledger.out));
  expect([made.status, made.body.data]).toEqual([201, expect.any(Object)]);
  const intent = linesOf([{ handle: 'much', claims: [issue('nobody', 'usd', 5)] }]);
  const post = (answers: string) => {
    return send(intent, `${server.url}/intents`, ...['--ledger', 'closed', '--key', poster.file, '--answers', answers]);
  };
  expect((await post(answersFile())).out).toContain('1 answered: 1 taken');
  const answers = answersFile();
  for (const _ of ['once', 'again']) {
    const ran = await post(answers);
    expect([ran.code, ran.out]).toEqual([
      1,
      `1 answered: 0 taken, 1 there already, 0 known from before, 0 refused.\n            1 unknown\n`,
    ]);
  }
});

/** Of a ledger. */
const LUID = '$ldg.0f1lP0000000000ab';

slow('what cannot be used is named, and nothing is sent', async () => {
  const { file } = await makeKeyFile();
  const url = 'http://127.0.0.1:1/v2/wallets';
  const [other, strange] = [answersFile(), answersFile()];
  writeFileSync(other, '{"url":"http://127.0.0.1:2/v2/wallets","ledger":"main"}\n');
  writeFileSync(strange, '{"handle":"ana"}\n');
  const cases: [says: string, ...args: string[]][] = [
    ['one <url>', '--answers', answersFile()],
    ['<url>: must be where records are made', 'http://127.0.0.1:1/v2', '--answers', answersFile()],
    ['<url>: must be where records are made', '127.0.0.1:1/v2/wallets', '--answers', answersFile()],
    ['<url>: must be where records are made', 'http://127.0.0.1:1/v2/ledgers', '--answers', answersFile()],
    ['<url>: must be where records are made', 'http://me:word@127.0.0.1:1/v2/wallets', '--answers', answersFile()],
    ['--answers: a file', url],
    ['--answers: must not be empty', url, '--answers', ''],
    [`${other} is of ledger main at http://127.0.0.1:2/v2/wallets`, url, '--answers', other],
    [`${strange} is no file of answers`, url, '--answers', strange],
    ['/dev/full is no file', url, '--answers', '/dev/full'],
    ['--width', url, '--answers', answersFile(), '--width', '0'],
    ['--ledger: must be the handle of a ledger', url, '--answers', answersFile(), '--ledger', 'caf\u20ac'],
    ['--ledger: must be the handle of a ledger', url, '--answers', answersFile(), '--ledger', ''],
    ['--ledger: must be the handle of a ledger', url, '--answers', answersFile(), '--ledger', 'x'.repeat(129)],
    ["--ledger: must be the ledger's handle, not its luid", url, '--answers', answersFile(), '--ledger', LUID],
    ['--patience', url, '--answers', answersFile(), '--patience', 'long'],
  ];
  for (const [says, ...args] of cases) {
    const ran = await send('{"handle":"ana"}\n', ...args, '--key', file);
    expect([args, ran.code, ran.out]).toEqual([args, 2, '']);
    expect(ran.err).toContain(says);
  }
  expect(readFileSync(strange, 'utf8')).toBe('{"handle":"ana"}\n');
  for (const [ledger, says] of [
    ['caf\u20ac', 'must be the handle of a ledger'],
    [LUID, "must be the ledger's handle, not its luid"],
  ] as const) {
    const token = await ayniProcess('token', '--key', file, '--ledger', ledger);
    expect([token.code, token.out, token.err]).toEqual([2, '', expect.stringContaining(`--ledger: ${says}`)]);
  }
  const byLuid = await send('\n', url, '--answers', answersFile(), '--ledger', LUID);
  expect(byLuid.code).toBe(0);
  const unsigned = await send('{"handle":"ana"}\n', url, '--answers', answersFile());
  expect([unsigned.code, unsigned.out]).toEqual([
    1,
    expect.stringContaining('input.not-signed, as line 1: the line is not signed'),
  ]);
});
