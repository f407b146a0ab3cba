/** What an operator reads on standard error while the server runs. */

import { defectText } from './trouble.ts';

export interface Log {
  /** Of trouble, and of what somebody has to see to. */
  tell: (text: string) => void;
  /** Of what is no trouble; silent with --log-level error. */
  inform: (text: string) => void;
  /** Of a mistake of ours that one request has met, or that there was no memory for it. */
  defect: (error: Error) => void;
}

export function tell(text: string): void {
  process.stderr.write(`ayni: ${text}\n`);
}

export function logAt(level: 'error' | 'info' | 'debug'): Log {
  return {
    tell,
    inform: level === 'error' ? () => {} : tell,
    defect: (error) => tell(defectText(error)),
  };
}
