/**
 * The three who play: a ledger and two banks, each a process of its own on its own directory and port, which it gets
 * back each time it is started again.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../free-ports.ts';
import { type ServerProcess, startBridge, startServer } from '../server-process.ts';

export interface Actor {
  readonly name: string;
  /** Where it listens whenever it runs; a ledger's ends in /v2. */
  readonly url: string;
  readonly directory: string;
  kills: number;
  start(): Promise<void>;
  /** Answers the exit code. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export interface Cast {
  ledger: Actor;
  banks: [Actor, Actor];
}

interface CastPlan {
  directory: string;
  symbol: string;
  /** Accounts each bank opens, with so much in each. */
  accounts: readonly string[];
  funds: number;
  /** How far each bank's wallet may go below zero. */
  limit: number;
  /** What the banks do badly on purpose; null where nothing. */
  chaos: string | null;
}

/** Nobody has been started. */
export async function engage(plan: CastPlan): Promise<Cast> {
  const ports = await freePorts(3);
  const at = (index: number) => `http://127.0.0.1:${ports[index]}`;
  const ledger = makeActor('the ledger', `${at(0)}/v2`, join(plan.directory, 'ledger'), (directory) =>
    startServer(directory, { flags: ['--port', `${ports[0]}`], onLog: logTo(directory) }),
  );
  const bank = (name: string, index: number): Actor => {
    const flags = [
      ...['--port', `${ports[index]}`, '--name', name, '--ledger', ledger.url, '--symbol', plan.symbol],
      ...['--accounts', plan.accounts.map((account) => `${account}=${plan.funds}`).join(',')],
      ...['--join', `${plan.limit}`, ...(plan.chaos === null ? [] : ['--chaos', plan.chaos])],
    ];
    return makeActor(name, at(index), join(plan.directory, name), (directory) =>
      startBridge(directory, { flags, onLog: logTo(directory) }),
    );
  };
  return { ledger, banks: [bank('bank-a', 1), bank('bank-b', 2)] };
}

function makeActor(
  name: string,
  url: string,
  directory: string,
  run: (directory: string) => Promise<ServerProcess>,
): Actor {
  let running: ServerProcess | null = null;
  return {
    name,
    url,
    directory,
    kills: 0,
    async start() {
      running = await run(directory);
    },
    async stop(signal) {
      if (signal === 'SIGKILL') this.kills += 1;
      return (await running?.stop(signal)) ?? null;
    },
  };
}

/** What a process says goes into a file beside its directory. */
function logTo(directory: string): (text: string) => void {
  return (text) => appendFileSync(`${directory}.log`, text);
}
