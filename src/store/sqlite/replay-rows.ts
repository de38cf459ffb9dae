import { NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Delivery, SettledState } from "../../model/delivery.ts";
import type { At } from "../../model/units.ts";
import { createSegmentOf } from "./claims.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { readSettled } from "./lookup.ts";
import type { Delivered, Place, Progress } from "./progress.ts";
import { createOpenBodies } from "./segment.ts";
import type { Tried } from "./settle.ts";
import { logOfFirst } from "./settle.ts";

/** A delivery that was settled when it was looked up. */
export type Settled = Pick<Delivery, "id" | "destination"> & { readonly state: SettledState };

export type ReplayRows = {
  /** Inside a transaction: those of them that are settled so still wait again. Answers them. */
  run(settled: readonly Settled[], now: At): readonly Settled[];
};

export type ReplayParts = { readonly counts: Counts; readonly progress: Progress; readonly tried: Tried };

export function createReplayRows(db: Database, { counts, progress, tried }: ReplayParts): ReplayRows {
  const segmentOf = createSegmentOf(db);
  const bodies = createOpenBodies(db);
  const deliveredBy = createDeliveredBy(db);

  return {
    run(settled, now) {
      // What this very transaction has settled has to be in the rows that are read.
      progress.flush();
      const done = settled.filter((one) => again(one, now));
      bodies.forget();
      for (const { destination, state } of done) {
        counts.add(destination, state, -1);
        counts.add(destination, "waiting", 1);
      }
      return done;
    },
  };

  function again(one: Settled, at: At): boolean {
    if (tried.replay(one, { state: one.state, at })) return true;
    const segment = one.state === "delivered" ? segmentOf(one.id) : null;
    if (segment === null) return false;
    const place = { ...one, segment };
    if (progress.letter(place) !== "d") return false;
    const by = deliveredBy(place);
    const log = by ? logOfFirst(by) : NO_ATTEMPTS;
    progress.again(place);
    const waiting = { ...place, ...bodies.read(place), dueAt: at, attempts: 0, held: 0 };
    tried.add(waiting, { at, log });
    return true;
  }
}

function createDeliveredBy(db: Database): (place: Place) => Delivered | null {
  const find = db
    .prepare<[number, string], string>("SELECT settled FROM progress WHERE segment = ? AND destination = ?")
    .pluck();
  return ({ id, segment, destination }) => {
    const settled = find.get(segment, destination) ?? "";
    return readSettled(segment, settled).get(id) ?? null;
  };
}
