/** Makes the requests of one part, see requests.ts. Runs as a worker thread. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { type SignedRecord, signRecord } from '../../src/cli/client.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { intentHandle, ledgerHandle, ownerKeys, transferData } from './intents.ts';
import type { PartPlan } from './requests.ts';

const WRITE_BYTES = 4 * 1024 * 1024;

const plan = workerData as PartPlan;
/** A prime: from whichever wallet it starts, all have had their turn before one comes again. */
const FAR = 7_368_787;

const owners = Array.from({ length: plan.signers ?? plan.sources ?? plan.wallets }, (_, wallet) => {
  const keys = ownerKeys(wallet);
  return { keys, public: encodeBase64(keys.public) };
});
/** Parts begin in different ones. */
const firstLedger = Math.floor(((plan.ledgers ?? 0) * plan.part) / plan.parts);
const lengths = new Uint32Array(plan.intents);
const file = openSync(`${plan.path}.http`, 'w');
let texts: string[] = [];
let bytes = 0;

for (let position = 0; position < plan.intents; position++) {
  const turn = position * 7 + plan.part;
  const owner = owners[turn % owners.length]!;
  const source = plan.signers === undefined ? turn % owners.length : (position * FAR + plan.part) % plan.wallets;
  const handle = intentHandle(plan.run, plan.part, position);
  const data = transferData(handle, owner.public, source, plan.wallets, plan.claims, position * 31 + plan.part);
  const ledger = plan.ledgers === undefined ? plan.ledger : ledgerHandle((position + firstLedger) % plan.ledgers);
  const text = formatRequest(signRecord(data, owner.keys), ledger);
  lengths[position] = text.length;
  texts.push(text);
  bytes += text.length;
  if (bytes >= WRITE_BYTES) flush();
}
flush();
fdatasyncSync(file);
closeSync(file);

const lengthsFile = openSync(`${plan.path}.lengths`, 'w');
writeSync(lengthsFile, new Uint8Array(lengths.buffer));
closeSync(lengthsFile);

function flush(): void {
  writeSync(file, texts.join(''), null, 'latin1');
  texts = [];
  bytes = 0;
}

/** The whole request; its text is ASCII, so characters are bytes. */
function formatRequest(record: SignedRecord, selected: string | undefined): string {
  const body = JSON.stringify(record);
  const ledger = selected === undefined ? '' : `x-ledger: ${selected}\r\n`;
  return `POST /v2/intents HTTP/1.1\r\nHost: 127.0.0.1\r\n${ledger}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
