/**
 * Stories that `ayni export` wrote, checked by src/cli/check-story.py: another program in another language, which has
 * nothing but the server's public key.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), process.env.AYNI_DIST ? '../../../..' : '../../..');

export const CHECKER = join(root, 'src/cli/check-story.py');

export const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('note: python3 is not there; left out: stories checked by another program\n');

/** Runs the checker over each text in one Python; what it says of each, and its code. `by`: the server's key, base64. */
export function checkStories(texts: string[], by: string): { code: number; said: string }[] {
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
