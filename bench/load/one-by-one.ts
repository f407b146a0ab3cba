/**
 * What one client alone waits, beside what one sync of the same disk takes. The two alternate in rounds,
 * because the disk of a shared machine is not the same disk a second later.
 */
import { closeSync, fdatasyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { percentile } from '../result.ts';
import { RawConnection } from './raw-client.ts';
import { readPart } from './requests.ts';

const BLOCK_BYTES = 4096;

export interface OneByOneFigures {
  /** Milliseconds from sending a request to its whole answer, where that is 201. */
  p50: number;
  p99: number;
  p999: number;
  accepted: number;
  /** Answers other than 201. */
  failed: number;
  /** Seconds spent on requests alone. */
  seconds: number;
  /** Milliseconds of one fdatasync after 4 KB appended to a file, and after 4 KB written over old bytes. */
  syncAppendP50: number;
  syncOverwriteP50: number;
}

/** `rounds` times `syncs` syncs of each sort in `directory`, then `requests` requests of the part, one at a time. */
export async function measureOneByOne(
  port: number,
  part: string,
  directory: string,
  rounds: number,
  requests: number,
  syncs: number,
): Promise<OneByOneFigures> {
  const waits: number[] = [];
  const appends: number[] = [];
  const overwrites: number[] = [];
  const take = makeReader(part);
  let [failed, seconds] = [0, 0];
  let settle: (status: number) => void = () => {};
  for (let round = 0; round < rounds; round++) {
    measureSyncs(directory, syncs, appends, overwrites);
    // The service closes connections that are idle for as long as a slow disk may take with all the syncs.
    const connection = await RawConnection.connect(port, (_, status) => settle(status));
    const roundStart = performance.now();
    for (let request = 0; request < requests; request++) {
      const bytes = take();
      const start = performance.now();
      const status = await new Promise<number>((resolve) => {
        settle = resolve;
        connection.send(bytes);
      });
      const wait = performance.now() - start;
      if (status === 0) throw new Error('the connection of the lone client was lost');
      if (status === 201) waits.push(wait);
      else failed += 1;
    }
    seconds += (performance.now() - roundStart) / 1000;
    connection.close();
  }
  waits.sort(ascending);
  return {
    p50: percentile(waits, 0.5),
    p99: percentile(waits, 0.99),
    p999: percentile(waits, 0.999),
    ...{ accepted: waits.length, failed, seconds },
    syncAppendP50: percentile(appends.sort(ascending), 0.5),
    syncOverwriteP50: percentile(overwrites.sort(ascending), 0.5),
  };
}

/** Answers the part's requests one after the other. */
function makeReader(part: string): () => Uint8Array {
  const { requests, lengths } = readPart(part);
  let [next, position] = [0, 0];
  return () => {
    const length = lengths[next++];
    if (length === undefined) throw new Error('more requests were asked for than were made');
    position += length;
    return requests.subarray(position - length, position);
  };
}

function measureSyncs(directory: string, syncs: number, appends: number[], overwrites: number[]): void {
  const path = join(directory, 'sync-probe');
  const block = Buffer.alloc(BLOCK_BYTES, 'ayni');
  const file = openSync(path, 'w');
  for (const [waits, overwrite] of [[appends, false] as const, [overwrites, true] as const]) {
    for (let sync = 0; sync < syncs; sync++) {
      const start = performance.now();
      writeSync(file, block, 0, BLOCK_BYTES, overwrite ? sync * BLOCK_BYTES : null);
      fdatasyncSync(file);
      waits.push(performance.now() - start);
    }
  }
  closeSync(file);
  unlinkSync(path);
}

function ascending(left: number, right: number): number {
  return left - right;
}
