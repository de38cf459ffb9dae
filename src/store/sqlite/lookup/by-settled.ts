import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import { fromRow, isWanted, LISTED, type TriedRow } from "./listed.ts";
import type { Walk } from "./lookup.ts";

/** Rows in one step. */
const STEP = 500;
const NO_END: At = Number.MAX_SAFE_INTEGER;

type Row = TriedRow & { rowid: number };

/** What failed or expired, by when it did so: each has a row of its own, and an index by that time. */
export function createWalkBySettled(db: Database): Walk {
  // The state stands in the statement, so that its index can be used.
  const settledIn = (state: "failed" | "expired") =>
    db.prepare<[At, At, number, number], Row>(
      `SELECT rowid, ${LISTED} FROM tried WHERE state = '${state}' AND settled_at >= ? AND (settled_at, rowid) < (?, ?)
       ORDER BY settled_at DESC, rowid DESC LIMIT ?`,
    );
  const read = { failed: settledIn("failed"), expired: settledIn("expired") };

  return {
    name: "settled",
    step(search, after) {
      const state = search.state === "failed" ? "failed" : "expired";
      const [at, rowid] = after ?? [search.until ?? NO_END, 0];
      const rows = read[state].all(search.since ?? 0, at, Number(rowid), STEP);
      const hits = rows.flatMap(({ rowid, ...row }) => {
        const delivery = fromRow(row);
        return isWanted(delivery, search) ? [{ delivery, position: [row.settledAt ?? 0, rowid] as const }] : [];
      });
      const last = rows.length < STEP ? undefined : rows.at(-1);
      return { hits, next: last ? [last.settledAt ?? 0, last.rowid] : null };
    },
  };
}
