/**
 * The page that checks a record in a browser: one file that asks nobody and runs one script; and in a real browser, from
 * a disk and from a web server, it says what check-story.py says, and makes no markup of what a file says.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkerPage } from '../../src/cli/checker.ts';
import { Kind } from '../../src/core/kinds.ts';
import { type Browser, hasBrowser, startBrowser, type Tab } from '../support/browser.ts';
import { connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit } from '../support/kit.ts';
import { answering } from '../support/of-test.ts';
import { startServer } from '../support/server.ts';
import { storyText } from '../support/stories.ts';
import { ayniProcess } from './books.ts';

const hashOf = (text: string, encoding: 'hex' | 'base64') => createHash('sha256').update(text).digest(encoding);

describe('the page', () => {
  const page = checkerPage();
  const [, script] = /<script>(.*)<\/script>/s.exec(page)!;
  const [, style] = /<style>(.*?)<\/style>/s.exec(page)!;

  test('runs the one script that its policy names, and may load nothing', () => {
    const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)!;
    expect(policy!.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      `script-src 'sha256-${hashOf(script!, 'base64')}'`,
      `style-src 'sha256-${hashOf(style!, 'base64')}'`,
      "trusted-types 'none'",
    ]);
    expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style>'));
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/\b(src|href|action)=/);
    expect(page).not.toMatch(/\bon[a-z]+=/);
  });

  test('makes no markup of texts', () => {
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|setAttribute/);
    expect(script).not.toMatch(/\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|localStorage|indexedDB/);
  });

  test('turns no text around for letters that are written from right to left', () => {
    expect(style).toMatch(/\ncode, pre, #chosen \{ direction: ltr; unicode-bidi: isolate-override; \}\n/);
  });

  test('is the same each time it is made, and is told by its SHA-256', async () => {
    const out = join(freshDirectory(), 'check.html');
    const ran = await ayniProcess('checker', '--out', out);
    expect(ran).toEqual({ code: 0, out: `${hashOf(page, 'hex')}  ${out}\n`, err: '' });
    expect(readFileSync(out, 'utf8')).toBe(page);
    expect((await ayniProcess('checker')).out).toBe(page);
    const again = await ayniProcess('checker', '--out', out);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('exists already')]);
    expect((await ayniProcess('checker', 'story.json')).code).toBe(2);
  });

  test('checks with what every browser has, in a world that is not that of Node', async () => {
    const bare = createContext({ TextDecoder, TextEncoder, atob, btoa });
    const input = fileURLToPath(new URL('../../src/story/check.js', import.meta.url));
    const output = { format: 'iife', name: 'bundled' } as const;
    const { output: chunks } = await build({ input, platform: 'browser', output, write: false });
    const check = runInContext(`${chunks[0].code}; bundled.checkText`, bare);
    const keys = makeKeys();
    const luid = '$wlt.0rZ3aaaaaaaaaaaaa';
    const text = JSON.stringify({ ...record({ handle: 'ana' }, keys, [{ luid }]), luid });
    expect(check(text, keys.public).verdict).toBe('signed');
    expect(check(text.replace('ana', 'eva'), keys.public).verdict).toBe('wrong');
  });

  test('has the licences of what it is made of', () => {
    for (const name of ['ed25519', 'hashes'])
      expect(script).toContain(readFileSync(`node_modules/@noble/${name}/LICENSE`, 'utf8').trimEnd());
  });
});

describe.skipIf(!hasBrowser('the page that checks a record, in a browser'))('in a browser', () => {
  const NASTY = '<img src=x onerror="document.title=1"></pre><script>document.title=1</script>';
  const directory = freshDirectory();
  const path = join(directory, 'check.html');
  let browser: Browser;
  let key = '';
  let story = '';
  let answer = '';

  beforeAll(async () => {
    const books = freshDirectory();
    const server = await startServer({ directory: books });
    key = server.publicKey;
    const client = connect(server);
    const kit = makeKit(client, makeKeys());
    await kit.symbol({ handle: 'usd' });
    await kit.wallet({ handle: 'ana', custom: { [NASTY]: NASTY } });
    await kit.done([issue('ana', 'usd', 5)]);
    answer = (await client.get('/wallets/ana')).text;
    await server.stop();
    story = storyText(books, { ledger: 'main', kind: Kind.wallet, id: 'ana' });
    writeFileSync(path, checkerPage());
    browser = await startBrowser(['--host-resolver-rules=MAP plain.example 127.0.0.1']);
  });

  afterAll(async () => browser?.close());

  /** What the page says of a text that is typed in. */
  async function askText(tab: Tab, text: string, by = key): Promise<Json> {
    await tab.run(`(() => {
      const type = (id, value) => {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event('input'));
      };
      type('key', ${JSON.stringify(by)});
      type('text', ${JSON.stringify(text)});
    })()`);
    return ask(tab);
  }

  async function ask(tab: Tab): Promise<Json> {
    await tab.run(`document.querySelector('button').click()`);
    await tab.until(`document.querySelector('h2') !== null`);
    return tab.run(`({
      verdict: document.querySelector('.verdict').className.split(' ')[1],
      said: document.querySelector('.verdict p').textContent,
      shown: document.getElementById('result').textContent,
      odd: document.querySelectorAll('img, #result script').length,
      title: document.title,
      focus: document.activeElement.tagName,
    })`);
  }

  async function expectAll(url: string): Promise<void> {
    const tab = await browser.open(url);
    expect(await tab.run(`[document.getElementById('dead').hidden, document.getElementById('form').hidden]`)).toEqual([
      true,
      false,
    ]);
    const proven = await askText(tab, story);
    expect(proven).toMatchObject({ verdict: 'proven', odd: 0, focus: 'H2', title: 'Check a record of an ayni ledger' });
    expect(proven.said).toMatch(/^Proven: \$wlt\./);
    expect(proven.shown).toContain(JSON.stringify(NASTY));
    expect(await askText(tab, answer)).toMatchObject({ verdict: 'signed', odd: 0 });
    expect(await askText(tab, story.replace('"handle":"ana"', '"handle":"eva"'))).toMatchObject({
      verdict: 'wrong',
      odd: 0,
    });
    expect(await askText(tab, NASTY)).toMatchObject({ verdict: 'wrong', odd: 0 });
    expect(await askText(tab, story, '')).toMatchObject({ verdict: 'unchecked' });
    // A verdict goes with what it was about.
    await askText(tab, story);
    await tab.run(`document.getElementById('key').dispatchEvent(new Event('input'))`);
    expect(await tab.run(`document.getElementById('result').textContent`)).toBe('');
    const file = join(directory, 'story.json');
    writeFileSync(file, story);
    await tab.choose('#file', [file]);
    expect(await ask(tab)).toMatchObject({ verdict: 'proven' });
    const drop = async (names: string[]) => {
      await tab.run(`(() => {
        const dataTransfer = new DataTransfer();
        for (const name of ${JSON.stringify(names)}) dataTransfer.items.add(new File([${JSON.stringify(story)}], name));
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
      })()`);
      return tab.run(`document.getElementById('chosen').textContent`);
    };
    expect(await drop(['one\u202e.json'])).toBe('To be checked: the file one\\u202e.json');
    expect(await ask(tab)).toMatchObject({ verdict: 'proven' });
    expect(await drop(['one.json', 'two.json'])).toBe('One file at a time: none of these is taken');
    expect(await ask(tab)).toMatchObject({ verdict: 'unchecked', said: 'Choose a file, or put in its text' });
    const broken = join(directory, 'broken.json');
    writeFileSync(broken, Buffer.from([0x22, 0xff, 0x22]));
    await tab.choose('#file', [broken]);
    expect(await ask(tab)).toMatchObject({ verdict: 'wrong', said: 'NOT PROVEN: it is no text in UTF-8' });
    expect(tab.complaints).toEqual([]);
    expect(tab.asked).toEqual([url]);
  }

  test('from a disk', async () => {
    await expectAll(pathToFileURL(path).href);
  });

  test('from a web server, without TLS', async () => {
    const url = await answering((_request, response) => {
      response.setHeader('content-type', 'text/html').end(readFileSync(path));
    });
    await expectAll(`http://plain.example:${new URL(url).port}/check.html`);
  });

  test('what is of the file stands in its own order: two texts looked alike around a letter from right to left', async () => {
    const tab = await browser.open(pathToFileURL(path).href);
    const keys = makeKeys();
    const luid = '$wlt.0rZ3aaaaaaaaaaaaa';
    const custom = { a: 'pay 1 \u05d0 000', b: 'pay 1 000 \u05d0' };
    const text = JSON.stringify({ ...record({ handle: custom.a, custom }, keys, [{ luid }]), luid });
    expect(await askText(tab, text, keys.public)).toMatchObject({ verdict: 'signed' });
    // The characters as they lie from left to right, of each line that has the letter.
    const drawn: string[] =
      await tab.run(`[...document.querySelectorAll('#result pre, #result code')].flatMap((box) => {
      const text = box.firstChild;
      const leftOf = (at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      };
      return [...text.data.matchAll(/pay[^"]*/g)].map(({ 0: line, index }) =>
        [...line].map((one, n) => [leftOf(index + n), one]).sort(([x], [y]) => x - y).map(([, one]) => one).join(''));
    })`);
    expect([...new Set(drawn)].sort()).toEqual(['pay 1 000 \u05d0', 'pay 1 \u05d0 000']);
  });

  test('whose script was changed it says that it checks nothing', async () => {
    const changed = join(directory, 'changed.html');
    writeFileSync(changed, checkerPage().replace('"use strict";', '"use strict"; '));
    const tab = await browser.open(pathToFileURL(changed).href);
    expect(await tab.run(`[document.getElementById('dead').hidden, document.getElementById('form').hidden]`)).toEqual([
      false,
      true,
    ]);
    expect(tab.complaints.join()).toContain('Content Security Policy');
  });
});
