/**
 * One entry after the other: is it what a client signed, what the server sealed, and what the rules decide?
 *
 * Every command is put together again from the entry it led to and decided against the state before it; then the
 * entry goes through `apply` like live traffic. Signatures are only gathered here.
 *
 * What always holds: an entry reaches the state only after everything about it that needs no signature was checked.
 */
import { type Caller, GRANTED } from '../../core/access/index.ts';
import { apply } from '../../core/apply.ts';
import { isOfBounds } from '../../core/bounds.ts';
import { equalBytes, hex } from '../../core/bytes.ts';
import type { Command, CreateCommand, LegCommand } from '../../core/command.ts';
import { decide, SYSTEM_SIGNER } from '../../core/decide.ts';
import {
  type CreateEntry,
  type DeliveryEntry,
  type Entry,
  EntryType,
  LEG_STATES,
  type StepEntry,
  type StoredProof,
  type TokenEntry,
} from '../../core/entry.ts';
import { luidHash } from '../../core/finding.ts';
import { stepsDue } from '../../core/intents.ts';
import { Kind, kindRow } from '../../core/kinds.ts';
import { isCalling } from '../../core/legs.ts';
import { isLuid, makeLuid } from '../../core/luid.ts';
import { sealCustom } from '../../core/proofs.ts';
import { entryAt, readRow, type VersionEntry } from '../../core/records.ts';
import { isRefusal } from '../../core/refusal.ts';
import { emptyState, type MemorySizes, SERVER_LEDGER, type State } from '../../core/state.ts';
import { follow, type MakeIntent } from '../../core/threads.ts';
import { isOver, luidOfDelivery } from '../../effects/deliveries.ts';
import { EventMemo } from '../../effects/event-memo.ts';
import type { LedgerEvent } from '../../events.ts';
import { compileUserSchema } from '../../http/user-schemas.ts';
import { firstLedger, ownCustom, ownHandle, systemSigner } from '../../own-records.ts';
import { canon } from '../../proof/canon.ts';
import { proofDigest, sha256 } from '../../proof/digest.ts';
import { encodeBase64 } from '../../proof/keys.ts';
import { entryCodec } from '../../storage/codec.ts';
import { versionOf } from '../../storage/entry-bytes.ts';
import { isOutOfMemory } from '../../trouble.ts';
import { differenceTo } from './difference.ts';
import { FoundError, lieAt, type Place } from './finding.ts';
import { KnownTokens } from './known-tokens.ts';
import { Money } from './money.ts';
import { isPlain } from './plain.ts';
import { misfitOf } from './shapes.ts';
import type { Signatures } from './signatures.ts';

/** An entry and where it stands. */
export interface PlacedEntry {
  entry: Entry;
  bytes: Uint8Array;
  place: Place;
}

export type EntryCounts = ReturnType<typeof noCounts>;

export function noCounts() {
  return {
    entries: 0,
    records: 0,
    hashes: 0,
    proofs: 0,
    seals: 0,
    luids: 0,
    decisions: 0,
    /** Of those, how many rest on permissions that the signatures in the books do not explain: tokens, server rules. */
    permitted: 0,
    otherwise: 0,
  };
}

interface EntryAuditOptions {
  serverKey: Uint8Array;
  signatures: Signatures;
  hashSeed: number;
  sizes?: MemorySizes | undefined;
  /** Whether an entry that today's rules would not have written is only counted, and no finding. */
  otherRules: boolean;
  /** Whether such permissions are none: neither tokens nor rules of the server's own are in use. */
  signedOnly: boolean;
}

/** Bytes of a luid that follow from kind and moment. */
const LUID_HEAD_CHARS = 11;
/** The last format version in whose books a client's proofs may hold one of the server's that was sent back. */
const SENT_BACK_VERSION_MAX = 2;
const NO_RANDOM = new Uint8Array(11);

