import type { Entry, Receipt } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import type { Repeats } from "./repeats.ts";
import type { Segments } from "./segments.ts";

const DUPLICATE: Receipt = { kind: "duplicate" };

/** Inside a transaction: stores what is not a repeat. Answers one receipt for each entry. */
export type AppendRows = (entries: readonly Entry[], now: At) => readonly Receipt[];

export function createAppend({ segments, repeats }: { segments: Segments; repeats: Repeats }): AppendRows {
  return function append(entries, now) {
    return entries.map((entry) => {
      const { ownId, messageId } = entry.event;
      if (!ownId && repeats.isRepeat(entry.source, messageId, now - DAY)) return DUPLICATE;
      return { kind: "accepted", deliveries: segments.add(entry, now) };
    });
  };
}
