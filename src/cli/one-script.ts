/**
 * Modules → one script that needs no other file: what tsc made of ours, and the packages that they import, each in a
 * function of its own that gives what it exports. For a page that works from a disk, where browsers load no modules.
 *
 * It knows no more of JavaScript than the lines that these modules have: `import { … } from`, `import * as … from`, and
 * `export` before a declaration or a list. What it does not know ends it, and so does a text that goes over several
 * lines, of which one may look like these: nothing is left out silently.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** The script that runs this module of JavaScript, with the licences of the packages that are in it. */
export function oneScript(entry: string): string {
  const made: Made = { modules: new Map(), texts: [], licences: new Set() };
  add(entry, made, []);
  const licences = [...made.licences].map((path) => `/*\n${readFileSync(path, 'utf8').trimEnd()}\n*/\n`);
  const script = `${licences.join('')}(() => {\n'use strict';\n${made.texts.join('')}})();\n`;
  // What would end it, or change how it is read, where it stands in a page.
  const odd = /<\/script|<!--|<script|\r|\0/i.exec(script);
  if (odd !== null) throw new Error(`a script with ${JSON.stringify(odd[0])} cannot stand in a page`);
  return script;
}

interface Module {
  /** What it is called in the script. */
  name: string;
  exported: readonly string[];
}

interface Made {
  /** By their paths. */
  modules: Map<string, Module>;
  texts: string[];
  /** Paths of their files. */
  licences: Set<string>;
}

/** A comment on lines of its own. */
const COMMENTS = /^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n|^[ \t]*\/\/.*\n/gm;
const IMPORTS = /^import (\{[^}]*\}|\* as \w+) from ["']([^"']+)["'];\n/gm;
const DECLARATIONS = /^export ((?:async )?function|const|class) (\w+)/gm;
const LISTS = /^export \{([^}]*)\};\n/gm;
/** A line on which a text begins that does not end there: with one backtick more, or a backslash at its end. */
const LONG_TEXTS = /^[^`\n]*(?:`[^`\n]*`[^`\n]*)*`[^`\n]*$|^.*\\$/m;
const UNKNOWN = /^(?:import|export)\b.*|\bimport\s*\(|\bimport\.meta\b/m;

/** Adds a module behind those that it imports. */
function add(path: string, made: Made, above: readonly string[]): Module {
  const known = made.modules.get(path);
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
      const { name, exported: given } = add(other, made, [...above, path]);
      if (names.startsWith('*')) return `const ${names.slice('* as '.length)} = ${name};\n`;
      const missing = namesIn(names.slice(1, -1)).find((one) => !given.includes(one.replace(/ as .*/, '')));
      if (missing !== undefined) throw new Error(`${path} imports ${missing}, which ${other} does not give`);
      return `const ${names.replace(/(\w+) as (\w+)/g, '$1: $2')} = ${name};\n`;
    })
    .replace(DECLARATIONS, (_line, declared: string, name: string) => {
      exported.push(name);
      return `${declared} ${name}`;
    })
    .replace(LISTS, (_line, names: string) => {
      exported.push(...namesIn(names));
      return '';
    });
  const unknown =
    LONG_TEXTS.exec(text) ??
    UNKNOWN.exec(text) ??
    exported.map((name) => /\W.*/.exec(name)).find((found) => found !== null);
  if (unknown) throw new Error(`${path} has ${unknown[0]}, which cannot be put into one script`);
  const module = { name: `module${made.modules.size}`, exported };
  made.modules.set(path, module);
  made.texts.push(`const ${module.name} = (() => {\n${text}return { ${exported.join(', ')} };\n})();\n`);
  return module;
}

/** Those of a list, without what stands around them. */
function namesIn(list: string): string[] {
  return list.split(',').flatMap((name) => name.trim() || []);
}
