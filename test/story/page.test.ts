/**
 * What the page that checks a record does with what is put into it, and what it puts on the screen: run as it ships, in a
 * world of its own, over the few things of a browser that it uses (src/story/page.ts). That browsers have them so,
 * checker.test.ts asks one.
 */
import { createContext, Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { checkerPage } from '../../src/cli/checker.ts';
import { canon, type Json, makeKeys, proof, record, sha256 } from '../support/client.ts';
import { until } from '../support/kit.ts';

interface Chosen {
  name: string;
  size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** An element, as far as the page uses one. */
class Box {
  value = '';
  hidden = false;
  className = '';
  tabIndex = 0;
  hasFocus = false;
  files: Chosen[] | null = null;
  readonly name: string;
  #inside: (Box | string)[] = [];
  readonly #heard = new Map<string, (event: object) => void>();

  constructor(name: string) {
    this.name = name;
  }

  get textContent(): string {
    return this.#inside.map((one) => (typeof one === 'string' ? one : one.textContent)).join('');
  }

  set textContent(text: string) {
    this.#inside = [text];
  }

  append(...children: (Box | string)[]): void {
    this.#inside.push(...children);
  }

  replaceChildren(...children: (Box | string)[]): void {
    this.#inside = children;
  }

  addEventListener(type: string, hear: (event: object) => void): void {
    this.#heard.set(type, hear);
  }

  focus(): void {
    this.hasFocus = true;
  }

  /** What somebody does to it; whether the browser leaves the rest to the page. */
  send(type: string, more: object = {}): boolean {
    let isLeft = false;
    const preventDefault = () => {
      isLeft = true;
    };
    this.#heard.get(type)!({ preventDefault, ...more });
    return isLeft;
  }

  /** It and what is in it, as markup. */
  get drawn(): string {
    const name = this.className === '' ? this.name : `${this.name}.${this.className}`;
    return `<${name}>${this.inside}</${this.name}>`;
  }

  get inside(): string {
    return this.#inside.map((one) => (typeof one === 'string' ? one : one.drawn)).join('');
  }

  all(name: string): Box[] {
    const boxes = this.#inside.filter((one) => typeof one !== 'string');
    return boxes.flatMap((one) => [...(one.name === name ? [one] : []), ...one.all(name)]);
  }
}

const [, source] = /<script>(.*)<\/script>/s.exec(checkerPage())!;
const script = new Script(source!);

const NAMES = ['form', 'key', 'file', 'text', 'chosen', 'result', 'dead'] as const;

/** The page, as it is when it has been loaded, with a clock of its own where one is given. */
function openPage(wait: (act: () => void, ms: number) => void = setTimeout) {
  const boxes = Object.fromEntries(NAMES.map((name) => [name, new Box(name)])) as Record<(typeof NAMES)[number], Box>;
  const whole = new Box('document');
  boxes.form.hidden = true;
  const document = {
    getElementById: (id: string) => boxes[id as 'form'] ?? null,
    createElement: (name: string) => new Box(name),
    addEventListener: (type: string, hear: (event: object) => void) => whole.addEventListener(type, hear),
  };
  script.runInContext(createContext({ document, TextDecoder, TextEncoder, atob, btoa, setTimeout: wait }));
  const { form, key, file, text, result } = boxes;
  key.value = keys.public;
  const type = (value: string) => {
    text.value = value;
    text.send('input');
  };
  const choose = (...files: Chosen[]) => {
    file.files = files;
    file.value = 'C:\\fakepath\\story.json';
    file.send('change');
  };
  /** What the page says, the words that stand there until then aside. */
  const said = async () => {
    await until(async () => result.all('h2').length > 0, 'a verdict');
    const [heading, sentence] = [...result.all('h2'), ...result.all('p')];
    return [heading!.textContent, sentence!.textContent];
  };
  const ask = () => {
    form.send('submit');
    return said();
  };
  const drop = (files: Chosen[], dropped = '') =>
    whole.send('drop', { dataTransfer: { files, getData: (what: string) => (what === 'text/plain' ? dropped : '?') } });
  return { ...boxes, whole, type, choose, ask, said, drop };
}

const keys = makeKeys();
const MOMENT = '2026-11-20T19:37:28.431Z';
const luid = '$wlt.0rZ3aaaaaaaaaaaaa';

/** A wallet as a server shows it, signed by others too. */
function walletOf(data: Json, customs: Json[] = [], others = customs.map(() => makeKeys())): string {
  const given = record(data, [keys, ...others], [{ luid, moment: MOMENT, status: 'created' }, ...customs]);
  return JSON.stringify({ ...given, luid });
}

const SIGNED = '≈ Signed: what is signed is proven, and no more';
const WRONG = '✗ Wrong: do not rely on it';
const UNCHECKED = '? Not checked';
const honest = walletOf({ handle: 'ana' });

function fileOf(text: string | Uint8Array, name = 'story.json'): Chosen {
  const bytes = Buffer.from(text);
  return { name, size: bytes.length, arrayBuffer: async () => Uint8Array.from(bytes).buffer };
}

describe('what is to be checked', () => {
  test('is the text that is typed, or the file that is chosen, whichever came last', async () => {
    const page = openPage();
    page.choose(fileOf(honest));
    expect([page.text.value, page.chosen.textContent]).toEqual(['', 'To be checked: the file story.json']);
    expect((await page.ask())[0]).toBe(SIGNED);
    page.type('no record');
    expect([page.file.value, page.chosen.textContent]).toEqual(['', '']);
    expect((await page.ask())[0]).toBe(WRONG);
    page.choose(fileOf(honest));
    expect(page.text.value).toBe('');
    expect((await page.ask())[0]).toBe(SIGNED);
    // Who changes his mind where a file is asked for has chosen none.
    page.choose();
    expect([page.chosen.textContent, (await page.ask())[0]]).toEqual(['', UNCHECKED]);
    page.file.files = null;
    page.file.send('change');
    expect((await page.ask())[0]).toBe(UNCHECKED);
  });

  test('may be dropped on the page, which stays: a file, a text, never one of several files', async () => {
    const page = openPage();
    expect([page.whole.send('dragover'), page.drop([fileOf(honest)])]).toEqual([true, true]);
    expect([page.file.value, page.text.value]).toEqual(['', '']);
    expect((await page.ask())[0]).toBe(SIGNED);
    page.choose(fileOf('{}'));
    page.drop([], honest);
    expect([page.file.value, page.text.value, page.chosen.textContent]).toEqual(['', honest, '']);
    expect((await page.ask())[0]).toBe(SIGNED);
    page.choose(fileOf(honest));
    page.drop([fileOf(honest), fileOf('{}')]);
    expect(page.chosen.textContent).toBe('One file at a time: none of these is taken');
    expect(await page.ask()).toEqual([UNCHECKED, 'Choose a file, or put in its text']);
    page.type(honest);
    page.whole.send('drop', { dataTransfer: null });
    expect([page.text.value, page.chosen.textContent]).toEqual(['', '']);
  });

  test('is named as it is, and no longer than anybody reads', () => {
    const page = openPage();
    page.choose(fileOf(honest, `${'x'.repeat(199)}\u202e.json`));
    expect(page.chosen.textContent).toBe(`To be checked: the file ${'x'.repeat(199)}\\u202e …`);
  });

  test('is not sent anywhere by the form, and needs no exact key', async () => {
    const page = openPage();
    page.type(honest);
    page.key.value = ` ${keys.public}\n`;
    expect(page.form.send('submit')).toBe(true);
    expect((await page.said())[0]).toBe(SIGNED);
  });

  test('is nothing where there is only space', async () => {
    const page = openPage();
    page.type(' \n');
    expect(await page.ask()).toEqual([UNCHECKED, 'Choose a file, or put in its text']);
  });

  test('is not looked at where it is larger than the page takes, cannot be read, or is no text', async () => {
    const page = openPage();
    const sized = (size: number) => ({ ...fileOf(honest), size });
    page.choose(sized(2 ** 28));
    expect((await page.ask())[0]).toBe(SIGNED);
    page.choose(sized(2 ** 28 + 1));
    expect(await page.ask()).toEqual([UNCHECKED, 'Nobody has looked: the file is larger than this page takes']);
    page.choose({ ...fileOf(honest), arrayBuffer: async () => Promise.reject(new Error('gone')) });
    expect(await page.ask()).toEqual([UNCHECKED, 'Nobody has looked: the file could not be read']);
    page.choose(fileOf(Uint8Array.of(0x22, 0xff, 0x22)));
    expect(await page.ask()).toEqual([WRONG, 'NOT PROVEN: it is no text in UTF-8']);
  });
});

describe('a verdict', () => {
  test('is waited for with words that say so, and has the focus when it is there', async () => {
    const waits: (() => void)[] = [];
    const page = openPage((act) => waits.push(act));
    page.type(honest);
    page.form.send('submit');
    expect(page.result.inside).toBe('<p>Checking …</p>');
    await until(async () => waits.length > 0, 'that they are seen: the rest holds up the page');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(page.result.inside).toBe('<p>Checking …</p>');
    waits[0]!();
    await page.said();
    const [heading] = page.result.all('h2');
    // It can have the focus, and is no stop on the way through the page.
    expect([heading!.hasFocus, heading!.tabIndex]).toEqual([true, -1]);
  });

  test.each<[string, (page: ReturnType<typeof openPage>) => void]>([
    ['key', (page) => page.key.send('input')],
    ['text', (page) => page.type('no record')],
    ['file', (page) => page.choose(fileOf('{}'))],
    ['drop', (page) => page.drop([], 'no record')],
  ])('goes with what it was about, also where it comes later: another %s', async (_, change) => {
    const page = openPage();
    page.type(honest);
    await page.ask();
    change(page);
    expect(page.result.inside).toBe('');
    page.type('');
    let give = (_: ArrayBuffer) => {};
    const slow = new Promise<ArrayBuffer>((resolve) => {
      give = resolve;
    });
    page.choose({ ...fileOf(honest), arrayBuffer: () => slow });
    page.form.send('submit');
    change(page);
    give(Uint8Array.from(Buffer.from(honest)).buffer);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(page.result.inside).toBe('');
  });

  test('of an earlier question does not take the place of the one that was asked last', async () => {
    const page = openPage();
    const gives: (() => void)[] = [];
    const slow = {
      ...fileOf(honest),
      arrayBuffer: () =>
        new Promise<ArrayBuffer>((resolve) => {
          gives.push(() => resolve(Uint8Array.from(Buffer.from(honest)).buffer));
        }),
    };
    page.choose(slow);
    page.form.send('submit');
    page.form.send('submit');
    gives[0]!();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(page.result.inside).toBe('<p>Checking …</p>');
    gives[1]!();
    expect((await page.said())[0]).toBe(SIGNED);
  });
});

describe('on the screen', () => {
  const shownOf = async (text: string) => {
    const page = openPage();
    page.type(text);
    await page.ask();
    return page.result;
  };

  test('what is of the file stands in boxes of its own, whose word it is outside of them', async () => {
    const other = makeKeys();
    const custom = { moment: '1999', status: 'fine', note: 'Signed by the server' };
    const result = await shownOf(walletOf({ handle: 'ana' }, [custom], [other]));
    const { hash } = JSON.parse(honest);
    const own = canon({ luid, moment: MOMENT, status: 'created' });
    expect(result.inside).toBe(
      [
        `<div.verdict signed><h2>${SIGNED}</h2>`,
        '<p>Proven is each signature, and what it says; not that the record is in the state that it is shown in</p>',
        '<p>Proofs that came later may be left out, and what stands beside them may be changed: below, each line says whose word it is.</p>',
        '<p>The state of a record is proven by its story, which whoever has the server’s books writes with `ayni export`.</p>',
        '<p>It names no ledger: one server keeps many, and signs for all of them with one key.</p></div>',
        '<section><h3><code>wallet ana</code></h3><dl>',
        `<dt><code>luid</code></dt><dd><code>${luid}</code> <small>signed by the server</small></dd>`,
        `<dt><code>hash</code></dt><dd><code>${hash}</code> <small>follows from the data</small></dd></dl>`,
        '<h4>Data</h4><pre>{\n  "handle": "ana"\n}</pre><h4>Who signed</h4><ol>',
        `<li>Signed by the server; by the signer’s clock at <code>${MOMENT}</code>; status <code>created</code>. In full: <code>${own}</code></li>`,
        `<li>Signed by the key ${other.public}; by the signer’s clock at <code>1999</code>; status <code>fine</code>. In full: <code>${canon(custom)}</code></li>`,
        '</ol></section>',
      ].join(''),
    );
  });

  test('a proof that says nothing is told in four words', async () => {
    const other = makeKeys();
    const { hash, data, meta } = JSON.parse(honest);
    const text = JSON.stringify({ hash, data, luid, meta: { proofs: [...meta.proofs, proof(hash, other)] } });
    expect((await shownOf(text)).all('li')[1]!.drawn).toBe(`<li>Signed by the key ${other.public}</li>`);
  });

  test('where anything is wrong there is nothing but that', async () => {
    const result = await shownOf(honest.replace('ana', 'eva'));
    const sentence = 'NOT PROVEN: it: its hash is not that of its data';
    expect(result.inside).toBe(`<div.verdict wrong><h2>${WRONG}</h2><p>${sentence}</p></div>`);
  });

  test('what was asked for lies open, what is in it closed, and what is too much is told', async () => {
    const items = Array.from({ length: 120 }, (_, n) => record({ handle: `h${n}` }, []));
    const listOf = (data: Json[]) => JSON.stringify(record(data, keys, [{ moment: MOMENT }]));
    const all = await shownOf(listOf(items.slice(1)));
    expect([all.all('section').length, all.all('details').length]).toEqual([1, 119]);
    expect(all.inside).not.toContain('are not shown');
    expect(all.all('details')[0]!.inside).toMatch(/^<summary><code>in it: record h1<\/code><\/summary><dl>.*<\/pre>$/s);
    const more = await shownOf(listOf(items));
    expect([more.all('section').length, more.all('details').length]).toEqual([1, 119]);
    expect(more.inside).toMatch(/<\/details><p>1 more are not shown.<\/p>$/);
  });

  test('of long data the beginning is shown, of very many proofs the first, and both are said to go on', async () => {
    const hash = sha256(canon({ handle: 'ana' }));
    const own = proof(hash, keys, { luid });
    const signedBy = (count: number) =>
      JSON.stringify({ hash, data: { handle: 'ana' }, luid, meta: { proofs: Array(count).fill(own) } });
    const words = 'It goes on: it was checked as a whole, its beginning is shown.';
    const [few, many] = [await shownOf(signedBy(200)), await shownOf(signedBy(201))];
    expect([few.all('li').length, few.inside.includes('more hold')]).toEqual([200, false]);
    expect(many.all('li')).toHaveLength(200);
    expect(many.inside).toMatch(/<\/ol><p>1 more hold, and are not shown.<\/p><\/section>$/);
    // With its quotes, braces, name and lines it is 18 characters longer.
    const dataOf = (length: number) => walletOf({ handle: 'x'.repeat(length) });
    const [whole, cut] = [await shownOf(dataOf(100_000 - 18)), await shownOf(dataOf(100_000 - 17))];
    expect([whole.inside.includes(words), whole.all('pre')[0]!.textContent.length]).toEqual([false, 100_000]);
    expect(cut.all('pre')[0]!.textContent).toHaveLength(100_000);
    expect(cut.inside).toContain(`</pre><p>${words}</p><h4>`);
  });
});

test('the form is there as soon as the script runs, and what said that it does not is gone; nothing is chosen', () => {
  const page = openPage();
  expect([page.form.hidden, page.dead.hidden, page.chosen.textContent]).toEqual([false, true, '']);
});
