/**
 * `npm run bench -- verify`: how fast books are audited. Writes a journal of transfers, each signed by a client and
 * sealed by the server as in real life, with a snapshot on the way, and lets `ayni verify` have it whole.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditReport, audit } from '../src/cli/audit/audit.ts';
import { findingText } from '../src/cli/audit/finding.ts';
import { apply } from '../src/core/apply.ts';
import type { CreateCommand } from '../src/core/command.ts';
import { decide, SYSTEM_SIGNER } from '../src/core/decide.ts';
import { dumpState } from '../src/core/dump.ts';
import { Kind, kindRow } from '../src/core/kinds.ts';
import { makeLuid } from '../src/core/luid.ts';
import { createdCustom, isoMoment } from '../src/core/proofs.ts';
import { isRefusal } from '../src/core/refusal.ts';
import { emptyState, type State } from '../src/core/state.ts';
import { canon } from '../src/proof/canon.ts';
import { proofDigest, sha256, sha256Hex } from '../src/proof/digest.ts';
import { createKeyPair, encodeBase64, type KeyPair } from '../src/proof/keys.ts';
import { sign, verifyBy } from '../src/proof/verify.ts';
import { entryCodec } from '../src/storage/codec.ts';
import { realDisk } from '../src/storage/disk.ts';
import { JOURNAL_START, Journal } from '../src/storage/journal.ts';
import { takeSnapshot } from '../src/storage/snapshot.ts';
import { packValue } from '../src/storage/values.ts';
import { fundingData, ownerKeys, symbolData, transferData, walletData } from './load/intents.ts';
import type { BenchOptions, BenchResult } from './result.ts';

const INTENTS = 50_000;
const WALLETS = 500;
/** Entries in a frame, as a server under load makes them. */
const FRAME_ENTRIES = 100;
const BEGAN = Date.UTC(2030, 0, 1);

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const directory = mkdtempSync(join(tmpdir(), 'ayni-bench-verify-'));
  const server = createKeyPair();
  try {
    await writeBooks(directory, server, smoke ? 500 : INTENTS);
    const rows: [number, AuditReport, cpuSeconds: number][] = [];
    for (const workers of new Set([1, availableParallelism()])) {
      const options = { disk: realDisk, directory, key: server.public, workers, otherRules: false };
      const before = process.cpuUsage();
      const report = await audit(options);
      const { user, system } = process.cpuUsage(before);
      rows.push([workers, report, (user + system) / 1e6]);
    }
    return {
      name: 'verify',
      tables: [
        {
          title: 'ayni verify',
          columns: [
            'workers',
            'entries',
            'MB',
            'signatures',
            's',
            'CPU s',
            'entries/s',
            'signatures/s',
            'CPU µs an entry',
          ],
          rows: rows.map(([workers, { counts, segmentBytes, signatures, milliseconds }, cpu]) => [
            workers,
            counts.entries,
            segmentBytes / 1e6,
            signatures,
            milliseconds / 1000,
            cpu,
            (counts.entries * 1000) / milliseconds,
            (signatures * 1000) / milliseconds,
            (cpu * 1e6) / counts.entries,
          ]),
        },
      ],
      goals: [],
      notes: rows.flatMap(([, { finding }]) => (finding === null ? [] : [findingText(finding)])),
      ok: rows.every(([, { finding, snapshots }]) => finding === null && snapshots === 1),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A ledger, a symbol, wallets with funds, and then transfers; a snapshot in the middle. */
async function writeBooks(directory: string, server: KeyPair, intents: number): Promise<void> {
  const scribe = new Scribe(directory, server);
  const owner = encodeBase64(ownerKeys(0).public);
  const ledger = scribe.command(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, server, 0);
  const system = { handle: SYSTEM_SIGNER, format: 'ed25519-raw', public: encodeBase64(server.public) };
  await scribe.write({ ...ledger, companion: scribe.command(Kind.signer, system, server, 0) });
  await scribe.write(scribe.command(Kind.symbol, symbolData(owner), ownerKeys(0)));
  for (let wallet = 0; wallet < WALLETS; wallet++) {
    const keys = ownerKeys(wallet);
    await scribe.write(scribe.command(Kind.wallet, walletData(wallet, encodeBase64(keys.public)), keys));
  }
  await scribe.write(scribe.command(Kind.intent, fundingData(0, WALLETS, owner), ownerKeys(0)));
  const owners = Array.from({ length: WALLETS }, (_, wallet) => ownerKeys(wallet));
  const texts = owners.map((keys) => encodeBase64(keys.public));
  for (let i = 0; i < intents; i++) {
    const wallet = i % WALLETS;
    const data = transferData(`intent-${i}`, texts[wallet]!, wallet, WALLETS, 1, i);
    await scribe.write(scribe.command(Kind.intent, data, owners[wallet]!));
    if (i === Math.floor(intents * 0.9)) await scribe.snapshot();
  }
  await scribe.close();
}

/** Does what engine and pool do, one command after the other, without syncs. */
class Scribe {
  readonly #directory: string;
  readonly #server: KeyPair;
  readonly #state: State = emptyState(entryCodec, 17);
  readonly #journal: Journal;
  #moment = BEGAN;
  #made = 0;

  constructor(directory: string, server: KeyPair) {
    this.#directory = directory;
    this.#server = server;
    this.#journal = Journal.open(realDisk, directory, JOURNAL_START, {
      segmentBytesMax: 64 * 1024 * 1024,
      durability: 'none',
      sign: (hash) => sign(hash, server),
    });
  }

  command(kind: Kind, value: Record<string, unknown>, keys: KeyPair, ledger = 1): CreateCommand {
    const data = canon(value);
    const hashHex = sha256Hex(data);
    const moment = this.#moment;
    const luid = makeLuid(kindRow(kind).prefix, moment, sha256(`luid ${this.#made++}`));
    const custom = `{"moment":"${isoMoment(moment)}","status":"created"}`;
    const status = kind === Kind.intent ? 'pending' : 'created';
    return {
      op: 'create',
      sheet: null,
      ledger,
      kind,
      moment,
      caller: { keys: [keys.public], bearer: null },
      value,
      data,
      hash: Buffer.from(hashHex, 'hex'),
      proofs: [{ public: keys.public, result: sign(proofDigest(hashHex, custom), keys), custom }],
      luid,
      seal: sign(proofDigest(hashHex, createdCustom(luid, moment, status)), this.#server),
    };
  }

  async write(command: CreateCommand): Promise<void> {
    const outcome = decide(this.#state, command, this.#moment);
    if (isRefusal(outcome)) throw new Error(`${outcome.reason}: ${outcome.detail}`);
    for (const entry of outcome) {
      const bytes = this.#journal.add(entry);
      apply(this.#state, entry, bytes, 0, bytes.length);
    }
    if (this.#journal.frameEntries >= FRAME_ENTRIES) await this.#commit();
  }

  async snapshot(): Promise<void> {
    await this.#commit();
    const { extra, parts } = dumpState(this.#state);
    const content = { ...this.#journal.position, extra: packValue(extra), parts };
    await takeSnapshot(realDisk, this.#directory, content, {
      sign: (hash) => sign(hash, this.#server),
      verify: verifyBy(this.#server.public),
    });
  }

  async close(): Promise<void> {
    await this.#commit();
    await this.#journal.close();
  }

  async #commit(): Promise<void> {
    if (this.#journal.frameEntries === 0) return;
    const moment = this.#moment;
    await new Promise<void>((resolve, reject) => {
      this.#journal.commit(moment, (error) => (error === null ? resolve() : reject(error)));
    });
    this.#moment += 10;
  }
}
