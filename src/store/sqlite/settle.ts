import type { Delivery } from "../../model/delivery.ts";
import type { Settlement } from "../../model/settlement.ts";
import type { Counts } from "./counts.ts";
import type { Progress } from "./progress.ts";
import type { Tried } from "./tried.ts";

export type SettleParts = { readonly counts: Counts; readonly progress: Progress; readonly tried: Tried };

/** Inside a transaction: writes what became of a delivery. Answers false if it does not wait any more. */
export function createSettle({ counts, progress, tried }: SettleParts) {
  return function settle(delivery: Delivery, settlement: Settlement): boolean {
    const { destination } = delivery;
    if (!write(delivery, settlement)) return false;
    if (settlement.state !== "waiting") {
      counts.add(destination, "waiting", -1);
      counts.add(destination, settlement.state, 1);
    }
    return true;
  };

  /** Most deliveries are taken at the first attempt, and cost a letter; the others get a row of their own. */
  function write(delivery: Delivery, settlement: Settlement): boolean {
    if (delivery.attemptedAt !== null || progress.letter(delivery) !== "w") return tried.settle(delivery, settlement);
    // An attempt of the same round that failed is to be seen too: then it has a row, which has a log.
    if (settlement.state === "delivered" && settlement.attempts === 1 && !settlement.log) {
      const { attemptedAt: at, url, status } = settlement;
      progress.deliver(delivery, { at, url, status });
      return true;
    }
    progress.setApart(delivery, settlement.attemptedAt);
    tried.add(delivery);
    return tried.settle(delivery, settlement);
  }
}
