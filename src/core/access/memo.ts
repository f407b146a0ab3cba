/**
 * What access decisions remember between them. Nothing in here is part of the books: all of it follows from the state,
 * and a state with an empty memo decides the same, only slower.
 *
 * Three rules keep it right. What depends on a record's content is kept by the heap address of its newest entry, and
 * bytes at an address never change. What depends on signers and circles, or on policies, is kept with a count of the
 * changes to those in its ledger, and looked up again once the count has moved. Everything has a bound; past it, what
 * nobody has asked for lately is forgotten, or all.
 */
import { Recent } from '../../memory/index.ts';
import { Kind } from '../kinds.ts';
import type { Skips } from '../skips.ts';
import type { LedgerInfo } from '../state.ts';
import type { People } from './people.ts';
import type { PolicyPart, Rules } from './rules.ts';
import type { SignersOfKey } from './signers-of-key.ts';

/** What is known of the record whose newest entry lies at some address. */
export interface RecordFacts {
  /** Null until they are asked for. */
  rules: Rules | null;
  /** What of its rules is known without compiling them; null until they are asked for. */
  listing: Listing | null;
  owners: readonly Uint8Array[] | null;
  labels: readonly string[] | null;
}

/** A record's list of rules as it is written. */
interface Listing {
  /** Bytes of the entry that it stands in, and characters of the list; -1 until it was read. */
  readonly bytes: number;
  chars: number;
  /** Bits of the actions that no rule of it speaks of. */
  unnamed: number;
}

/** What is known of a ledger as one version of its record tells it. */
export interface LedgerFacts {
  /** The version, by identity. */
  readonly info: LedgerInfo;
  rules: Rules | null;
  /** The rules of the version before, as long as there are none of this one. */
  before: Rules | null;
  /** Which of its policies say nothing, where policies are its rules. They are few numbers, and never wrong. */
  skips: Skips | null;
  /** Whether it lets everybody do everything, whatever its policies are. */
  isOpen: boolean;
  owners: readonly Uint8Array[] | null;
}

/**
 * Room for what is known of records, and for their rules, of which a list that many share counts once. Each takes about
 * a kilobyte, and one more for each kilobyte of text or some owners.
 */
const RECORD_WEIGHT_MAX = 60_000;
const OWNERS_PER_RULE = 6;
export const TEXT_PER_RULE = 1024;
/** Characters of rule lists by which equal ones are found, and of what their rules take. */
const LIST_CHARS_MAX = 4_000_000;
/** The same of policies: a kilobyte of what `$in` lists can be some six of memory. */
const POLICY_RULES_MAX = 15_000;
/**
 * Characters of ledgers' records whose rules are at hand, and of what those take: a record can be a megabyte, or name
 * few policies that come to thousands of rules, and anybody may make more of them.
 */
const LEDGER_CHARS_MAX = 32_000_000;
/** What a rule takes of such room, whatever it was read from. */
const RULE_CHARS = 128;
/** What rules remember of what they were asked, in words: about 64 MB. */
const ANSWERS_MAX = 4_000_000;
const PEOPLE_MAX = 4096;
/** Characters of the signers that are remembered, and of the circles they were asked for, in all ledgers. */
const PEOPLE_CHARS_MAX = 16_000_000;

/** Bounded room for something that is remembered: what does not fit makes all that is there be forgotten first. */
class Room {
  readonly #max: number;
  readonly #forget: () => void;
  #taken = 0;

  constructor(max: number, forget: () => void) {
    this.#max = max;
    this.#forget = forget;
  }

  take(more: number): void {
    if (this.#taken + more > this.#max) this.clear();
    this.#taken += more;
  }

  clear(): void {
    this.#forget();
    this.#taken = 0;
  }
}

export class AccessMemo {
  /** The server's own rules; null until they are asked for, or set. */
  server: Rules | null = null;
  /** Whether the server lets everybody in for wallets and the like, that is, for whatever lives in a ledger. */
  isServerOpen = false;
  readonly ledgers: (LedgerFacts | undefined)[] = [];
  readonly #ledgerRoom: Room;
  /** Changes of signers, circles and their members, by ledger. */
  readonly #peopleEpochs: number[] = [];
  readonly #policyEpochs: number[] = [];
  readonly #people = new Map<number, People>();
  readonly #peopleMax: number;
  readonly #peopleRoom: Room;
  /**
   * The signers of keys that very many records carry, by the hash under which they are found. They are not forgotten:
   * to make one takes thousands of records.
   */
  readonly crowds = new Map<number, SignersOfKey>();
  /** Facts that go are still good for whoever holds them. */
  readonly #records: Recent<number, RecordFacts>;
  /** The lists among the facts of the young records. */
  readonly #recordRules = new Set<Rules>();
  readonly #lists: Recent<string, { readonly chars: number; readonly rules: Rules }>;
  readonly #policies: Recent<number, PolicyPart>;
  readonly #answerRoom: Room;

