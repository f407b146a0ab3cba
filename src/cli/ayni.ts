#!/usr/bin/env node
/**
 * `ayni <command>`: each tool by its name, loaded when it is asked for, so that none waits for the others' packages.
 */
import { fstatSync, writeSync } from 'node:fs';
import { SEMVER } from '../http/version.ts';
import { errorText } from '../storage/system-error.ts';
import { isUsageError } from './usage.ts';

interface Tool {
  about: string;
  load(): Promise<ToolModule | Program>;
}

interface ToolModule {
  HELP: string;
  /** It does not end for want of a reader, as a server does not; programs see to that themselves. */
  IS_SERVICE?: true;
  /** Runs it; resolves with the exit code. */
  run(args: string[]): number | Promise<number>;
}

/** A module that is a program of its own: it reads the command line and runs when it is loaded. */
type Program = Record<never, never>;

const TOOLS: Record<string, Tool> = {
  serve: { about: 'serve a directory of books', load: () => import('../main.ts') },
  verify: { about: 'check every byte of the books, from outside', load: () => import('./verify.ts') },
  inspect: { about: 'show what a directory holds, or entries as JSON', load: () => import('./inspect.ts') },
  follow: { about: "keep a copy of a running server's books going", load: () => import('./follow.ts') },
  backup: { about: 'copy the books while they are written to', load: () => import('./backup.ts') },
  export: { about: 'the story of one record, for anybody to check', load: () => import('./export.ts') },
  checker: { about: 'a page that checks such a story in a browser', load: () => import('./checker.ts') },
  balances: { about: 'what wallets had at a moment, and whether it adds up', load: () => import('./balances.ts') },
  statement: { about: 'all that changed the balances of one wallet', load: () => import('./statement.ts') },
  keygen: { about: 'make a key pair', load: () => import('./keygen.ts') },
  sign: { about: 'sign a record, or a proof, to send it by curl', load: () => import('./sign.ts') },
  send: { about: 'make many records, and go on where that was broken off', load: () => import('./send.ts') },
  token: { about: 'make a token, to ask a ledger with rules by curl', load: () => import('./token.ts') },
  bridge: { about: "be a bank on the other side of a ledger's wallets", load: () => import('./bridge.ts') },
  demo: { about: 'kill a server at work, and check every answer it gave', load: () => import('./demo.ts') },
};

const HELP = `ayni <command> [--help], or ayni --version

${Object.entries(TOOLS)
  .map(([name, { about }]) => `  ${name.padEnd(11)}${about}`)
  .join('\n')}
`;

async function main([name = '--help', ...args]: string[]): Promise<number | undefined> {
  if (name === 'help' && args.length > 0) return main([args[0]!, '--help']);
  if (['--version', '--help', '-h', 'help'].includes(name)) {
    hearOutput();
    process.stdout.write(name === '--version' ? `${SEMVER}\n` : HELP);
    return 0;
  }
  if (!Object.hasOwn(TOOLS, name)) {
    process.stderr.write(`ayni: no command ${name}\n\n${HELP}`);
    return 2;
  }
  const asksForHelp = args.includes('--help') || args.includes('-h');
  // Programs see what they would see without this one in front.
  process.argv.splice(2, process.argv.length, ...(asksForHelp ? ['--help'] : args));
  const tool = await TOOLS[name]!.load();
  if (!('run' in tool)) return undefined;
  if (tool.IS_SERVICE === true && !asksForHelp) ignoreOutput();
  else hearOutput();
  if (!asksForHelp) return tool.run(args);
  process.stdout.write(tool.HELP);
  return 0;
}

/** What is said may be read by nobody. */
function ignoreOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/** Whoever reads our output may have read enough (`ayni inspect | head`); what cannot be written is another matter. */
function hearOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    process.stderr.write(`ayni: the output could not be written: ${error.message}\n`);
    process.exit(1);
  });
  if (fstatSync(process.stdout.fd).isFile()) writeWholly(process.stdout);
}

/**
 * Node writes to a file once, and takes a part for all: where a disk has no more room the rest was missing, and nobody
 * said so.
 */
function writeWholly(output: typeof process.stdout): void {
  output._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(output.fd, chunk, at);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}

try {
  const code = await main(process.argv.slice(2));
  if (code !== undefined) process.exitCode = code;
} catch (error) {
  process.stderr.write(`ayni: ${errorText(error as Error)}\n`);
  process.exitCode = isUsageError(error as Error) ? 2 : 1;
}
