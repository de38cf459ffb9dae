import type { Delivery } from "../../model/delivery.ts";
import type { Withdrawal } from "../../model/withdrawal.ts";
import type { Tx } from "./commits.ts";
import { createGiveUp, type GiveUpParts } from "./settle.ts";

export type Withdrawn = Pick<Delivery, "id" | "destination">;

export type WithdrawRows = {
  /** What waits of these events, for any destination, has failed. Answers which deliveries. */
  run(tx: Tx, withdrawal: Withdrawal): readonly Withdrawn[];
  /** Whether anything of this event waits. */
  waits(event: number): boolean;
};

/** Ends the waiting of events that must not go out any more. */
export function createWithdraw(parts: GiveUpParts): WithdrawRows {
  const { kept } = parts;
  const giveUp = createGiveUp(parts);
  return {
    run(tx, { events, reason }) {
      // By their number, so that each segment is opened once.
      const withdrawn = events.toSorted((one, other) => one - other).flatMap(kept.waitingOf);
      for (const one of withdrawn) giveUp(tx, one, reason);
      return withdrawn.map(({ id, destination }) => ({ id, destination }));
    },
    waits: (event) => kept.waitingOf(event).length > 0,
  };
}
