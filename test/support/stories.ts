/**
 * Stories that `ayni export` wrote, checked by src/cli/check-story.py: another program in another language, which has
 * nothing but the server's public key; and by what the page that `ayni checker` makes runs in a browser. Wherever a test
 * asks one of them, the other is asked too, and has to say the same.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storyOf } from '../../src/cli/export.ts';
import type { RecordName } from '../../src/cli/names.ts';
import { checkText } from '../../src/story/check.ts';
import type { Verdict } from '../../src/story/report.ts';
import { ROOT } from './pages.ts';

export const CHECKER = join(ROOT, 'src/cli/check-story.py');

export const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('note: python3 is not there; left out: stories checked by another program\n');

/** The whole story as it lies in a file. */
export function storyText(directory: string, name: RecordName): string {
  return [...storyOf(directory, name)].join('');
}

interface Said {
  code: number;
  said: string;
}

/** What the verdicts of the page are as exit codes of the other program. */
const CODES: Record<Verdict, number> = { proven: 0, wrong: 1, signed: 2, unchecked: 3 };

/** What the page says. */
export function checkInPage(text: string, by: string): Said {
  const { verdict, said } = checkText(text, by);
  return { code: CODES[verdict], said };
}

/** What both programs say of each text, and the code of it. Throws where they differ. `by`: the server's key, base64. */
export function checkStories(texts: string[], by: string): Said[] {
  const results = checkInPython(texts, by);
  const others = texts.map((text) => checkInPage(text, by));
  const differing = results.findIndex(({ code, said }, n) => {
    const other = others[n]!;
    return code !== other.code || (code !== 1 && said !== `${other.said}\n`);
  });
  if (differing === -1) return results;
  const [python, page] = [results[differing]!, others[differing]!];
  throw new Error(
    `story ${differing}: check-story.py says ${python.code} ${python.said}; the page ${page.code} ${page.said}`,
  );
}

/** Runs check-story.py over each text, in one Python. */
function checkInPython(texts: string[], by: string): Said[] {
  const directory = mkdtempSync(join(tmpdir(), 'ayni-stories-'));
  try {
    const paths = texts.map((text, n) => {
      const path = join(directory, `${n}.json`);
      writeFileSync(path, text);
      return path;
    });
    const input = JSON.stringify(paths);
    const ran = spawnSync('python3', ['-c', driverFor(by)], { input, encoding: 'utf8', maxBuffer: 1 << 26 });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return JSON.parse(ran.stdout);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function driverFor(by: string): string {
  return `
import contextlib, io, json, runpy, sys
results = []
for path in json.load(sys.stdin):
    sys.argv, out = [${JSON.stringify(CHECKER)}, path, ${JSON.stringify(by)}], io.StringIO()
    try:
        with contextlib.redirect_stdout(out): runpy.run_path(sys.argv[0], run_name='__main__')
        code = 0
    except SystemExit as end: code = end.code
    except Exception as error: code = repr(error)
    results.append({'code': code if isinstance(code, int) else 1, 'said': out.getvalue() + (code if isinstance(code, str) else '')})
print(json.dumps(results))`;
}
