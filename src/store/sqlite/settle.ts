import type { Delivery } from "../../model/delivery.ts";
import type { Settlement } from "../../model/settlement.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";

/** Inside a transaction: writes what became of a delivery. Answers false if it does not wait any more. */
export function createSettle(db: Database, counts: Counts): (delivery: Delivery, settlement: Settlement) => boolean {
  const update = db.prepare(
    `UPDATE deliveries SET state = ?, due_at = ?, attempts = ?, first_attempt_at = ?, attempted_at = ?, held = ?,
       settled_at = ?, url = ?, status = ?, reason = ?, finals = ? WHERE id = ? AND state = 'waiting'`,
  );

  return function settle(delivery, settlement) {
    const { state, attempts, firstAttemptAt, attemptedAt, held, finals } = settlement;
    const { changes } = update.run(
      state,
      state === "waiting" ? settlement.dueAt : delivery.dueAt,
      attempts,
      firstAttemptAt,
      attemptedAt,
      held,
      state === "waiting" ? null : attemptedAt,
      state === "delivered" ? settlement.url : null,
      state === "delivered" ? settlement.status : null,
      state === "delivered" ? null : settlement.reason,
      finals.length === 0 ? null : JSON.stringify(finals),
      delivery.id,
    );
    if (changes === 0) return false;
    if (state !== "waiting") {
      counts.add(delivery.destination, "waiting", -1);
      counts.add(delivery.destination, state, 1);
    }
    return true;
  };
}