export class EntryAudit {
  readonly state: State;
  readonly money = new Money();
  readonly tokens: KnownTokens;
  readonly counts = noCounts();
  /** Of those that rest on permissions by tokens or by the server's own rules. */
  firstPermitted: Place | null = null;
  readonly #options: EntryAuditOptions;
  /** An intent may have ten thousand events, each of them delivered. */
  readonly #events: EventMemo;
  /** Entries still to come from what was decided last, and from what follows from the last of them. */
  #expected: Entry[] = [];
  #following: Iterator<Entry> | null = null;
  /** Other intents whose time was over at the same moment. */
  #due: Iterator<Entry> | null = null;
  /** What the books have in the place of the entry that is asked for. */
  #upcoming: Entry | null = null;
  #lastMoment = 0;
  #lastOutcome = 0;
  #lastVersion = 0;
  /** Whether a delivery has a name that no build up to 0.3.0 gave. */
  #hasNamesSince040 = false;

  constructor(options: EntryAuditOptions) {
    this.#options = options;
    this.state = emptyState(entryCodec, options.hashSeed, options.sizes);
    // The books have schemas from times when patterns might weigh more: what was let in stays right.
    this.state.compileSchema = (data) => compileUserSchema(data);
    this.tokens = new KnownTokens(this.state.tokens, options.hashSeed);
    this.#events = new EventMemo(this.state);
  }

  /** Before which nothing more can have been written. */
  get lastMoment(): number {
    return Math.max(this.#lastMoment, this.#lastOutcome);
  }

  /**
   * Checks and applies one entry. `next` is the one after it, or null where its frame ends; `frameMoment` that of its
   * frame, where it is known. Throws FoundError.
   */
  add(placed: PlacedEntry, next: Entry | null, frameMoment: number | null): void {
    const { entry, bytes, place } = placed;
    try {
      const isFollowing = this.#check(placed, next, frameMoment);
      if (this.tokens.covers(entry, place)) this.state.log.push(0);
      else apply(this.state, entry, bytes, 0, bytes.length);
      if (!isFollowing) this.#follow(entry);
      this.money.add(entry);
      this.counts.entries++;
    } catch (error) {
      if (error instanceof FoundError || isOutOfMemory(error)) throw error;
      // Whatever the core asserts over an entry speaks of the entry: its own code has run on these books before.
      throw new FoundError('lie', place, `it cannot be applied: ${(error as Error).message}`);
    }
  }

  /** To be called in the place of a token's entry of which nothing is left. */
  passToken(): void {
    this.state.log.push(0);
    this.counts.entries++;
  }

  /** To be called where a frame ends: what is decided together is written together. */
  endFrame(place: Place): void {
    const missing = this.#next(null)?.entry;
    this.#forget();
    if (missing !== undefined) this.#otherwise(place, `an entry about ${missing.luid} should follow`);
  }

  /** Whether the entry follows from one before it. */
  #check(placed: PlacedEntry, next: Entry | null, frameMoment: number | null): boolean {
    const { entry, bytes, place } = placed;
    this.#checkBytes(bytes, place);
    this.#checkMoments(entry, place, frameMoment);
    this.#checkLuid(entry, place);
    this.#checkKind(entry, place);
    this.#checkContent(entry, place);
    return this.#checkDecision(entry, next, place, frameMoment);
  }

