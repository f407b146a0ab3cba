#!/usr/bin/env node
import { INSPECT_HELP, inspect } from './inspect.ts';
/**
 * The command `ayni`: one word says which tool, the rest is the tool's own.
 */
import { KEYGEN_HELP, keygen } from './keygen.ts';
import { VERIFY_HELP, verifyBooks } from './verify.ts';

interface Tool {
  about: string;
  /** What `--help` prints, or null where the tool prints its own. */
  help: string | null;
  /** Runs it; resolves with the exit code, or null where it goes on by itself. */
  run(args: string[]): number | null | Promise<number | null>;
}

const TOOLS: Record<string, Tool> = {
  serve: { about: 'serve a directory of books', help: null, run: () => runMain(() => import('../main.ts')) },
  verify: { about: 'check every byte of the books, from outside', help: VERIFY_HELP, run: verifyBooks },
  inspect: { about: 'show what a directory holds, or entries as JSON', help: INSPECT_HELP, run: inspect },
  keygen: { about: 'make a key pair', help: KEYGEN_HELP, run: keygen },
  demo: {
    about: 'kill a server at work, and check every answer it gave',
    help: null,
    run: () => runMain(() => import('./demo.ts')),
  },
};

const HELP = `ayni <command> [--help]

${Object.entries(TOOLS)
  .map(([name, { about }]) => `  ${name.padEnd(9)}${about}`)
  .join('\n')}
`;

/** Mistakes of whoever typed the command. */
const USAGE_ERRORS = ['UsageError', 'ConfigError'];

/** These two are programs of their own, that read the command line themselves. */
async function runMain(load: () => Promise<unknown>): Promise<null> {
  process.argv.splice(2, 1);
  await load();
  return null;
}

async function main([name = '--help', ...args]: string[]): Promise<number | null> {
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  if (isHelp) process.stdout.write(HELP);
  if (isHelp) return 0;
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name]! : null;
  if (tool === null) {
    process.stderr.write(`ayni: no command ${name}\n\n${HELP}`);
    return 2;
  }
  if (tool.help !== null && args.includes('--help')) {
    process.stdout.write(tool.help);
    return 0;
  }
  return tool.run(args);
}

try {
  const code = await main(process.argv.slice(2));
  if (code !== null) process.exitCode = code;
} catch (error) {
  const { name, message, code } = error as NodeJS.ErrnoException;
  const isUsage = USAGE_ERRORS.includes(name) || code?.startsWith('ERR_PARSE_ARGS') === true;
  process.stderr.write(`ayni: ${message}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
