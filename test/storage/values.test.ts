import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { packValue, unpackValue } from '../../src/storage/values.ts';

test('small values of plain data come back as they were', () => {
  const value = { seq: 2 ** 40, names: ['a', 'b'], bytes: new Uint8Array([1, 2]), none: null, nested: { deep: [-1] } };
  const read = unpackValue(packValue(value)) as typeof value;
  expect({ ...read, bytes: [...read.bytes] }).toEqual({ ...value, bytes: [1, 2] });
});

test('bytes that are cut short, or more than one value, are refused', () => {
  expect(() => unpackValue(Uint8Array.of(0x92, 0x01))).toThrow();
  expect(() => unpackValue(Uint8Array.of(0x01, 0x02))).toThrow();
});

/** Packing is loaded once in a process, so this looks at a process of its own. */
const AHEAD = `
  import Module from 'node:module';
  import { loadPacking, packValue } from '${new URL('../../src/storage/values.js', import.meta.url).href}';
  let loads = 0;
  const load = Module._load;
  Module._load = (...args) => (loads++, load(...args));
  loadPacking();
  const ahead = loads;
  packValue({ seq: 1, names: ['a'] });
  process.stdout.write([ahead > 0, loads - ahead].join(' '));
`;

test('what packing needs is loaded ahead: the first snapshot of a process loads nothing', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', AHEAD], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['true 0', '']);
});
