import type { StoredClock, StoredClocks } from "../../model/destination-clock.ts";
import { hasStoodStill } from "../clock-merge.ts";
import type { Commits } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Meta } from "./meta.ts";

type ClocksParts = {
  readonly commits: Commits;
  readonly meta: Pick<Meta, "touch">;
};

/** The clocks of destinations that have stood still, in memory and in their table. */
export function createStoredClocks(db: Database, { commits, meta }: ClocksParts): StoredClocks {
  const load = db.prepare<[], StoredClock>(
    `SELECT destination, paused_at AS pausedAt, unserved_at AS unservedAt, offline_at AS offlineAt,
       stopped_at AS stoppedAt, stood_still AS stoodStill FROM clocks ORDER BY destination`,
  );
  const remove = db.prepare<[string]>("DELETE FROM clocks WHERE destination = ?");
  const write = db.prepare("INSERT OR REPLACE INTO clocks VALUES (?, ?, ?, ?, ?, ?)");
  const kept = new Map(load.all().map((clock) => [clock.destination, clock]));

  return {
    all: async () => [...kept.values()],
    async save(clocks, because) {
      const job = { rows: clocks.length, run: () => writeAll(clocks) };
      const refused = await commits.add(because === "observed" ? { ...job, keepsUp: true } : job);
      if (refused === null) for (const clock of clocks) keep(clock);
      return refused;
    },
  };

  function writeAll(clocks: readonly StoredClock[]): null {
    for (const clock of clocks) {
      const { destination, pausedAt, unservedAt, offlineAt, stoppedAt, stoodStill } = clock;
      if (hasStoodStill(clock)) write.run(destination, pausedAt, unservedAt, offlineAt, stoppedAt, stoodStill);
      else remove.run(destination);
    }
    // After a crash the store's time continues from here, so that no clock has stopped in the future.
    meta.touch();
    return null;
  }

  function keep(clock: StoredClock): void {
    if (hasStoodStill(clock)) kept.set(clock.destination, clock);
    else kept.delete(clock.destination);
  }
}
