/** The service's answers without sockets: requests are handed to the app as server.ts would hand them, one after the other. */
import type { State } from '../../src/core/state.ts';
import { Effects, realTimers } from '../../src/effects/index.ts';
import { createApp } from '../../src/http/app.ts';
import { LongAnswers } from '../../src/http/long-answers.ts';
import type { AnswerBody, Handler } from '../../src/http/request.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import { RecordTexts } from '../../src/http/texts.ts';
import { createTokenChecker } from '../../src/http/tokens.ts';
import { Waiters } from '../../src/http/waiters.ts';
import { Walks } from '../../src/http/walks.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import type { House } from './house.ts';

/** As a service has by itself where there is memory enough. */
const TEXTS_BYTES_MAX = 256 * 1024 * 1024;

/** The app over a house; the default ledger is the house's. */
export function openApp({ engine, state, server }: House): Handler {
  const sealer = new Sealer(server);
  const limits = { claimsMax: 10_000, proofsMax: 64 };
  return createApp({
    engine,
    state,
    server,
    sealer,
    bodyBytesMax: 1024 * 1024,
    texts: new RecordTexts(TEXTS_BYTES_MAX, state.cacheShare),
    pool: new ProofPool({ workers: 0, server, rowsPerTaskMax: 256, inlineRowsMax: 4 }),
    waiters: new Waiters(),
    walks: new Walks(),
    longAnswers: new LongAnswers(),
    effects: quiet(state, sealer),
    validate: compileSchemas(limits),
    pageLimitMax: 100,
    listMsMax: 60_000,
    listProofMsMax: 1000,
    preferWaitSecondsMax: 30,
    head: () => ({ seq: 0, chain: new Uint8Array(32), moment: 0 }),
    clock: Date.now,
    defect(error) {
      throw error;
    },
    tokens: createTokenChecker(verify, state.cacheShare),
    defaultLedger: 1,
    publicUrl: '',
    bodyDepthMax: 64,
    limits,
  });
}

/** Nobody listens to these books. */
function quiet(state: State, sealer: Sealer): Effects {
  return new Effects({
    state,
    sealer,
    timers: realTimers,
    call: async () => ({ error: 'nobody is called' }),
    callsInFlightMax: 1,
    bridgeCallsMax: 1,
    bridgeAttemptsMax: 1,
    eventBytesMax: 256 * 1024,
    seq: state.log.length,
    note: () => {},
    inform: () => {},
    defect(error) {
      throw error;
    },
  });
}

/** Resolves with the length of the answer's body. Rejects where it is not a 200. */
export function askApp(app: Handler, target: string): Promise<number> {
  const [path, query = ''] = target.split('?') as [string, string?];
  return new Promise((resolve, reject) => {
    const request = { method: 'GET', methodSent: 'GET', path, query, header: () => '', forgetHead() {}, body: NO_BODY };
    const reply = {
      aborted: false,
      whenGone() {},
      stay() {},
      send(status: number, body: AnswerBody) {
        const text = [body].flat().join('');
        if (status === 200) resolve(text.length);
        else reject(new Error(`${target} is answered ${status}: ${text}`));
      },
    };
    app.handle(request, reply);
  });
}

const NO_BODY = new Uint8Array(0);
