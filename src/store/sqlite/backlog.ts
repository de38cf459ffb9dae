import type { Backlog } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";

/** What the loop and the gauges ask, each by one step in an index. */
export function createBacklog(db: Database, counts: Counts): Backlog {
  const nextRetry = db.prepare<[string, number, number], { at: At }>(
    `SELECT due_at AS at FROM tried WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?)
     ORDER BY due_at, event LIMIT 1`,
  );
  const oldestFirst = db.prepare<[string], { at: At }>(
    `SELECT s.accepted_at AS at FROM progress p CROSS JOIN segments s ON s.first = p.segment
     WHERE p.destination = ? AND p.waiting > 0 ORDER BY p.segment LIMIT 1`,
  );
  const oldestTried = db.prepare<[string], { at: At }>(
    `SELECT coalesce(replayed_at, accepted_at) AS at FROM tried WHERE destination = ? AND state = 'waiting'
     ORDER BY coalesce(replayed_at, accepted_at), event LIMIT 1`,
  );

  return {
    async nextRetryAt(destination, after) {
      return nextRetry.get(destination, after?.dueAt ?? -1, after?.id ?? -1)?.at ?? null;
    },
    async oldestWaitingAt(destination) {
      const found = [oldestFirst.get(destination), oldestTried.get(destination)].flatMap((row) =>
        row ? [row.at] : [],
      );
      return found.length === 0 ? null : Math.min(...found);
    },
    counts: async () => counts.all(),
  };
}
