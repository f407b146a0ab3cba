/**
 * A load generator as a process of its own: requests leave on schedule, whatever the service does.
 *
 *     node open-loop.js <port> <request part> <rate per second, 0 for closed loop> <connections> <seconds>
 *
 * Latency is counted from the moment a request was due, not from when a connection was free for it, so that
 * a service that stalls is charged for everybody who would have waited. At rate 0 every connection sends its
 * next request as soon as it has its answer, and latency is counted from sending. Prints one line of JSON
 * (LoadFigures of drive.ts).
 */
import { percentile } from '../result.ts';
import type { LoadFigures } from './drive.ts';
import { RawConnection } from './raw-client.ts';
import { readPart } from './requests.ts';

/** How long answers are waited for after the last request was due. */
const DRAIN_MS = 10_000;

const [portText, part, rateText, connectionsText, secondsText] = process.argv.slice(2);
if (secondsText === undefined) throw new Error('port, request part, rate, connections and seconds are needed');
const [port, rate, seconds] = [Number(portText), Number(rateText), Number(secondsText)];

const { requests, lengths } = readPart(part!);
const requestsMax = rate > 0 ? Math.min(lengths.length, Math.floor(rate * seconds)) : lengths.length;
const latencies = new Float64Array(requestsMax);
/** Those of answers other than 201. */
const refusals = new Float64Array(requestsMax);
/** How long after it was due each request left although another connection was free: the generator's own lateness. */
const lags = new Float64Array(requestsMax);
const refused: Record<string, number> = {};
let [sent, accepted, rejected, lost, position, start, lastAnswer] = [0, 0, 0, 0, 0, 0, 0];

const free: RawConnection[] = [];
for (let connection = 0; connection < Number(connectionsText); connection++) {
  free.push(await RawConnection.connect(port, receive));
}
const all = [...free];
start = performance.now();
const endOfSending = start + seconds * 1000;
const ticker = setInterval(tick, 1);
tick();

function tick(): void {
  const now = performance.now();
  while (free.length > 0 && sent < dueCount(now)) {
    const connection = free.pop()!;
    if (!connection.open) continue; // closed by the service while it had nothing to do
    sendNext(connection, performance.now(), true);
  }
  const sending = sent < requestsMax && now < endOfSending;
  const waiting = sent > accepted + rejected + lost && now < endOfSending + DRAIN_MS;
  if ((!sending && !waiting) || all.every((connection) => !connection.open)) finish();
}

/** How many requests should have left by `now`. */
function dueCount(now: number): number {
  if (rate === 0) return now < endOfSending ? requestsMax : 0;
  return Math.min(requestsMax, Math.floor(((now - start) * rate) / 1000) + 1);
}

function sendNext(connection: RawConnection, now: number, isFree: boolean): void {
  connection.scheduled = rate === 0 ? now : start + (sent * 1000) / rate;
  if (isFree) lags[sent] = now - connection.scheduled;
  const length = lengths[sent]!;
  connection.send(requests.subarray(position, position + length));
  position += length;
  sent += 1;
}

function receive(connection: RawConnection, status: number): void {
  const now = performance.now();
  lastAnswer = now;
  if (status === 201) latencies[accepted++] = now - connection.scheduled;
  else if (status === 0) lost += 1;
  else {
    refusals[rejected++] = now - connection.scheduled;
    refused[status] = (refused[status] ?? 0) + 1;
  }
  if (!connection.open) return;
  // Where others were free already it could have left on one of them.
  if (sent < dueCount(now)) sendNext(connection, now, free.length > 0);
  else free.push(connection);
}

function finish(): void {
  clearInterval(ticker);
  const usage = process.cpuUsage();
  for (const connection of all) connection.close();
  const sorted = latencies.subarray(0, accepted).sort();
  const sortedRefusals = refusals.subarray(0, rejected).sort();
  const sortedLags = lags.subarray(0, sent).sort();
  const figures: LoadFigures = {
    sent: [sent],
    ranOut: rate === 0 && sent === requestsMax,
    accepted,
    refused,
    lost: (rate === 0 ? sent : requestsMax) - accepted - rejected,
    seconds: (lastAnswer - start) / 1000,
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    max: sorted[sorted.length - 1] ?? Number.NaN,
    refusedP50: rejected === 0 ? null : percentile(sortedRefusals, 0.5),
    refusedP99: rejected === 0 ? null : percentile(sortedRefusals, 0.99),
    lagP99: percentile(sortedLags, 0.99),
    cpuSeconds: (usage.user + usage.system) / 1e6,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
}
