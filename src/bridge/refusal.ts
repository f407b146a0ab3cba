/** A no, as a value: what the answer's status and body are made of. Nothing was changed where one is answered. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly detail: string;
}

export function refuse(status: number, reason: string, detail: string): Refusal {
  return { status, reason, detail };
}

export function isRefusal(value: object): value is Refusal {
  return 'reason' in value && 'detail' in value && 'status' in value;
}