  /**
   * What is not written now is no entry of now either: there is no way back to an older server, whose rules were
   * others.
   */
  #checkBytes(bytes: Uint8Array, place: Place): void {
    if (!isPlain(bytes)) throw new FoundError('lie', place, 'its bytes are not as any server writes them');
    const version = versionOf(bytes, 0);
    if (version < this.#lastVersion) {
      const what = `it is of format version ${version}, behind one of version ${this.#lastVersion}`;
      throw new FoundError('lie', place, what);
    }
    this.#lastVersion = version;
  }

  #checkMoments(entry: Entry, place: Place, frameMoment: number | null): void {
    const lie = lieAt(place);
    if (frameMoment !== null && entry.moment > frameMoment) lie('it was received after it was written');
    if ('outcome' in entry) {
      const { moment } = entry.outcome;
      if (frameMoment !== null && moment !== frameMoment) lie('its outcome is of another moment than its frame');
      // Without frames that is all there is: each is decided after it was received, and after what was decided before.
      if (moment < Math.max(entry.moment, this.#lastOutcome))
        lie('time goes back: it was decided before what is before it');
      this.#lastOutcome = moment;
    }
    if (entry.type === EntryType.step) {
      if (entry.moment !== entry.outcome.moment) lie('its moment is not that of its outcome');
      return;
    }
    if (entry.moment < this.#lastMoment) lie('time goes back: it was received before the entry before it');
    this.#lastMoment = entry.moment;
  }

  #checkLuid(entry: Entry, place: Place): void {
    const { luid, kind, type, moment } = entry;
    if (!isLuid(luid)) throw new FoundError('lie', place, 'its luid is none');
    if (type === EntryType.token && !this.#isToken(entry)) {
      throw new FoundError('lie', place, 'it is of no token: ledger, id and luid do not belong together');
    }
    if (type !== EntryType.create && type !== EntryType.intent) return;
    const head = makeLuid(kindRow(kind).prefix, moment, NO_RANDOM).slice(0, LUID_HEAD_CHARS);
    if (!luid.startsWith(head)) throw new FoundError('lie', place, 'its luid is of another kind or moment');
    if (luidExists(this.state, luid)) throw new FoundError('lie', place, 'its luid is that of another record');
    this.counts.luids++;
  }

  /** What there is no request for, whatever the rules of its ledger say. */
  #checkKind({ type, kind }: Entry, place: Place): void {
    const { name, path, update, drop } = kindRow(kind);
    const never = (what: string) => {
      throw new FoundError('lie', place, `a record of kind ${name} is never ${what}`);
    };
    if (type === EntryType.update && !update) never('changed');
    if (type === EntryType.drop && !drop) never('dropped');
    if (type === EntryType.proof && path === '') never('signed again');
  }

  /** A token's entry says nothing that does not follow from its id, but when it came and until when it holds. */
  #isToken({ ledger, kind, handle: id, luid, moment }: TokenEntry): boolean {
    const isId = /^[0-9a-f]{64}$/.test(id) && luid === makeLuid('tkn', moment, Buffer.from(id, 'hex'));
    return isId && kind === Kind.ledger && ledger !== SERVER_LEDGER && ledger < this.state.ledgers.length;
  }

  /** Hash, canonical form, shape, and the rows of its signatures. */
  #checkContent(entry: Entry, place: Place): void {
    if (entry.type === EntryType.step || entry.type === EntryType.token || entry.type === EntryType.delivery) return;
    if (entry.type === EntryType.proof) {
      const record = readRow(this.state, entry.row);
      return this.#addProof(entry.proof, hex(record.entry.hash), place, 0);
    }
    const { data, hash, kind } = entry;
    if (!equalBytes(sha256(data), hash)) throw new FoundError('lie', place, 'its hash is not that of its data');
    const value = parse(data);
    if (value === undefined || canon(value) !== data) throw new FoundError('lie', place, 'its data is not canonical');
    this.counts.hashes++;
    this.counts.records++;
    const operation = entry.type === EntryType.update ? 'update' : entry.type === EntryType.drop ? 'drop' : 'create';
    const misfit = misfitOf(kind, operation, value);
    if (misfit !== null) this.#otherwise(place, `such a record is not let in: ${misfit}`);
    const hashHex = hex(hash);
    if (entry.proofs.length === 0 && entry.type !== EntryType.drop) {
      throw new FoundError('lie', place, 'nobody signed it');
    }
    for (const [index, proof] of entry.proofs.entries()) this.#addProof(proof, hashHex, place, index);
    if (entry.type === EntryType.drop) return;
    const { serverKey, signatures } = this.#options;
    signatures.add(serverKey, proofDigest(hashHex, sealCustom(entry)), entry.seal, place, 'the server did not seal it');
    this.counts.seals++;
    if (kind === Kind.signer && entry.handle === SYSTEM_SIGNER) this.#checkSystemSigner(entry, value, place);
    else if (this.#beginsBooks(entry)) this.#checkFirstLedger(entry, value, place);
  }

  #addProof({ public: key, result, custom }: StoredProof, hashHex: string, place: Place, index: number): void {
    if (custom !== null) {
      const value = parse(custom);
      if (typeof value !== 'object' || value === null || Array.isArray(value) || canon(value) !== custom) {
        throw new FoundError('lie', place, `custom of proof ${index} is not canonical`);
      }
    }
    const what = `proof ${index} is not a signature of ${encodeBase64(key)}`;
    this.#options.signatures.add(key, proofDigest(hashHex, custom), result, place, what);
    this.counts.proofs++;
  }

  /** The server makes it, and nobody has a say in what is in it. */
  #checkSystemSigner(entry: VersionEntry, value: unknown, place: Place): void {
    const { serverKey } = this.#options;
    const lie = lieAt(place);
    if ((value as { public?: unknown }).public !== encodeBase64(serverKey)) lie("it gives another key as the server's");
    if (entry.data !== canon(systemSigner(serverKey))) lie('it says more of the server than any server says of itself');
    this.#checkOwnProofs(entry, place, entry.moment);
  }

  /** The server makes it, too: who is to own it is all that was said to it. */
  #checkFirstLedger(entry: VersionEntry, value: unknown, place: Place): void {
    const owner = (value as { access?: { signer?: { public?: string } }[] }).access?.[0]?.signer?.public ?? '';
    if (entry.data !== canon(firstLedger(entry.handle, owner))) {
      throw new FoundError('lie', place, 'it says something else than the first ledger of any server');
    }
    // Its record was signed a moment before it was asked for, by a clock that may have been set in between.
    this.#checkOwnProofs(entry, place, toldMoment(entry.proofs[0]!));
  }

  /** What the server makes by itself it signs as a client would, once. */
  #checkOwnProofs({ proofs }: VersionEntry, place: Place, moment: number): void {
    const [first, ...others] = proofs;
    const isOwn = others.length === 0 && first?.custom === ownCustom(moment) && this.#isServers(first.public);
    if (!isOwn) throw new FoundError('lie', place, 'it is not signed as the server signs what it makes by itself');
  }

  /** Decides again what led to this entry, or goes on with what was decided with the one before. */
  #checkDecision(entry: Entry, next: Entry | null, place: Place, frameMoment: number | null): boolean {
    this.counts.decisions++;
    const due = this.#next(entry);
    if (due === null) {
      if (this.tokens.covers(entry, place)) this.tokens.check(entry, place);
      else this.#checkDecided(entry, next, place, frameMoment);
      return false;
    }
    const wrong = differenceTo([due.entry], entry, undefined);
    if (wrong === null) return due.isFollowing;
    this.#forget();
    this.#otherwise(place, wrong);
    return false;
  }

  /** What must come next, where anything must; `upcoming` is what does. */
  #next(upcoming: Entry | null): { entry: Entry; isFollowing: boolean } | null {
    this.#upcoming = upcoming;
    const follows = this.#following?.next();
    if (follows !== undefined && follows.done !== true) return { entry: follows.value, isFollowing: true };
    this.#following = null;
    const expected = this.#expected.shift();
    if (expected !== undefined) return { entry: expected, isFollowing: false };
    if (upcoming?.type !== EntryType.step || isNoteOfCall(upcoming)) return null;
    const due = this.#due?.next();
    if (due === undefined || due.done === true) return null;
    if (due.value.moment === upcoming.moment) return { entry: due.value, isFollowing: false };
    // One frame does not take all that are due: where frames are not known, the moment tells the next.
    this.#due = null;
    return null;
  }

  #forget(): void {
    this.#following = null;
    this.#expected = [];
    this.#due = null;
  }

  #follow(entry: Entry): void {
    if (entry.type !== EntryType.intent && entry.type !== EntryType.step) return;
    const following = { received: this.#lastMoment, now: entry.outcome.moment, makeIntent: this.#makeIntent };
    this.#following = follow(this.state, entry, following)[Symbol.iterator]();
  }

  /** The server's own intent as it must be; what it may choose, its luid, is taken from the books. */
  readonly #makeIntent: MakeIntent = (value, moment) => {
    const { luid, proofs, seal } = this.#upcoming?.type === EntryType.intent ? this.#upcoming : NO_INTENT;
    const handle = ownHandle(luid);
    const data = canon({ ...value, handle });
    const own = { public: this.#options.serverKey, custom: ownCustom(moment) };
    const signed = proofs.slice(0, 1).map(({ result }) => ({ ...own, result }));
    return { luid, handle, hash: sha256(data), data, proofs: signed, seal };
  };

  #checkDecided(entry: Entry, next: Entry | null, place: Place, frameMoment: number | null): void {
    if (this.#isOfNoClient(entry))
      throw new FoundError('lie', place, 'the server signed it as a client, which it never does');
    const bySigners = this.#decide(entry, next, frameMoment, false);
    const unlike = differenceTo(bySigners, entry, next);
    if (unlike === null && !mayBeMore(bySigners as Entry[], entry, next)) {
      this.#expected = (bySigners as Entry[]).slice(1);
      return;
    }
    // Tokens and the server's own rules allow things too, and stand in no entry. They only ever add permissions.
    const byAll = this.#decide(entry, next, frameMoment, true);
    if (unlike === null) {
      const late = endOf(this.state, next, frameMoment !== null);
      if (late === null && !explains(byAll, entry, next)) return;
      this.#permit(place);
      this.#expected = late === null ? (byAll as Entry[]).slice(1) : [late];
      return;
    }
    for (const decided of [byAll, waiting(bySigners, byAll)]) {
      if (differenceTo(decided, entry, next) !== null) continue;
      this.#permit(place);
      this.#expected = (decided as Entry[]).slice(1);
      return;
    }
    const begun = [bySigners, byAll].find((decided) => differenceTo(decided, entry, undefined) === null);
    // This entry is as it should be, and what is wrong follows it.
    if (begun !== undefined) this.#expected = (begun as Entry[]).slice(1);
    else this.#otherwise(place, differenceTo(typeof bySigners === 'string' ? byAll : bySigners, entry, next)!);
  }

  /**
   * Whether it has a proof by the server that is not the server's to give: it begins the books with the first ledger,
   * which is its own then, so rules may let it do everything there. Before 0.3.0 a client could send such a proof back.
   */
  #isOfNoClient(entry: Entry): boolean {
    if (this.#lastVersion <= SENT_BACK_VERSION_MAX || this.#beginsBooks(entry)) return false;
    const proofs = entry.type === EntryType.proof ? [entry.proof] : 'proofs' in entry ? entry.proofs : [];
    return proofs.some((proof) => this.#isServers(proof.public));
  }

  #beginsBooks({ kind, type }: Entry): boolean {
    return kind === Kind.ledger && type === EntryType.create && this.state.ledgers.length === 1;
  }

  #isServers(key: Uint8Array): boolean {
    return equalBytes(key, this.#options.serverKey);
  }

  /**
   * Whose rights it has: a proof of the server's that was sent back gave none that a client had by itself. The first
   * ledger, which the server signs, needs nobody's: whoever is let in may make ledgers.
   */
  #signersOf(proofs: readonly StoredProof[]): Uint8Array[] {
    return proofs.map((proof) => proof.public).filter((key) => !this.#isServers(key));
  }

  /** The entries that today's rules make of what led to this entry, or why they make none. */
  #decide(entry: Entry, next: Entry | null, frameMoment: number | null, isGranted: boolean): Entry[] | string {
    if (entry.type === EntryType.step && !isNoteOfCall(entry)) {
      this.#due = stepsDue(this.state, entry.moment);
      const first = this.#due.next();
      return first.done === true ? 'nothing is due' : [first.value];
    }
    const command = this.#commandOf(entry, next, isGranted);
    if (typeof command === 'string') return command;
    const outcome = decide(this.state, command, frameMoment ?? nowOf(entry, next));
    return isRefusal(outcome) ? `it would be refused: ${outcome.reason}: ${outcome.detail}` : outcome;
  }

  #commandOf(entry: Entry, next: Entry | null, isGranted: boolean): Command | string {
    const { ledger, kind, moment, luid } = entry;
    if (entry.type === EntryType.step) return noteOfCall(this.state, entry);
    if (entry.type === EntryType.delivery) {
      const { row, seq, index, attempts, isDelivered, detail } = entry;
      const event = this.#eventOf(entry);
      if (event === null) return `entry ${seq} has no event ${index} in this ledger`;
      const wrong = this.#differenceOfNote(entry, event);
      if (wrong !== null) return wrong;
      const receiver = readRow(this.state, row).entry.luid;
      const delivery = { receiver, seq, index, attempts, isDelivered, detail };
      return { op: 'delivery', ledger, kind, moment, caller: GRANTED, luid, ...delivery };
    }
    const callerOf = (proofs: readonly StoredProof[]): Caller =>
      isGranted ? GRANTED : { keys: this.#signersOf(proofs), bearer: null };
    if (entry.type === EntryType.token) {
      const { handle: id, exp } = entry;
      return { op: 'token', ledger, kind, moment, caller: callerOf([]), luid, id, exp };
    }
    if (entry.type === EntryType.proof) {
      const { proof } = entry;
      const { hash } = readRow(this.state, entry.row).entry;
      return { op: 'proof', ledger, kind, moment, caller: callerOf([proof]), luid, hash, proof };
    }
    const { data, hash, proofs } = entry;
    const caller = callerOf(proofs);
    const content = { ledger, kind, moment, caller, value: JSON.parse(data), data, hash, proofs, luid };
    if (entry.type === EntryType.drop) return { op: 'drop', ...content };
    if (entry.type === EntryType.update) return { op: 'update', ...content, seal: entry.seal };
    const command: CreateCommand = { op: 'create', ...content, sheet: null, seal: entry.seal };
    if (kind !== Kind.ledger) return command;
    if (next?.type !== EntryType.create || next.kind !== Kind.signer || next.handle !== SYSTEM_SIGNER) {
      return 'the server would be its first signer';
    }
    return { ...command, companion: companionOf(next, command) };
  }

  /** The event that a delivery speaks of, which happened before it in the same ledger, or null. */
  #eventOf({ seq, index, ledger }: DeliveryEntry): LedgerEvent | null {
    const placed = seq >= 1 && seq <= this.state.log.length ? this.#events.placedAt(seq) : null;
    return placed !== null && placed.ledger === ledger ? this.#events.find(placed, index) : null;
  }

  /**
   * Why it is no note of this event: once that was taken it is told no more, and each round of attempts has a luid of
   * its own, after the one before it, which was given up. Builds up to 0.3.0 gave all rounds one, and there is no way
   * back to them.
   */
  #differenceOfNote(entry: DeliveryEntry, { handle }: LedgerEvent): string | null {
    const { row, seq, luid } = entry;
    const receiver = readRow(this.state, row).entry.luid;
    const { moment } = this.#events.placedAt(seq)!.entry;
    const before = this.#noteBefore(entry);
    if (before?.isDelivered) return 'the event was delivered before';
    if (luid === luidOfDelivery(receiver, before?.luid ?? handle, moment)) this.#hasNamesSince040 = true;
    else if (this.#hasNamesSince040 || luid !== luidBefore040(receiver, handle)) {
      return 'its luid is of another event, or of another receiver';
    }
    return null;
  }

  /** What became last of the same event for the same receiver, where that was tried before. */
  #noteBefore({ row, seq, index }: DeliveryEntry): DeliveryEntry | null {
    const feed = this.state.feeds.get(row);
    // Of one that comes in its turn there is none: nothing is looked for.
    if (feed === undefined || !isOver({ seq, index }, feed)) return null;
    for (let at = feed.last; at !== 0; at = this.state.heap.prev(at)) {
      const note = entryAt(this.state, at) as DeliveryEntry;
      if (note.seq === seq && note.index === index) return note;
    }
    return null;
  }

  /** A decision that no signature in the books explains. */
  #permit(place: Place): void {
    this.counts.permitted++;
    this.firstPermitted ??= place;
    if (this.#options.signedOnly) this.#otherwise(place, 'no signature in the books permits it');
  }

  #otherwise(place: Place, what: string): void {
    this.counts.otherwise++;
    if (!this.#options.otherRules) throw new FoundError('decided', place, what);
  }
}

