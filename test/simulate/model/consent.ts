/**
 * What who signs an intent says of it: that it is to happen, that it is not, or something else.
 */
import type { Signed } from '../wish.ts';

/** Whether who signs so asks for the intent: not who says that it is not to happen, or speaks of something else. */
export function isConsent(custom: Record<string, unknown>): boolean {
  return custom.handle === undefined && !isAboutLabels(custom) && !isNo(custom);
}

function isAboutLabels(custom: Record<string, unknown>): boolean {
  return 'labels' in custom && !('status' in custom) && !('action' in custom);
}

/**
 * Keys that ask by the proofs an intent comes with, where a handle means nothing but in what a bridge reports: not those that
 * give it labels alone, and none that also says no.
 */
export function willing(proofs: readonly Signed[]): string[] {
  const isReport = ({ handle, status }: Record<string, unknown>) =>
    handle !== undefined && /^(prepared|failed|committed|aborted)$/.test(String(status));
  const spoken = proofs
    .map((proof) => ({ key: proof.public, words: JSON.parse(proof.custom ?? '{}') }))
    .filter(({ words }) => !isReport(words) && !isAboutLabels(words));
  const refusing = spoken.filter(({ words }) => isNo(words)).map(({ key }) => key);
  return spoken.map(({ key }) => key).filter((key) => !refusing.includes(key));
}

/** Whoever gives it any status but those on the way to its good end says no, or does with it what is no part of that. */
export function isNo({ action, status }: Record<string, unknown>): boolean {
  const parts = /^(create|sign|sign-intent|spend|issue|destroy|limit|commit)$/;
  if (action !== undefined && !parts.test(String(action))) return true;
  return status !== undefined && !/^(created|pending|prepared|committed|completed)$/.test(String(status));
}
