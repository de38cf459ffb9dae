import type { DeliveryState } from "../../model/delivery.ts";
import type { PruneBefore, PruneCounts } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import type { Repeats } from "./repeats.ts";

type Settled = { id: number; destination: string; event: number };

/** Pages given back to the file system at a time. */
const VACUUM_PAGES = 500;

/** Inside a transaction: removes what was kept long enough, at most `limit` rows of each kind. */
export type PruneRows = (before: PruneBefore, limit: number) => PruneCounts;

export function createPrune(db: Database, { counts, repeats }: { counts: Counts; repeats: Repeats }): PruneRows {
  const settled = db.prepare<[string, number, number], Settled>(
    `SELECT id, destination, event_id AS event FROM deliveries WHERE state = ? AND state <> 'waiting' AND settled_at < ?
     ORDER BY settled_at LIMIT ?`,
  );
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
  const vacuum = db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);

  return function prune({ delivered, failed, seen }, limit) {
    const removed = {
      delivered: pruneState("delivered", delivered, limit),
      failed: pruneState("failed", failed, limit),
      expired: pruneState("expired", failed, limit),
      unrouted: removeUnrouted.run(delivered, limit).changes,
      seen: repeats.prune(seen, limit),
    };
    vacuum.all();
    return removed;
  };

  function pruneState(state: Exclude<DeliveryState, "waiting">, before: At, limit: number): number {
    const rows = settled.all(state, before, limit);
    for (const { id, destination, event } of rows) {
      removeDelivery.run(id);
      removeEvent.run(event);
      counts.add(destination, state, -1);
    }
    return rows.length;
  }
}