/** The luid, proofs and seal of no intent: where one should follow and none does. */
const NO_INTENT = { luid: '', proofs: [] as StoredProof[], seal: new Uint8Array(0) };

/** Builds up to 0.3.0 named a delivery by a hash alone. */
function luidBefore040(receiver: string, event: string): string {
  return `$evd.${Buffer.from(sha256(`${receiver} ${event}`))
    .toString('base64url')
    .slice(0, 17)}`;
}

/** Whether a step is what the server noted of a call to a bridge; all others follow from a proof, or from time. */
function isNoteOfCall({ outcome }: StepEntry): boolean {
  const { steps, links } = outcome;
  if (steps[0] === 'error') return true;
  return !steps.includes('failed') && (links?.marks.length ?? 0) > 0;
}

function noteOfCall({ open }: State, { ledger, kind, moment, luid, row, outcome }: StepEntry): LegCommand | string {
  const isLost = outcome.steps[0] === 'error';
  const leg = (isLost ? outcome.links?.leg : outcome.links?.marks[0]) ?? -1;
  const state = LEG_STATES[open.get(row)?.legs[leg] ?? -1];
  if (state === undefined || !isCalling(state)) return 'it has no leg whose bridge is called';
  const result = isLost ? 'lost' : 'told';
  return { op: 'leg', ledger, kind, moment, caller: GRANTED, luid, leg, state, result, detail: outcome.detail };
}

