import type { Delivery } from "../../model/delivery.ts";
import type { Settlement } from "../../model/settlement.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";

/** Inside a transaction: writes what became of a delivery. Answers false if it does not wait any more. */
export function createSettle(db: Database, counts: Counts): (delivery: Delivery, settlement: Settlement) => boolean {
  // Most deliveries are taken at the first attempt. Their row keeps its size: one that grows has to be moved.
  const deliver = db.prepare<[number, number, string, number, number]>(
    `UPDATE deliveries SET state = 'delivered', due_at = NULL, attempts = ?, settled_at = ?, url = ?, status = ?,
       reason = NULL WHERE id = ? AND state = 'waiting'`,
  );
  const update = db.prepare(
    `UPDATE deliveries SET state = ?, due_at = ?, attempts = ?, first_attempt_at = ?, attempted_at = ?, held = ?,
       settled_at = ?, reason = ?, finals = ? WHERE id = ? AND state = 'waiting'`,
  );

  return function settle(delivery, settlement) {
    const { changes } =
      settlement.state === "delivered" ? runDeliver(delivery, settlement) : runUpdate(delivery, settlement);
    if (changes === 0) return false;
    if (settlement.state !== "waiting") {
      counts.add(delivery.destination, "waiting", -1);
      counts.add(delivery.destination, settlement.state, 1);
    }
    return true;
  };

  function runDeliver({ id }: Delivery, { attempts, attemptedAt, url, status }: Delivered): { changes: number } {
    return deliver.run(attempts, attemptedAt, url, status, id);
  }

  function runUpdate({ id }: Delivery, settlement: Exclude<Settlement, Delivered>): { changes: number } {
    const { state, attempts, firstAttemptAt, attemptedAt, held, reason, finals } = settlement;
    const [dueAt, settledAt] = state === "waiting" ? [settlement.dueAt, null] : [null, attemptedAt];
    const refusals = finals.length === 0 ? null : JSON.stringify(finals);
    const progress = [attempts, firstAttemptAt, attemptedAt, held];
    return update.run(state, dueAt, ...progress, settledAt, reason, refusals, id);
  }
}

type Delivered = Extract<Settlement, { state: "delivered" }>;
