import type { Entry, Receipt } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import type { Notices } from "./deletions/notices.ts";
import type { Repeats } from "./repeats.ts";
import type { Segments } from "./segments.ts";
import type { Withdrawn, WithdrawRows } from "./withdraw.ts";

const DUPLICATE: Receipt = { kind: "duplicate" };

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
  readonly withdrawal: WithdrawRows;
  readonly notices: Pick<Notices, "has" | "note">;
};

export function createAppend({ segments, repeats, withdrawal, notices }: AppendParts): AppendRows {
  return function append(entries, { now, withdrawn }) {
    return entries.map((entry) => {
      const { ownId, messageId } = entry.event;
      if (!ownId && repeats.isRepeat(entry.source, messageId, now - DAY)) return DUPLICATE;
      const { notice, source, deliverTo } = entry;
      if (notice && notices.has(notice, source)) return DUPLICATE;
      if (notice) notices.note(notice, { source, event: segments.nextNumber(), deliverTo });
      if (entry.withdraws) withdrawn.push(...withdrawal.run(entry.withdraws, now));
      return { kind: "accepted", deliveries: segments.add(entry, now) };
    });
  };
}
