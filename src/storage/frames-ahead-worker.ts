/** A thread that looks through frames before they are applied, see frames-ahead.ts. */
import { workerData } from 'node:worker_threads';
import { type FramesAheadData, lookThrough } from './frames-ahead.ts';

lookThrough(workerData as FramesAheadData);
