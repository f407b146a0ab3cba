/** Connections to a ledger, kept open for what is asked next. */
import * as http from 'node:http';
import * as https from 'node:https';

/**
 * Where its name has several addresses, one that has not taken the connection is left for the next after so long: by
 * Node's own quarter of a second a ledger that is far away, and has one that leads nowhere from here too, is never
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

/**
 * Why nothing came of a request. Where none of several addresses takes the connection, the error has a code and no
 * text.
 */
export function failureText({ message, code }: NodeJS.ErrnoException): string {
  return message || code || 'no answer';
}
