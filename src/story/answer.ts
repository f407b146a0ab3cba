/**
 * Checks what a server answered or sent (a record, a list, an event, a head, a refusal) with the server's public key.
 * What is signed in such a text is proven, and no more: that a record is in the state it is shown in, only a story
 * proves.
 *
 * What kind of text it is follows from what the server signed, not from its looks: anybody can write a record that
 * looks like an event. The server's proof names the luid or status of a record, the ledger of an event or a call, and
 * only the moment of anything else.
 */
import { isObject, type Json, type JsonObject } from './json.ts';
import { expect } from './not-proven.ts';
import { BY_NOBODY, BY_SERVER, type Fact, factOf, type Part, partOf, type Report, saidOf, titleOf } from './report.ts';
import { plain } from './shown.ts';
import { checkProofs, checkSigned, isEnvelope, type Signed, type SignedProof } from './signed.ts';

/** `server`: its public key, base64. Throws NotProven where anything is wrong. */
export function checkAnswer(value: Json, server: string): Report {
  expect(isObject(value), 'it is no story, record, list, event or head');
  const signed = checkSigned(value, 'it', server);
  const customs = signed.proofs.flatMap(({ public: key, custom }) =>
    key === server && isObject(custom) ? [custom] : [],
  );
  const saying = (name: string) => customs.find((custom) => custom[name] !== undefined);
  if (saying('luid') ?? saying('status')) return recordReport(value, signed, server);
  const outward = saying('ledger');
  if (outward !== undefined) return outwardReport(value, signed, outward, server);
  const own = saying('moment');
  expect(own !== undefined, 'it: the server signed it as something that nobody here knows');
  return saidReport(value, signed, own, server);
}

// ---------------------------------------------------------------- records

function recordReport(record: JsonObject, signed: Signed, server: string): Report {
  return {
    verdict: 'signed',
    said: 'Proven is each signature, and what it says; not that the record is in the state that it is shown in',
    notes: [
      'Proofs that came later may be left out, and what stands beside them may be changed: below, each line says whose word it is.',
      'The state of a record is proven by its story, which whoever has the server’s books writes with `ayni export`.',
      'It names no ledger: one server keeps many, and signs for all of them with one key.',
    ],
    parts: [
      partOf(titleOf(signedLuid(signed, server), signed.data), signed, recordFacts(record, signed, server), server),
    ],
  };
}

/** The luid in the server's proofs, undefined where they name none. */
function signedLuid({ proofs }: Signed, server: string): Json | undefined {
  return proofs.map((proof) => luidIn(proof, server)).find((luid) => luid !== undefined);
}

function luidIn({ public: key, custom }: SignedProof, server: string): Json | undefined {
  return key === server && isObject(custom) ? custom.luid : undefined;
}

/** Every member beside data and proofs, each with who vouches for it. */
export function recordFacts(record: JsonObject, signed: Signed, server: string): Fact[] {
  const isOther = signed.proofs.some((proof) => {
    const luid = luidIn(proof, server);
    return luid !== undefined && luid !== record.luid;
  });
  expect(!isOther, 'the server signed it as another record');
  const by = (name: string, value: Json) => signerOf(signed.proofs, name, value, server);
  const facts = record.luid === undefined ? [] : [factOf('luid', record.luid, by('luid', record.luid))];
  facts.push(factOf('hash', signed.hash, 'follows from the data'));
  for (const [name, member] of Object.entries(signed.meta)) {
    if (name === 'proofs') continue;
    const isSigned = name === 'status' || name === 'moment';
    facts.push(factOf(name, member, isSigned ? by(name, member) : BY_NOBODY));
  }
  return [...facts, ...othersOf(record, ['luid', 'hash', 'data', 'meta'])];
}

/** Who vouches for this value in a proof: the server where it does, else the last signer that does. */
function signerOf(proofs: readonly SignedProof[], name: string, value: Json, server: string): string {
  const sayers = proofs.filter(({ custom }) => isObject(custom) && custom[name] === value);
  const own = sayers.find((proof) => proof.public === server);
  if (own !== undefined && name === 'status') return 'signed by the server; what followed may be left out';
  if (own !== undefined && name === 'moment') return momentBy(own);
  if (own !== undefined) return BY_SERVER;
  // A moment in somebody else's proof is not the record's.
  if (sayers.length === 0 || name !== 'status') return BY_NOBODY;
  return `signed by the key ${sayers.at(-1)!.public}; that it became the status, nobody has signed`;
}

