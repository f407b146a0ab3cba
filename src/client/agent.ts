/** Connections to a ledger, kept open for what is asked next. */
import * as http from 'node:http';
import * as https from 'node:https';

/**
 * How long one of several addresses of a name may take to accept a connection before the next is tried. Node's own
 * quarter of a second is too short: a distant ledger, one of whose addresses leads nowhere from here, would never be
 * reached.
 */
const CONNECT_MS_MAX = 1_500;

/** Module of the protocol that the URL names. */
export function protocolOf(url: string): typeof http | typeof https {
  return new URL(url).protocol === 'https:' ? https : http;
}

export function agentFor(url: string, options: https.AgentOptions = {}): http.Agent {
  const { Agent } = protocolOf(url);
  return new Agent({ keepAlive: true, autoSelectFamilyAttemptTimeout: CONNECT_MS_MAX, ...options });
}

/** Why a request failed. Where none of several addresses accepts the connection, the error has a code and no text. */
export function failureText({ message, code }: NodeJS.ErrnoException): string {
  return message || code || 'no answer';
}
