import type { MemberChange } from "../../model/audience.ts";
import type { Entry, Receipt } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/withdrawal.ts";
import type { Notices } from "./deletions/notices.ts";
import type { Suppression } from "./deletions/suppressed.ts";
import type { MemberBatch, MemberRows } from "./members/rows.ts";
import type { Repeats } from "./repeats.ts";
import type { Segments } from "./segments.ts";
import type { Withdrawn, WithdrawRows } from "./withdraw.ts";

const DUPLICATE: Receipt = { kind: "duplicate" };
const SUPPRESSED: Receipt = { kind: "suppressed" };

/** Inside a transaction: stores what is not a repeat. Answers one receipt for each entry. */
export type AppendRows = (entries: readonly Entry[], during: During) => readonly Receipt[];

export type During = {
  readonly now: At;
  /** Where what was withdrawn is put down. */
  readonly withdrawn: Withdrawn[];
};

export type AppendParts = {
  readonly segments: Segments;
  readonly repeats: Repeats;
  readonly suppression: Pick<Suppression, "refuses">;
  readonly withdrawal: WithdrawRows;
  readonly notices: Pick<Notices, "has" | "note">;
  readonly memberRows: MemberRows;
};

const NONE: readonly MemberChange[] = [];
/** Of nearly all events, which tell of no membership. */
const NO_MEMBERS: MemberBatch = { older: [], take: () => false, write() {}, close() {} };

export function createAppend(parts: AppendParts): AppendRows {
  const { segments, repeats, suppression, withdrawal, notices, memberRows } = parts;
  return function append(entries, { now, withdrawn }) {
    const changes = entries.some(({ change }) => change) ? entries.flatMap(({ change }) => change ?? []) : NONE;
    const batch = changes.length > 0 ? memberRows.open(changes) : NO_MEMBERS;
    if (batch.older.length > 0) withdrawn.push(...withdrawal.run({ events: batch.older, reason: SUPERSEDED }, now));
    const receipts = entries.map((entry): Receipt => {
      const { ownId, messageId, userId, previousId } = entry.event;
      // The notification that a user is deleted goes out all the same.
      if (!entry.notice && suppression.refuses([userId, previousId], entry.source)) return SUPPRESSED;
      // Its user was forgotten since it was read.
      if (entry.change && !batch.take(entry.change)) return DUPLICATE;
      if (!ownId && repeats.isRepeat(entry.source, messageId, now - DAY)) return DUPLICATE;
      const { notice, source, deliverTo } = entry;
      if (notice && notices.has(notice, source)) return DUPLICATE;
      if (notice) notices.note(notice, { source, event: segments.nextNumber(), deliverTo });
      if (entry.withdraws) withdrawn.push(...withdrawal.run(entry.withdraws, now));
      const deliveries = segments.add(entry, now);
      if (entry.change) batch.write(entry.change, deliveries[0]?.id ?? null);
      return { kind: "accepted", deliveries };
    });
    batch.close();
    return receipts;
  };
}
