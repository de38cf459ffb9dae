import type { Delivery } from "../../model/delivery.ts";
import type { At } from "../../model/units.ts";
import type { Withdrawal } from "../../model/withdrawal.ts";
import { createSegmentOf, type Waiting } from "./claims.ts";
import type { Database } from "./driver.ts";
import { createGiveUp, type GiveUpParts } from "./settle.ts";

export type Withdrawn = Pick<Delivery, "id" | "destination">;

export type WithdrawRows = {
  /** Inside a transaction: what waits of these events, for whatever destination, has failed. Answers which deliveries. */
  run(withdrawal: Withdrawal, now: At): readonly Withdrawn[];
  /** Inside a transaction, before anything of it is settled: whether anything of this event waits. */
  waits(event: number): boolean;
};

type States = { destination: string; states: string };
type Row = { destination: string; size: number };

/** Ends the waiting of events that must not go out any more. */
export function createWithdraw(db: Database, parts: GiveUpParts): WithdrawRows {
  const giveUp = createGiveUp(db, parts);
  const segmentOf = createSegmentOf(db);
  const states = db.prepare<[number], States>(
    "SELECT destination, states FROM progress WHERE segment = ? AND waiting > 0 ORDER BY destination",
  );
  const rows = db.prepare<[number], Row>(
    "SELECT destination, octet_length(body) AS size FROM tried WHERE event = ? AND state = 'waiting'",
  );

  return {
    run({ events, reason }, now) {
      // What this very transaction has settled has to be in the rows that are read.
      parts.progress.flush();
      // By their number, so that each segment is opened once.
      const withdrawn = events.toSorted((one, other) => one - other).flatMap(waitingOf);
      for (const one of withdrawn) giveUp.run(one, { at: now, reason });
      giveUp.forget();
      parts.progress.flush();
      return withdrawn.map(({ id, destination }) => ({ id, destination }));
    },
    waits: (event) => waitingOf(event).length > 0,
  };

  function waitingOf(id: number): readonly Waiting[] {
    const segment = segmentOf(id);
    const letters = segment === null ? [] : states.all(segment).filter(({ states }) => states[id - segment] === "w");
    return [
      ...letters.map(
        ({ destination }) => ({ kind: "letter", id, segment: segment ?? 0, destination, size: 0 }) as const,
      ),
      ...rows.all(id).map((row) => ({ kind: "row", id, segment: segment ?? 0, ...row }) as const),
    ];
  }
}
