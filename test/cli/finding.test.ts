/** What is told of a finding, and what one is. */
import { expect, test } from 'vitest';
import { FoundError, findingOf, findingText } from '../../src/cli/audit/finding.ts';
import { DamageError } from '../../src/storage/segments.ts';

test('damage that the storage meets is a finding, with its file and byte, and no other error is one', () => {
  const finding = findingOf(new DamageError('journal', 0, 'no whole frame'));
  expect(finding).toEqual({ kind: 'damage', file: 'journal', byte: 0, what: 'no whole frame' });
  expect(findingText(finding!)).toBe('DAMAGE: journal, byte 0: no whole frame');
  expect(findingOf(new Error('the disk is full'))).toBeNull();
});

test('a finding says by itself where it is, as far as that is known', () => {
  const [place, what] = [{ file: 'journal', byte: 7, seq: 3, luid: '$wlt.a' }, 'nobody signed it'];
  const error = new FoundError('lie', place, what);
  expect(findingOf(error)).toEqual({ kind: 'lie', ...place, what });
  expect(error.message).toBe('LIE: journal, byte 7, entry 3, $wlt.a: nobody signed it');
  expect(new FoundError('decided', { file: 'snapshot', seq: 3 }, what).message).toBe(
    'DECIDED OTHERWISE: snapshot, entry 3: nobody signed it',
  );
});
