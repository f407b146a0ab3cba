/**
 * A page in a real browser, driven by the DevTools protocol over two pipes: no package, no port. Where there is no Chromium
 * tests that need one are left out, and say so.
 */
import { spawn, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { dieWithUs } from './children.ts';
import type { Json } from './client.ts';
import { makeDirectory } from './directory.ts';
import { PATIENCE_MS, until } from './kit.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const FLAGS = ['--headless=new', '--no-sandbox', '--no-first-run', '--disable-gpu'];

/** The one that shows a page of this directory: some are there and cannot start, or see no file outside a home. */
let command: string | undefined;

/** Whether there is a browser. */
export function hasBrowser(what: string): boolean {
  command = NAMES.find(showsPages);
  if (command === undefined)
    process.stderr.write(`note: chromium is not there (apt-get install chromium); left out: ${what}\n`);
  return command !== undefined;
}

function showsPages(name: string): boolean {
  if (spawnSync(name, ['--version']).status !== 0) return false;
  const directory = makeDirectory();
  const path = join(directory, 'page.html');
  writeFileSync(path, '<p>It is here</p>');
  const flags = [...FLAGS, `--user-data-dir=${join(directory, 'profile')}`, '--dump-dom', pathToFileURL(path).href];
  const ran = spawnSync(name, flags, { encoding: 'utf8', timeout: PATIENCE_MS });
  remove(directory);
  return ran.stdout.includes('It is here');
}

/** Helpers of a browser that has ended may still be writing there, on a busy machine for long: that is no test's fault. */
function remove(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  } catch {
    // It lies where the system clears away.
  }
}

export interface Browser {
  open(url: string): Promise<Tab>;
  close(): Promise<void>;
}

export interface Tab {
  /** The value of an expression in the page. */
  run(expression: string): Promise<Json>;
  /** Gives the input that a selector finds these files, as whoever chooses them does. */
  choose(selector: string, paths: string[]): Promise<void>;
  /** Waits until the expression is true. */
  until(expression: string): Promise<void>;
  /** URLs that the page asked for, itself too. */
  asked: string[];
  /** What the browser complained of: exceptions, and what a policy forbids. */
  complaints: string[];
}

export async function startBrowser(flags: string[] = []): Promise<Browser> {
  const directory = makeDirectory();
  const child = spawn(command!, [...FLAGS, '--remote-debugging-pipe', `--user-data-dir=${directory}`, ...flags], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  dieWithUs(child);
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const waiting = new Map<number, { done(result: Json): void; fail(error: Error): void }>();
  const hearers = new Map<string, (method: string, parameters: Json) => void>();
  let rest = '';
  let last = 0;
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const messages = (rest + chunk).split('\0');
    rest = messages.pop()!;
    for (const message of messages) {
      const { id, result, error, method, params, sessionId } = JSON.parse(message);
      if (id === undefined) hearers.get(sessionId)?.(method, params);
      else if (error === undefined) waiting.get(id)!.done(result);
      else waiting.get(id)!.fail(new Error(error.message));
      waiting.delete(id);
    }
  });
  void ended.then(() => {
    for (const { fail } of waiting.values()) fail(new Error('the browser ended'));
  });
  const call = (method: string, params: Json = {}, sessionId?: string) =>
    new Promise<Json>((done, fail) => {
      waiting.set(++last, { done, fail });
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });

  async function open(url: string): Promise<Tab> {
    const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
    const ask = (method: string, params: Json = {}) => call(method, params, sessionId);
    const asked: string[] = [];
    const complaints: string[] = [];
    hearers.set(sessionId, (method, params) => {
      if (method === 'Network.requestWillBeSent') asked.push(params.request.url);
      if (method === 'Log.entryAdded') complaints.push(params.entry.text);
      if (method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params.exceptionDetails));
    });
    for (const domain of ['Page', 'Network', 'Log', 'Runtime', 'DOM']) await ask(`${domain}.enable`);
    const run = async (expression: string) => {
      const { result, exceptionDetails } = await ask('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    };
    // While a page comes there is none to ask.
    const untilIs = async (expression: string) => {
      await until(async () => (await run(expression).catch(() => false)) === true, expression);
    };
    const choose = async (selector: string, files: string[]) => {
      const { root } = await ask('DOM.getDocument');
      const { nodeId } = await ask('DOM.querySelector', { nodeId: root.nodeId, selector });
      await ask('DOM.setFileInputFiles', { nodeId, files });
    };
    await ask('Page.navigate', { url });
    await untilIs('document.readyState === "complete" && location.href !== "about:blank"');
    return { run, choose, until: untilIs, asked, complaints };
  }

  return {
    open,
    close: async () => {
      await call('Browser.close').catch(() => {});
      child.kill('SIGKILL');
      await ended;
      remove(directory);
    },
  };
}