  constructor(cacheShare = 1) {
    const room = (max: number, forget: () => void) => new Room(max * cacheShare, forget);
    this.#peopleMax = PEOPLE_MAX * cacheShare;
    this.#ledgerRoom = room(LEDGER_CHARS_MAX, () => {
      for (const each of this.ledgers) {
        if (each === undefined) continue;
        each.rules = null;
        each.before = null;
      }
    });
    this.#peopleRoom = room(PEOPLE_CHARS_MAX, () => this.#people.clear());
    // What took long to read is kept however much it takes: it would be read again for each intent.
    const keepsLarge = true;
    this.#records = new Recent(
      RECORD_WEIGHT_MAX * cacheShare,
      (facts) => 1 + (facts.owners?.length ?? 0) / OWNERS_PER_RULE + this.#ruleWeight(facts),
      { keepsLarge, turned: () => this.#recordRules.clear() },
    );
    this.#lists = new Recent(LIST_CHARS_MAX * cacheShare, ({ chars, rules }) => chars + RULE_CHARS * rules.weight, {
      keepsLarge,
    });
    this.#policies = new Recent(POLICY_RULES_MAX * cacheShare, ({ values, weight }) => values.length + weight, {
      keepsLarge,
    });
    this.#answerRoom = room(ANSWERS_MAX, () => {
      this.#records.clear();
      this.#lists.clear();
      this.#ledgerRoom.clear();
      this.server?.forgetAnswers();
    });
  }

  /** To be told of every change of a record. */
  changed(kind: Kind, ledger: number): void {
    if (kind === Kind.signer || kind === Kind.circle || kind === Kind['circle-signer']) {
      this.#peopleEpochs[ledger] = this.peopleEpoch(ledger) + 1;
    } else if (kind === Kind.policy) {
      this.#policyEpochs[ledger] = this.policyEpoch(ledger) + 1;
    }
  }

  peopleEpoch(ledger: number): number {
    return this.#peopleEpochs[ledger] ?? 0;
  }

  policyEpoch(ledger: number): number {
    return this.#policyEpochs[ledger] ?? 0;
  }

  people(ledger: number): People | undefined {
    return this.#people.get(ledger);
  }

  setPeople(ledger: number, people: People): void {
    if (this.#people.size >= this.#peopleMax) this.#peopleRoom.clear();
    this.#people.set(ledger, people);
  }

  /**
   * A signer or circle of so many characters is remembered from now on. What was forgotten since still counts for a
   * while.
   */
  holdPeople(chars: number): void {
    this.#peopleRoom.take(chars);
  }

  /** Facts of the record at this address; made empty where there are none. */
  record(at: number): RecordFacts {
    const known = this.#records.get(at);
    if (known !== undefined) {
      if (known.rules !== null) this.#recordRules.add(known.rules);
      return known;
    }
    const facts: RecordFacts = { rules: null, listing: null, owners: null, labels: null };
    this.#records.set(at, facts);
    return facts;
  }

  setRecordRules(facts: RecordFacts, rules: Rules): void {
    facts.rules = rules;
    this.#records.grow(this.#ruleWeight(facts));
    this.#recordRules.add(rules);
  }

  /** What the rules of a record take; a list that others of its generation have as well takes nothing. */
  #ruleWeight({ rules, listing }: RecordFacts): number {
    if (rules === null || this.#recordRules.has(rules)) return 0;
    return rules.weight + (listing?.chars ?? 0) / TEXT_PER_RULE;
  }

  setOwners(facts: RecordFacts, owners: readonly Uint8Array[]): void {
    this.#records.grow(owners.length / OWNERS_PER_RULE);
    facts.owners = owners;
  }

  list(text: string): Rules | undefined {
    return this.#lists.get(text)?.rules;
  }

  setList(text: string, rules: Rules): void {
    this.#lists.set(text, { chars: text.length, rules });
  }

  /** Rules of a ledger, read from so many characters. Whether a ledger is open to all is remembered without them. */
  setLedgerRules(facts: LedgerFacts, rules: Rules, chars: number): void {
    const { list, weight } = rules;
    this.#ledgerRoom.take(chars + RULE_CHARS * list.length + TEXT_PER_RULE * (weight - list.length));
    facts.rules = rules;
    facts.before = null;
    facts.isOpen = rules.isOpen;
  }

  /**
   * Some rules remember so many more words of what they were asked. Where all of them together remember too much, all
   * rules are forgotten, and what they remember with them. What was forgotten since still counts for a while.
   */
  holdAnswer(words: number): void {
    this.#answerRoom.take(words);
  }

  policy(at: number): PolicyPart | undefined {
    return this.#policies.get(at);
  }

  setPolicy(at: number, part: PolicyPart): void {
    this.#policies.set(at, part);
  }
}
