/** A thread that hashes a snapshot's parts as they are read, see part-hashes.ts. It ends with the last of them. */
import { workerData } from 'node:worker_threads';
import { hashPieces, type PartHashesData } from './part-hashes.ts';

hashPieces(workerData as PartHashesData);
