/** What ayni sends to others, as webhooks of the description: whoever is called makes the types of what comes out of it. */
import { ref } from './names.ts';

interface OutwardCall {
  readonly method: 'post' | 'put';
  /** Where it goes, for people; `{server}` is of the bridge's `config`. */
  readonly to: string;
  readonly summary: string;
  readonly schema: string;
}

const CALLS: Readonly<Record<string, OutwardCall>> = {
  prepareDebit: {
    method: 'post',
    to: '`{server}/debits`',
    summary: 'A bridge is to prepare that somebody pays',
    schema: 'BridgeEntry',
  },
  prepareCredit: {
    method: 'post',
    to: '`{server}/credits`',
    summary: 'A bridge is to prepare that somebody is paid',
    schema: 'BridgeEntry',
  },
  commitEntry: {
    method: 'post',
    to: '`{server}/debits/{entry}/commit` or `{server}/credits/{entry}/commit`',
    summary: 'A bridge is to do what it prepared',
    schema: 'BridgeStep',
  },
  abortEntry: {
    method: 'post',
    to: '`{server}/debits/{entry}/abort` or `{server}/credits/{entry}/abort`',
    summary: 'A bridge is to drop what it prepared, or never will',
    schema: 'BridgeStep',
  },
  tellIntent: {
    method: 'put',
    to: '`{server}/intents/{handle}`',
    summary: 'A bridge with the trait `statuses` is told of a step of an intent',
    schema: 'Intent',
  },
  tellEvent: {
    method: 'post',
    to: 'the `endpoint` of an effect, or `{server}/effects/{effect}`',
    summary: 'An effect tells an event',
    schema: 'SentEvent',
  },
};

/** By name, as OpenAPI 3.1 has them. */
export function webhooks(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(CALLS).map(([name, { method, to, summary, schema }]) => {
      const call = {
        operationId: name,
        summary,
        description: `To ${to}. Believe only a proof of the server whose \`custom\` has your \`ledger\`.`,
        tags: ['outward'],
        security: [],
        requestBody: { required: true, content: { 'application/json': { schema: ref(schema) } } },
        responses: { '2XX': { description: 'It was taken. All else is tried again.' } },
      };
      return [name, { [method]: call }];
    }),
  );
}
