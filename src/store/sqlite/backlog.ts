import type { Backlog } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";

/** What the loop and the gauges ask, each by one step in an index. */
export function createBacklog(db: Database, counts: Counts): Backlog {
  const nextRetry = db.prepare<[string, number, number], { at: At }>(
    `SELECT due_at AS at FROM deliveries WHERE destination = ? AND state = 'waiting' AND attempted_at NOT NULL
     AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT 1`,
  );
  const oldest = (tried: "IS NULL" | "NOT NULL") =>
    db.prepare<[string], { at: At }>(
      `SELECT e.accepted_at AS at FROM deliveries d JOIN events e ON e.id = d.event_id
       WHERE d.destination = ? AND d.state = 'waiting' AND d.attempted_at ${tried} ORDER BY d.id LIMIT 1`,
    );
  const oldestFirst = oldest("IS NULL");
  const oldestRetry = oldest("NOT NULL");

  return {
    async nextRetryAt(destination, after) {
      return nextRetry.get(destination, after?.dueAt ?? -1, after?.id ?? -1)?.at ?? null;
    },
    async oldestWaitingAt(destination) {
      const found = [oldestFirst.get(destination), oldestRetry.get(destination)].flatMap((row) =>
        row ? [row.at] : [],
      );
      return found.length === 0 ? null : Math.min(...found);
    },
    counts: counts.all,
  };
}
