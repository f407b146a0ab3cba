/**
 * The published vectors under test/data, and bytes written as hex.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A JSON file of test/data; tests run from the project's root. */
export function readData<T>(name: string): T {
  return JSON.parse(readFileSync(join(process.cwd(), 'test', 'data', name), 'utf8')) as T;
}

export function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
