/**
 * Run by small-heap.test.ts in a process that V8 gives little: opens books in the directory that is named, wires rooms and
 * door as a server does, and prints what each of these makes of the share that caches are to keep.
 */
import { openBooks } from '../../src/books.ts';
import { readConfig } from '../../src/config.ts';
import { openDefaultLedger } from '../../src/default-ledger.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { logAt } from '../../src/log.ts';
import { TextRing } from '../../src/text-ring.ts';
import { openDoor, wireRooms } from '../../src/wiring.ts';
import { makeKeys, record } from '../support/client.ts';

const config = readConfig(['--workers', '1', '--texts-bytes-max', String(1 << 28)], {});
const log = logAt('error');
const books = openBooks(process.argv[2]!, '', log);
const rooms = wireRooms(config, books, log);
const ledger = await openDefaultLedger(rooms.engine, rooms.server, config, books, log.tell);
const door = openDoor(config, rooms, ledger, log);

function ask(method: string, path: string, body = ''): Promise<number> {
  const request = { method, methodSent: method, path, query: null, body: Buffer.from(body) };
  return new Promise((resolve) =>
    door.handle(
      { ...request, header: () => '', forgetHead() {} },
      { aborted: false, whenGone() {}, stay() {}, send: resolve },
    ),
  );
}

const schemaOf = (n: number) => compileUserSchema(JSON.stringify({ schema: { type: 'object', minProperties: n } }));
const schema = schemaOf(0);
for (let n = 1; n < 100; n++) schemaOf(n);

// Of two megabytes of texts that were told, whether the first one is at hand, or has to be taken out of the ring.
const WALLETS = 40;
const custom = { pad: 'x'.repeat(50_000) };
const keys = makeKeys();
for (let n = 0; n < WALLETS; n++)
  await ask('POST', '/v2/wallets', JSON.stringify(record({ handle: `w${n}`, custom }, keys)));
let status = 0;
for (let n = 0; n < WALLETS; n++) status = await ask('GET', `/v2/wallets/w${n}`);
let keepsText = true;
const { get } = TextRing.prototype;
TextRing.prototype.get = function (key) {
  keepsText = false;
  return get.call(this, key);
};
await ask('GET', '/v2/wallets/w0');

// Of the proofs of ten thousand outcomes, and of half as many lists, those that came first.
const proof = 'x'.repeat(600);
for (let n = 0; n < 10_000; n++) {
  rooms.sealer.keepLate(`${n}`, proof);
  if (n % 2 === 0) rooms.sealer.keepList(`${n}`, { moment: 1, proof });
}
const keepsProof = rooms.sealer.hasLate('0') || rooms.sealer.listBetween('0', 0, 2) !== undefined;

const { cacheShare } = books.state;
const keepsSchema = schemaOf(0) === schema;
process.stdout.write(JSON.stringify({ cacheShare, keepsProof, keepsSchema, keepsText, status }));
process.exit(0);
