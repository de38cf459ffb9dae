import type { DeliveryState } from "../../model/delivery.ts";
import type { PruneBefore, PruneCounts } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import type { Repeats } from "./repeats.ts";

type SettledState = Exclude<DeliveryState, "waiting">;
type Settled = { id: number; destination: string; event: number };

/** Pages given back to the file system at a time. */
const VACUUM_PAGES = 500;

export type PruneRows = {
  /** Whether there is anything to remove. An idle daemon must not write to the disk again and again. */
  isNeeded(before: PruneBefore): boolean;
  /** Inside a transaction: removes what was kept long enough, at most `limit` rows of each kind. */
  run(before: PruneBefore, limit: number): PruneCounts;
};

export const NOTHING_PRUNED: PruneCounts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };

export function createPrune(db: Database, { counts, repeats }: { counts: Counts; repeats: Repeats }): PruneRows {
  // The state stands in the statement, so that its index can be used.
  const settledIn = (state: SettledState) =>
    db.prepare<[number, number], Settled>(
      `SELECT id, destination, event_id AS event FROM deliveries WHERE state = '${state}' AND settled_at < ?
       ORDER BY settled_at, id LIMIT ?`,
    );
  const settled = { delivered: settledIn("delivered"), failed: settledIn("failed"), expired: settledIn("expired") };
  const removeDelivery = db.prepare<[number]>("DELETE FROM deliveries WHERE id = ?");
  // An event goes with the last of its deliveries.
  const removeEvent = db.prepare<[number]>(
    `DELETE FROM events WHERE id = ? AND NOT EXISTS (SELECT 1 FROM deliveries d
     WHERE d.id >= events.first_delivery AND d.id < events.first_delivery + events.deliveries)`,
  );
  const removeUnrouted = db.prepare<[number, number]>(
    `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE deliveries = 0 AND accepted_at < ?
     ORDER BY accepted_at LIMIT ?)`,
  );
  const oldUnrouted = db.prepare<[number]>("SELECT 1 FROM events WHERE deliveries = 0 AND accepted_at < ? LIMIT 1");

  return {
    isNeeded({ delivered, failed, seen }) {
      const isOld = (state: SettledState, before: At): boolean => settled[state].get(before, 1) !== undefined;
      const settledBefore = isOld("delivered", delivered) || isOld("failed", failed) || isOld("expired", failed);
      return settledBefore || oldUnrouted.get(delivered) !== undefined || repeats.hasBefore(seen);
    },
    run({ delivered, failed, seen }, limit) {
      const removed = {
        delivered: pruneState("delivered", delivered, limit),
        failed: pruneState("failed", failed, limit),
        expired: pruneState("expired", failed, limit),
        unrouted: removeUnrouted.run(delivered, limit).changes,
        seen: repeats.prune(seen, limit),
      };
      db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
      return removed;
    },
  };

  function pruneState(state: SettledState, before: At, limit: number): number {
    const rows = settled[state].all(before, limit);
    for (const { id, destination, event } of rows) {
      removeDelivery.run(id);
      removeEvent.run(event);
      counts.add(destination, state, -1);
    }
    return rows.length;
  }
}