/** It is made with its ledger. */
function companionOf(entry: CreateEntry, { moment, caller }: CreateCommand): CreateCommand {
  const { kind, data, hash, proofs, luid, seal } = entry;
  const content = { value: JSON.parse(data), data, hash, proofs };
  return { op: 'create', ledger: SERVER_LEDGER, kind, moment, caller, ...content, sheet: null, luid, seal };
}

/** What is decided where some permission is there and another missing, so that neither of these two is. */
function waiting(bySigners: Entry[] | string, byAll: Entry[] | string): Entry[] | string {
  if (typeof bySigners !== 'string' || typeof byAll === 'string') return byAll;
  const [first] = byAll;
  if (first?.type === EntryType.intent && isAskedLast(first.outcome.reason)) {
    const { moment } = first.outcome;
    return [{ ...first, outcome: { moment, steps: [], reason: '', detail: '', postings: [], limits: [] } }];
  }
  // A proof by somebody who may add it, and whose permission is not enough for what waits.
  return first?.type === EntryType.proof ? [first] : byAll;
}

/**
 * Whether that is found out only where no permission is missing: an intent that waits for one is asked for no money
 * yet.
 */
function isAskedLast(reason: string): boolean {
  return reason === '' || isOfBounds(reason);
}

/** Whether an intent goes on in the books with a proof that moves nothing by what its signer alone may do. */
function mayBeMore(decided: Entry[], entry: Entry, next: Entry | null): boolean {
  if (decided.length > 1 || entry.type !== EntryType.proof) return false;
  return next?.type === EntryType.step && next.row === entry.row;
}

