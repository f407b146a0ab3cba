/**
 * The page that checks a record in a browser (`ayni checker` makes it): takes a key and a file or a text, and puts what
 * check.ts says of them on the screen.
 *
 * What always holds: what comes from the file is put in as text, never as markup; nothing is sent or fetched; and a
 * verdict stands there only as long as the key and the text that it is about.
 */
import { textOfUtf8 } from './bytes.ts';
import { checkText, TEXT_CHARS_MAX } from './check.ts';
import type { Fact, Part, ProofRow, Report, Verdict } from './report.ts';
import { brief } from './shown.ts';

// The parts of a browser that are used here. Its full types would let the rest of the tree use them too.
interface Element {
  textContent: string | null;
  value: string;
  hidden: boolean;
  className: string;
  tabIndex: number;
  readonly files: ArrayLike<ChosenFile> | null;
  append(...children: (Element | string)[]): void;
  replaceChildren(...children: (Element | string)[]): void;
  addEventListener(type: string, hear: (event: PageEvent) => void): void;
  focus(): void;
}
interface ChosenFile {
  readonly name: string;
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}
interface PageEvent {
  preventDefault(): void;
  readonly dataTransfer?: { readonly files: ArrayLike<ChosenFile>; getData(type: string): string } | null;
}
declare const document: {
  getElementById(id: string): Element | null;
  createElement(name: string): Element;
  addEventListener(type: string, hear: (event: PageEvent) => void): void;
};

const at = (id: string) => document.getElementById(id)!;
const [form, key, file, text, chosen, result] = ['form', 'key', 'file', 'text', 'chosen', 'result'].map(at) as [
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
];

/** The file to be checked; null where the text is. */
let taken: ChosenFile | null = null;
/** Counts inputs: a check that was begun for an earlier one is dropped. */
let turn = 0;

function takeFile(one: ChosenFile | null): void {
  taken = one;
  if (one !== null) text.value = '';
  chosen.textContent = one === null ? '' : `To be checked: the file ${brief(one.name, 200)}`;
  forget();
}

/** Removes the verdict on an earlier input. */
function forget(): void {
  turn++;
  result.replaceChildren();
}

async function check(): Promise<void> {
  forget();
  const mine = turn;
  result.replaceChildren(element('p', 'Checking …'));
  const content = await contentOf(taken);
  // Lets the browser show the words above: the check then blocks the page.
  await new Promise((done) => setTimeout(done, 30));
  if (mine !== turn) return;
  const report = content.report ?? checkText(content.text, key.value.trim());
  show(report);
}

type Content = { text: string; report?: undefined } | { report: Report };

async function contentOf(one: ChosenFile | null): Promise<Content> {
  if (one === null && text.value.trim() === '') return said('unchecked', 'Choose a file, or put in its text');
  if (one === null) return { text: text.value };
  if (one.size > TEXT_CHARS_MAX) return said('unchecked', 'Nobody has looked: the file is larger than this page takes');
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await one.arrayBuffer());
  } catch {
    return said('unchecked', 'Nobody has looked: the file could not be read');
  }
  try {
    return { text: textOfUtf8(bytes) };
  } catch {
    return said('wrong', 'NOT PROVEN: it is no text in UTF-8');
  }
}

function said(verdict: Verdict, sentence: string): { report: Report } {
  return { report: { verdict, said: sentence, notes: [], parts: [] } };
}

// ---------------------------------------------------------------- what is shown

const VERDICTS: Record<Verdict, string> = {
  proven: '✓ Proven',
  signed: '≈ Signed: what is signed is proven, and no more',
  wrong: '✗ Wrong: do not rely on it',
  unchecked: '? Not checked',
};

const PARTS_SHOWN_MAX = 120;

function show({ verdict, said: sentence, notes, parts }: Report): void {
  const heading = element('h2', VERDICTS[verdict]);
  // So that screen readers and magnifiers go to the verdict.
  heading.tabIndex = -1;
  const verdictBox = element('div', heading, element('p', sentence), ...notes.map((note) => element('p', note)));
  verdictBox.className = `verdict ${verdict}`;
  const shown = parts.slice(0, PARTS_SHOWN_MAX).map(partElement);
  const left = parts.length - shown.length;
  result.replaceChildren(verdictBox, ...shown, ...(left > 0 ? [element('p', `${left} more are not shown.`)] : []));
  heading.focus();
}

/** The first part is what was asked for and is open; the others are folded up. */
function partElement({ title, facts, data, proofs, proofsLeftOut }: Part, n: number): Element {
  const content = [
    list('dl', facts.flatMap(factElements)),
    element('h4', 'Data'),
    element('pre', data.text),
    ...(data.isCut ? [element('p', 'It goes on: it was checked as a whole, its beginning is shown.')] : []),
    ...(proofs.length > 0 ? [element('h4', 'Who signed'), list('ol', proofs.map(proofElement))] : []),
    ...(proofsLeftOut > 0 ? [element('p', `${proofsLeftOut} more hold, and are not shown.`)] : []),
  ];
  return n === 0
    ? element('section', element('h3', element('code', title)), ...content)
    : element('details', element('summary', element('code', title)), ...content);
}

// Text from the file stands in boxes: outside, it could pass for our own words that somebody signed it.

function factElements({ name, value, by }: Fact): Element[] {
  return [element('dt', element('code', name)), element('dd', element('code', value), ' ', element('small', by))];
}

function proofElement({ by, moment, status, says }: ProofRow): Element {
  const words: (Element | string)[] = [`Signed by ${by}`];
  if (moment !== '') words.push('; by the signer’s clock at ', element('code', moment));
  if (status !== '') words.push('; status ', element('code', status));
  if (says !== '') words.push('. In full: ', element('code', says));
  return element('li', ...words);
}

function element(name: string, ...children: (Element | string)[]): Element {
  return list(name, children);
}

function list(name: string, children: (Element | string)[]): Element {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

// ---------------------------------------------------------------- what is heard

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void check();
});
key.addEventListener('input', forget);
text.addEventListener('input', () => {
  file.value = '';
  takeFile(null);
});
file.addEventListener('change', () => takeFile(file.files?.[0] ?? null));
// A browser leaves the page for a file that is dropped on it, unless it is told not to.
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  const dropped = event.dataTransfer;
  file.value = '';
  const [one = null, ...others] = Array.from(dropped?.files ?? []);
  takeFile(others.length > 0 ? null : one);
  if (taken === null) text.value = dropped?.getData('text/plain') ?? '';
  // Else a verdict on one of them would look like one on all.
  if (others.length > 0) chosen.textContent = 'One file at a time: none of these is taken';
});

at('dead').hidden = true;
form.hidden = false;
