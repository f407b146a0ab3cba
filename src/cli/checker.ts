/**
 * `ayni checker`: a page that checks a record in a browser, for whoever has no Python. One file without any other,
 * which asks nobody: its policy forbids it to load or send anything, and runs no script but the one whose hash it
 * names.
 *
 * What always holds: of one version of ayni it is the same to the last byte, so its SHA-256 tells whether a page is
 * ours.
 */
import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SEMVER } from '../http/version.ts';
import { writeNew } from './new-file.ts';
import { readArgs, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni checker [--out <file>]

Writes a page that checks records in a browser, with the server's public key: a story as export writes it, or what a
server answered. It is one file that loads and sends nothing, and works from a disk as from any web server. With --out it
is written to a new file, and its SHA-256 is printed as sha256sum does.

Take it from your own copy of ayni, not from whoever shows you a record: a page says whatever its maker wants. The same
version of ayni writes the same page, so who has a page can tell by its SHA-256 whether it is this one.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const { values, positionals } = readArgs(args, { out: TEXT });
  if (positionals.length > 0) throw new UsageError('nothing but --out');
  const page = checkerPage();
  if (values.out === undefined) process.stdout.write(page);
  else writeNew(values.out, [page]);
  if (values.out !== undefined) process.stdout.write(`${sha256(page, 'hex')}  ${values.out}\n`);
  return 0;
}

function sha256(text: string, encoding: 'hex' | 'base64'): string {
  return createHash('sha256').update(text).digest(encoding);
}

/** The page, as HTML. */
export function checkerPage(): string {
  const script = readFileSync(new URL('../bin/story-page.js', import.meta.url), 'utf8');
  // What would end it, or change how it is read, where it stands in a page.
  const odd = /<\/script|<!--|<script|\r|\0/i.exec(script);
  assert(odd === null, `a script with ${JSON.stringify(odd?.[0])} cannot stand in a page`);
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${sha256(script, 'base64')}'`,
    `style-src 'sha256-${sha256(STYLE, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    // No text becomes markup or script, not even by a mistake of ours.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Check a record of an ayni ledger</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${BODY}
</main>
<script>${script}</script>
</body>
</html>
`;
}

const BODY = `<h1>Check a record</h1>
<p>A ledger that runs on ayni signs what becomes of every record. This page checks what is shown of one, with the server’s
public key and nothing else. It sends nothing, and asks nobody: it works without a network.</p>
<p><strong>Where did you get this page?</strong> A page says whatever its maker wants. Take it from your own copy of ayni
(<code>ayni checker --out check.html</code>), or from somebody whom you trust with the answer, not from whoever shows you
the record. The same version of ayni writes the same page: the command prints its SHA-256. This one is of ayni
${SEMVER}, if it is what it says.</p>
<p id="dead"><strong>Nothing can be checked here:</strong> the script of this page does not run. Scripts are switched off, or
the browser is too old for it, or somebody has changed the page.</p>
<form id="form" hidden>
<p><label for="key">The server’s public key</label>
<input id="key" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-help">
<small id="key-help">44 characters, from somebody whom you trust; not from the file, nor with it.</small></p>
<p><label for="file">The file: a story that <code>ayni export</code> wrote, or what the server answered or sent</label>
<input id="file" type="file" aria-describedby="chosen">
<small>Or drop it anywhere on this page.</small></p>
<p><label for="text">Or its text</label>
<textarea id="text" rows="6" autocomplete="off" spellcheck="false"></textarea></p>
<p><button>Check</button> <span id="chosen"></span></p>
</form>
<div id="result" role="region" aria-label="What is proven"></div>`;

// What is of the file stands in the order that it has there: by letters that are written from right to left the numbers
// around them would be moved, and two texts look alike.
const STYLE = `
:root { color-scheme: light dark; font: 1em/1.5 sans-serif; }
body { margin: 0; }
main { max-width: 46em; margin: 0 auto; padding: 1em; overflow-wrap: anywhere; }
label, input, textarea { display: block; box-sizing: border-box; width: 100%; }
label { font-weight: bold; }
input, textarea, button { font: inherit; padding: .4em; }
#key, textarea, code, pre { font-family: monospace; }
button { padding: .5em 2em; }
code, pre, #chosen { direction: ltr; unicode-bidi: isolate-override; }
#result code { border: 1px solid; padding: 0 .3em; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
pre { white-space: pre-wrap; border: 1px solid; padding: .6em; overflow: hidden; }
dt { font-weight: bold; }
dd { margin: 0 0 .4em 1em; }
li { margin-bottom: .4em; }
section, details { border-top: 1px solid; padding: .6em 0; }
summary { font-weight: bold; padding: .4em 0; }
.verdict { border: .3em solid; padding: 0 1em; margin: 1em 0; }
.signed { border-style: dashed; }
.wrong, .unchecked { border-style: double; border-width: .5em; }
`;
