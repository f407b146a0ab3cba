/**
 * `npm run two-banks`: two banks, one ledger, payments between them; anybody is killed at any time, and nothing is
 * lost. Exit code 1 where the three do not tell the same story at the end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { audit, play } from './two-banks/play.ts';
import { isUsageError, readCount, SWITCH, TEXT } from './usage.ts';

const HELP = `npm run two-banks -- [flags]

  --payments 1000   how many are sent, by --clients 16, for at most --seconds 20
  --seed <number>   decides about payments and kills; a new one each time
  --calm            nobody is killed
  --chaos <which>   the banks misbehave too, which takes many minutes: see npm run bridge -- --help
`;
const CLIENTS_MAX = 1000;
const SECONDS_MAX = 1_000_000;
const FINDINGS_SHOWN = 20;
const END_MS_MAX = 120_000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    strict: true,
    options: {
      payments: { ...TEXT, default: '1000' },
      clients: { ...TEXT, default: '16' },
      seconds: { ...TEXT, default: '20' },
      seed: { ...TEXT, default: `${Math.floor(Math.random() * 1e9)}` },
      calm: { ...SWITCH, default: false },
      chaos: TEXT,
      help: { ...SWITCH, default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const payments = readCount('--payments', values.payments, 1);
  const clients = readCount('--clients', values.clients, 1, CLIENTS_MAX);
  const sendMsMax = readCount('--seconds', values.seconds, 1, SECONDS_MAX) * 1000;
  const seed = readCount('--seed', values.seed, 0);
  const directory = mkdtempSync(join(tmpdir(), 'ayni-two-banks-'));
  console.log(`ayni two-banks, seed ${seed}. Files: ${directory}\n`);
  const findings = await play({
    directory,
    seed,
    payments,
    clients,
    sendMsMax,
    kills: !values.calm,
    chaos: values.chaos ?? null,
    endMsMax: END_MS_MAX,
    say: (line) => console.log(line),
  });
  const lie = audit(directory);
  if (lie !== null) findings.push(`ayni verify finds a lie in the ledger:\n${lie}`);
  for (const finding of findings.slice(0, FINDINGS_SHOWN)) console.log(`  WRONG  ${finding}`);
  if (findings.length > 0) {
    // The files stay, to be looked at.
    console.log(`\n${findings.length} findings.`);
    return 1;
  }
  rmSync(directory, { recursive: true, force: true });
  console.log('5  Every payment was done in both banks or in none, once; the ledger agrees, and its files verify.');
  return 0;
}

// Whoever ends this process ends those it started: they go when it exits, and a signal alone is no exit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
// So does whoever reads no more, as `| head` does.
process.stdout.once('error', () => process.exit(1));

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`two-banks: ${error instanceof Error ? error.message : error}`);
  process.exitCode = isUsageError(error as Error) ? 2 : 1;
}
