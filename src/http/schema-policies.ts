/**
 * What policies of statuses and labels hold in `values`.
 *
 * Status: `{status, from?, signer?}` or `{status, from?, quorum?}`: this status may be set on records of the kind (from
 * one of these statuses only, where `from` is there) by a key that `signer` fits (a matcher as in access rules, or
 * `{$in: […]}`; without one, any key); with a quorum once each of its lines, `{signer, count?}`, has `count` distinct
 * keys, 1 where it does not say, and no key counts twice.
 *
 * Label: `{label, unique?}` with `signer?` or `quorum?` as above, or the bare label, which any key may put on. It is put
 * on by a proof with `custom.labels: [label]` and taken away with `["-label"]`, by the same signers. `unique`: at most
 * one live record of the ledger and kind has it.
 *
 * Both count for the kind that `record` names, or all with `any`, and where there is a `filter`, for records it passes.
 */
import { Signers } from './schema-shapes.ts';
import { anyOf, array, boolean, closed, integer, type Members, optional, text } from './schema-words.ts';

/** Distinct keys that one line of a quorum may ask for, lines of a quorum, statuses it may follow. */
const COUNT_MAX = 16;
const LINES_MAX = 8;
const FROM_MAX = 100;

const Status = text({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.+-]*$', maxLength: 32 });
/** Does not begin with the sign that takes it away. */
const Label = text({ pattern: '^[A-Za-z0-9_+.:][A-Za-z0-9_+.:-]*$', maxLength: 64 });

const Quorum = array(closed({ signer: Signers, count: optional(integer({ minimum: 1, maximum: COUNT_MAX })) }), {
  minItems: 1,
  maxItems: LINES_MAX,
});

const byQuorum = (members: Members) =>
  anyOf([closed({ ...members, signer: optional(Signers) }), closed({ ...members, quorum: optional(Quorum) })]);

export const StatusValue = byQuorum({
  status: Status,
  from: optional(array(Status, { minItems: 1, maxItems: FROM_MAX })),
});

export const LabelValue = anyOf([byQuorum({ label: Label, unique: optional(boolean) }), Label]);