/** Each status has a moment of its own: the proof tells to which status this one belongs. */
function momentBy(proof: SignedProof): string {
  const status = saidOf(proof, 'status');
  return status === '' ? BY_SERVER : `signed by the server, with the status ${status}`;
}

function othersOf(value: JsonObject, known: readonly string[]): Fact[] {
  const others = Object.entries(value).filter(([name]) => !known.includes(name));
  return others.map(([name, member]) => factOf(name, member, BY_NOBODY));
}

// ---------------------------------------------------------------- what the server says of its own accord

/** Events and calls: both are signed for one ledger, a call for one bridge too. */
function outwardReport(value: JsonObject, signed: Signed, custom: JsonObject, server: string): Report {
  const isForBridge = custom.bridge !== undefined;
  const signal = isObject(signed.data) && typeof signed.data.signal === 'string' ? plain(signed.data.signal) : '';
  const facts = [...saidFacts(custom), ...unsignedOf(value, signed, custom)];
  const title = isForBridge ? 'call of a bridge' : `event ${signal}`;
  return {
    verdict: 'signed',
    said: `Proven is that the server said this, as ${isForBridge ? 'a call of the bridge' : 'an event'} of the ledger that stands below`,
    notes: ['Of the records in it, what they were then: what happened since, it cannot say.'],
    parts: [partOf(title, signed, facts, server), ...nestedParts(signed.data, server)],
  };
}

/** Lists, heads, refusals: signed with a moment. */
function saidReport(value: JsonObject, signed: Signed, custom: JsonObject, server: string): Report {
  const what = whatIs(signed.data);
  const facts = [...saidFacts(custom), ...unsignedOf(value, signed, custom)];
  return {
    verdict: 'signed',
    said: `Proven is that the server said this at the moment that stands below: ${what.name}`,
    notes: [what.note],
    parts: [partOf(what.name, signed, facts, server), ...nestedParts(signed.data, server)],
  };
}

function whatIs(data: Json): { name: string; note: string } {
  if (Array.isArray(data)) {
    return {
      name: `a list of ${data.length}`,
      note: 'Which question it answers, and which ledger, nobody has signed: it may be a list of something else.',
    };
  }
  const names = isObject(data) ? Object.keys(data).sort().join(' ') : '';
  if (names === 'chain moment seq') {
    return {
      name: 'a head, the end of its books',
      note: 'Keep it: `ayni verify --head` tells whether the history up to it was changed since.',
    };
  }
  if (names.includes('reason')) return { name: 'a refusal', note: 'What was refused, nobody has signed.' };
  return { name: 'an answer', note: 'Which question it answers, and which ledger, nobody has signed.' };
}

function saidFacts(custom: JsonObject): Fact[] {
  return Object.entries(custom).map(([name, member]) => factOf(name, member, BY_SERVER));
}

/** The members that the server did not sign; the moment is left out where it is the signed one. */
function unsignedOf(value: JsonObject, { meta }: Signed, custom: JsonObject): Fact[] {
  const members = Object.entries(meta).filter(
    ([name, member]) => name !== 'proofs' && !(name === 'moment' && member === custom.moment),
  );
  const facts = members.map(([name, member]) => factOf(name, member, BY_NOBODY));
  return [...facts, ...othersOf(value, ['hash', 'data', 'meta'])];
}

/** The records in a list or an event, which the server's signature over the whole covers. */
function nestedParts(data: Json, server: string): Part[] {
  const items = Array.isArray(data) ? data : isObject(data) ? Object.values(data) : [];
  return items.filter(isEnvelope).map((item) => {
    const title = titleOf(item.luid, item.data ?? null);
    const signed = checkProofs(item, 'a record in it');
    const { proofs: _, ...meta } = signed.meta;
    const facts = Object.entries({ luid: item.luid ?? null, hash: signed.hash, ...meta });
    return partOf(
      `in it: ${title}`,
      signed,
      facts.map(([name, member]) => factOf(name, member ?? null, 'signed by the server, with the whole')),
      server,
    );
  });
}
