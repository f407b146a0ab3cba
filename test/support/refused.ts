/** What a start says of books that it cannot open, without a process. */
import { openBooks } from '../../src/books.ts';
import { startText } from '../../src/trouble.ts';
import { QUIET } from './quiet.ts';

/** Its words; throws where they are opened after all. */
export function unopened(directory: string, keyFile = ''): string {
  try {
    openBooks(directory, keyFile, QUIET).lock.release();
  } catch (error) {
    return startText(error as Error, directory);
  }
  throw new Error('it should not have opened them');
}
