/**
 * Modules → one script that needs no other file: what tsc made of ours, and the packages that they import, each in a
 * function of its own that gives what it exports. For a page that works from a disk, where browsers load no modules.
 *
 * It knows no more of JavaScript than the lines that these modules have: `import { … } from`, `import * as … from`, and
 * `export` before a declaration or a list. What it does not know ends it: nothing is left out silently.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** The script that runs this module of JavaScript, with the licences of the packages that are in it. */
export function oneScript(entry: string): string {
  const made: Made = { names: new Map(), texts: [], licences: new Set() };
  add(entry, made, []);
  const licences = [...made.licences].map((path) => `/*\n${readFileSync(path, 'utf8').trimEnd()}\n*/\n`);
  const script = `${licences.join('')}(() => {\n'use strict';\n${made.texts.join('')}})();\n`;
  // What would end it, or change how it is read, where it stands in a page.
  const odd = /<\/script|<!--|<script|\r|\0/i.exec(script);
  if (odd !== null) throw new Error(`a script with ${JSON.stringify(odd[0])} cannot stand in a page`);
  return script;
}

interface Made {
  /** Of each module, by its path, what it is called in the script. */
  names: Map<string, string>;
  texts: string[];
  /** Paths of their files. */
  licences: Set<string>;
}

/** A comment on lines of its own. */
const COMMENTS = /^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n|^[ \t]*\/\/.*\n/gm;
const IMPORTS = /^import (\{[^}]*\}|\* as \w+) from ["']([^"']+)["'];\n/gm;
const DECLARATIONS = /^export ((?:async )?function|const|class) (\w+)/gm;
const LISTS = /^export \{([^}]*)\};\n/gm;
const UNKNOWN = /^(?:import|export)\b.*|\bimport\s*\(|\bimport\.meta\b/m;

/** Adds a module behind those that it imports; returns the name that it has in the script. */
function add(path: string, made: Made, above: readonly string[]): string {
  const known = made.names.get(path);
  if (known !== undefined) return known;
  if (above.includes(path)) throw new Error(`${path} imports itself, by way of others`);
  const require = createRequire(path);
  const exported: string[] = [];
  const text = `${readFileSync(path, 'utf8')}\n`
    .replace(COMMENTS, '')
    .replace(IMPORTS, (_line, names: string, from: string) => {
      if (from.startsWith('node:')) throw new Error(`${path} imports ${from}, which no browser has`);
      const isOurs = from.startsWith('.');
      const other = isOurs ? resolve(dirname(path), from) : require.resolve(from);
      if (!isOurs) made.licences.add(join(dirname(other), 'LICENSE'));
      const name = add(other, made, [...above, path]);
      if (names.startsWith('*')) return `const ${names.slice('* as '.length)} = ${name};\n`;
      return `const ${names.replace(/(\w+) as (\w+)/g, '$1: $2')} = ${name};\n`;
    })
    .replace(DECLARATIONS, (_line, declared: string, name: string) => {
      exported.push(name);
      return `${declared} ${name}`;
    })
    .replace(LISTS, (_line, names: string) => {
      exported.push(...names.split(',').flatMap((name) => name.trim() || []));
      return '';
    });
  const unknown = UNKNOWN.exec(text) ?? exported.map((name) => /\W.*/.exec(name)).find((found) => found !== null);
  if (unknown) throw new Error(`${path} has ${unknown[0]}, which cannot be put into one script`);
  const name = `module${made.names.size}`;
  made.names.set(path, name);
  made.texts.push(`const ${name} = (() => {\n${text}return { ${exported.join(', ')} };\n})();\n`);
  return name;
}
