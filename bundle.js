/**
 * What is run is put together of what tsc made: Node takes a millisecond to find and load a module, and the service has
 * some 220, the compiler of schemas as many again. Packages stay what they are, each in its directory, but for that
 * compiler, and for the page that checks stories, which has no packages beside it.
 *
 * Whatever refers to a file of the tree says `../room/file`: that is the same file from its own room and from here.
 */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { build } from 'rolldown';

/** What is run, and what it is put together as: a server may be started meanwhile, and runs what was there before. */
const place = 'dist/src/bin';
const dir = `${place}.${process.pid}`;

/** What the bundler has doubts about is a mistake of ours: a package that no browser has, names that nobody gives. */
const refuse = (level, { message }) => {
  if (level === 'warn') throw new Error(message);
};

/** The licences of the packages that a file is made of. */
function licencesOf({ moduleIds }) {
  const packages = new Set(moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(id) ?? []));
  const textIn = (path) => readFileSync(path + readdirSync(path).find((name) => /^licen[cs]e/i.test(name)), 'utf8');
  return [...packages].map((path) => `/*\n${textIn(path).trimEnd()}\n*/`).join('\n');
}

const builds = [
  {
    input: { main: 'dist/src/main.js', ayni: 'dist/src/cli/ayni.js' },
    platform: 'node',
    external: /^(?!typebox)[@\w]/,
    onLog: refuse,
    output: {
      dir,
      chunkFileNames: '[name].js',
      minifyInternalExports: false,
      sourcemap: true,
      banner: licencesOf,
    },
  },
  {
    input: { 'story-page': 'dist/src/story/page.js' },
    platform: 'browser',
    onLog: refuse,
    output: { dir, format: 'iife', comments: false, intro: "'use strict';", banner: licencesOf },
  },
];

try {
  for (const each of builds) await build(each);
  exchange();
} finally {
  for (const path of [dir, `${dir}.old`]) rmSync(path, { recursive: true, force: true });
}

/** Puts what was made in its place. Another build may do the same at the same time. */
function exchange() {
  const tries = (from, to, codes) => {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      if (codes.includes(error.code)) return false;
      throw error;
    }
  };
  do {
    rmSync(`${dir}.old`, { recursive: true, force: true });
    tries(place, `${dir}.old`, ['ENOENT']);
  } while (!tries(dir, place, ['ENOTEMPTY', 'EEXIST']));
}
