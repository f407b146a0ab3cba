/**
 * What ayni sends to others, as webhooks of the description: those who receive it make their types from this.
 */
import { ref } from './names.ts';

interface OutwardCall {
  readonly method: 'post' | 'put';
  /** Where it goes, for people; `{server}` is of the bridge's `config`. */
  readonly to: string;
  readonly summary: string;
  readonly schema: string;
  /**
   * What a receiver has to check before it believes it: one key signs for all ledgers of a server and to all bridges.
   */
  readonly believe: string;
}

const OF_BRIDGE =
  'Believe only a proof of the server whose `custom` has your `ledger` and your `bridge`, by their handles.';
const OF_LEDGER = 'Believe only a proof of the server whose `custom` has your `ledger`, by its handle.';
const OF_NONE = 'It names neither ledger nor bridge: it is news, and never a reason to book.';

const CALLS: Readonly<Record<string, OutwardCall>> = {
  prepareDebit: {
    method: 'post',
    to: '`{server}/debits`',
    summary: 'A bridge is to prepare that somebody pays',
    schema: 'BridgeEntry',
    believe: OF_BRIDGE,
  },
  prepareCredit: {
    method: 'post',
    to: '`{server}/credits`',
    summary: 'A bridge is to prepare that somebody is paid',
    schema: 'BridgeEntry',
    believe: OF_BRIDGE,
  },
  commitEntry: {
    method: 'post',
    to: '`{server}/debits/{entry}/commit` or `{server}/credits/{entry}/commit`',
    summary: 'A bridge is to do what it prepared',
    schema: 'BridgeStep',
    believe: OF_BRIDGE,
  },
  abortEntry: {
    method: 'post',
    to: '`{server}/debits/{entry}/abort` or `{server}/credits/{entry}/abort`',
    summary: 'A bridge is to drop what it prepared, or never will',
    schema: 'BridgeStep',
    believe: OF_BRIDGE,
  },
  tellIntent: {
    method: 'put',
    to: '`{server}/intents/{handle}`',
    summary: 'A bridge with the trait `statuses` is told of a step of an intent',
    schema: 'Intent',
    believe: OF_NONE,
  },
  tellEvent: {
    method: 'post',
    to: 'the `endpoint` of an effect, or `{server}/effects/{effect}`',
    summary: 'An effect tells an event',
    schema: 'SentEvent',
    believe: OF_LEDGER,
  },
};

/** All of them by name, as OpenAPI 3.1 has webhooks. */
export function webhooks(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(CALLS).map(([name, { method, to, summary, schema, believe }]) => {
      const call = {
        operationId: name,
        summary,
        description: `To ${to}. ${believe}`,
        tags: ['outward'],
        security: [],
        requestBody: { required: true, content: { 'application/json': { schema: ref(schema) } } },
        responses: { '2XX': { description: 'It was taken. All else is tried again.' } },
      };
      return [name, { [method]: call }];
    }),
  );
}
