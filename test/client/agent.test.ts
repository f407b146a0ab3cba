/** Connections to a ledger, by whoever speaks to one. */
import { expect, onTestFinished, test } from 'vitest';
import { agentFor, protocolOf } from '../../src/client/agent.ts';
import { farUrl, listenFar } from '../support/far.ts';

test('a ledger that is far away, and whose name leads nowhere too: that one was taken after a quarter of a second', async () => {
  const url = farUrl(await listenFar());
  const agent = agentFor(url);
  onTestFinished(() => agent.destroy());
  const status = await new Promise((resolve, reject) => {
    protocolOf(url)
      .request(url, { agent }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(202);
});
