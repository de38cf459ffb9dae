import type { Delivery } from "../../model/delivery.ts";
import type { At } from "../../model/units.ts";
import type { Withdrawal } from "../../model/withdrawal.ts";
import { createGiveUp, type GiveUpParts } from "./settle.ts";

export type Withdrawn = Pick<Delivery, "id" | "destination">;

export type WithdrawRows = {
  /** Inside a transaction: what waits of these events, for any destination, has failed. Answers which deliveries. */
  run(withdrawal: Withdrawal, now: At): readonly Withdrawn[];
  /** Whether anything of this event waits. */
  waits(event: number): boolean;
};

/** Ends the waiting of events that must not go out any more. */
export function createWithdraw(parts: GiveUpParts): WithdrawRows {
  const { kept } = parts;
  const giveUp = createGiveUp(parts);
  return {
    run({ events, reason }, now) {
      // By their number, so that each segment is opened once.
      const withdrawn = events.toSorted((one, other) => one - other).flatMap(kept.waitingOf);
      for (const one of withdrawn) giveUp(one, { at: now, reason });
      return withdrawn.map(({ id, destination }) => ({ id, destination }));
    },
    waits: (event) => kept.waitingOf(event).length > 0,
  };
}
