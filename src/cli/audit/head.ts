/**
 * A head that was received once (`GET /v2/head`), held against the books: is the history it speaks of still in there?
 *
 * What always holds: a head counts only where its hash and its signature are right for the server's key.
 */
import type { JsonObject } from '../../client/json.ts';
import { decodePublic } from '../../proof/keys.ts';
import { findLie, type SignedRecord } from '../client.ts';
import { UsageError } from '../usage.ts';
import { FoundError } from './finding.ts';

export interface KnownHead {
  seq: number;
  /** 64 hex digits. */
  chain: string;
  /** ISO 8601. */
  moment: string;
}

/**
 * The head in this text, which was read from `file`. Throws an Error where it is none, FoundError where `key` has not
 * signed it.
 */
export function readHead(file: string, text: string, key: Uint8Array): KnownHead {
  const envelope = parse(text);
  if (envelope === null || !isHead(envelope.data))
    throw new UsageError(`--head: ${file} holds no head as GET /v2/head gives it`);
  const data = envelope.data;
  const place = { file, seq: data.seq };
  const lie = lieOf(envelope);
  if (lie !== null) throw new FoundError('lie', place, `the head does not hold: ${lie}`);
  const isSigned = envelope.meta.proofs.some(({ public: by }) => Buffer.compare(decodePublic(by)!, key) === 0);
  if (!isSigned) throw new FoundError('lie', place, 'the head is signed with another key than these books');
  return data;
}

function parse(text: string): SignedRecord | null {
  try {
    const value = JSON.parse(text) as SignedRecord;
    const isEnvelope = typeof value?.hash === 'string' && Array.isArray(value.meta?.proofs);
    return isEnvelope && typeof value.data === 'object' && value.data !== null ? value : null;
  } catch {
    return null;
  }
}

function lieOf(envelope: SignedRecord): string | null {
  try {
    return findLie(envelope);
  } catch {
    return 'its proofs are not of the form a proof has';
  }
}

function isHead(data: JsonObject): data is JsonObject & KnownHead {
  const { seq, chain, moment } = data;
  return Number.isSafeInteger(seq) && /^[0-9a-f]{64}$/.test(String(chain)) && typeof moment === 'string';
}