/**
 * The end of the intent in `next` where its time is over: what would have moved it came too late. Where frames are not
 * known it may have a frame of its own, in which time alone ended it: nothing else is said of the one whose turn it is.
 */
function endOf(state: State, next: Entry | null, isOneFrame: boolean): StepEntry | null {
  if (next?.type !== EntryType.step || next.outcome.reason !== 'core.intent-expired') return null;
  let isFirst = true;
  for (const step of stepsDue(state, next.moment)) {
    if (step.row === next.row) return isFirst && !isOneFrame ? null : step;
    isFirst = false;
  }
  return null;
}

/** Whether both entries were decided at once. */
function explains(decided: Entry[] | string, entry: Entry, next: Entry | null): decided is Entry[] {
  return typeof decided !== 'string' && decided.length > 1 && differenceTo(decided, entry, next) === null;
}

/**
 * When it was decided, as far as the entries tell: without frames only outcomes do, its own before that of the next.
 */
function nowOf(entry: Entry, next: Entry | null): number {
  if ('outcome' in entry) return entry.outcome.moment;
  return next?.type === EntryType.step ? next.moment : entry.moment;
}

/** When it was made, as it says itself; 0 where it does not say so. */
function toldMoment({ custom }: StoredProof): number {
  const { moment } = JSON.parse(custom ?? '{}');
  return typeof moment === 'string' && !Number.isNaN(Date.parse(moment)) ? Date.parse(moment) : 0;
}

function luidExists(state: State, luid: string): boolean {
  const { luids, rows, heap, codec } = state;
  for (let row = luids.first(luidHash(state, luid)); row >= 0; row = luids.next()) {
    const at = rows.at.get(row);
    if (codec.luidEquals(heap.chunk(at), heap.offset(at), luid)) return true;
  }
  return false;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
