import type * as Presence from "../../../src/store/presence.ts";
import type * as StoredClocks from "../../../src/store/sqlite/clocks.ts";
import type * as Counts from "../../../src/store/sqlite/counts.ts";
import type * as Prune from "../../../src/store/sqlite/prune.ts";
import type * as ReplayRows from "../../../src/store/sqlite/replay-rows.ts";
import type * as SettleRows from "../../../src/store/sqlite/settle.ts";
import type * as Tried from "../../../src/store/sqlite/settle.ts";
import type * as Suppressed from "../../../src/store/sqlite/suppressed.ts";
import type * as Withdraw from "../../../src/store/sqlite/withdraw.ts";
import type * as Timeline from "../../../src/store/timeline.ts";
import { fault } from "./fault.ts";

/** What can go wrong between a decision and the file. */
export const STORE_FAULTS = [
  fault<typeof SettleRows>("loses what became of a retry", "store/sqlite/settle.ts", ({ createSettle }) => ({
    createSettle(parts) {
      const settle = createSettle(parts);
      return (tx, delivery, settlement) => settlement.attempts === 2 || settle(tx, delivery, settlement);
    },
  })),
  fault<typeof Counts>("does not count what has failed", "store/sqlite/counts.ts", ({ createCounts }) => ({
    createCounts(db) {
      const real = createCounts(db);
      return {
        ...real,
        add: (tx, name, state, change) => void (state !== "failed" && real.add(tx, name, state, change)),
      };
    },
  })),
  fault<typeof Counts>("counts what was rolled back", "store/sqlite/counts.ts", ({ createCounts }) => ({
    createCounts(db) {
      const real = createCounts(db);
      return { ...real, rolledBack: real.committed };
    },
  })),
  fault<typeof Tried>("begins anew with what waits and is hurried", "store/sqlite/settle.ts", ({ createTried }) => ({
    createTried(db) {
      const anew = db.prepare(
        "UPDATE tried SET attempts = 0, first_attempt_at = NULL, replayed_at = due_at WHERE event = ? AND destination = ? AND state = 'waiting'",
      );
      const real = createTried(db);
      return {
        ...real,
        hurry(tx, place) {
          const hurried = real.hurry(tx, place);
          anew.run(place.id, place.destination);
          return hurried;
        },
      };
    },
  })),
  fault<typeof ReplayRows>(
    "says that it waits again, and does nothing",
    "store/sqlite/replay-rows.ts",
    ({ createReplayRows }) => ({
      createReplayRows(parts) {
        const real = createReplayRows(parts);
        return { run: (tx, settled) => [...settled.slice(0, 1), ...real.run(tx, settled.slice(1))] };
      },
    }),
  ),
  fault<typeof Prune>("removes what waits to make room", "store/sqlite/prune.ts", ({ createPrune }) => ({
    createPrune(db, parts) {
      const real = createPrune(db, parts);
      const remove = db.prepare("DELETE FROM tried WHERE state = 'waiting'");
      return {
        ...real,
        run(tx, before, limit) {
          remove.run();
          return real.run(tx, before, limit);
        },
      };
    },
  })),
  fault<typeof Withdraw>(
    "sends what a deleted user has sent before",
    "store/sqlite/withdraw.ts",
    ({ createWithdraw }) => ({
      createWithdraw: (parts) => ({ ...createWithdraw(parts), run: () => [] }),
    }),
  ),
  fault<typeof Suppressed>("lets in who is suppressed", "store/sqlite/suppressed.ts", ({ createSuppression }) => ({
    createSuppression: (db, hash) => ({ ...createSuppression(db, hash), refuses: () => false }),
  })),
  fault<typeof Timeline>("goes by the machine's clock at a start", "store/timeline.ts", ({ createTimeline }) => ({
    createTimeline(world) {
      const real = createTimeline(world);
      const { clock } = world;
      clock.continueFrom(Math.max(clock.now(), clock.wall()));
      return real;
    },
  })),
  fault<typeof Presence>("does not look where its files are", "store/presence.ts", () => ({
    createPresence: () => ({ check: () => null, refusal: () => null }),
  })),
  fault<typeof StoredClocks>(
    "forgets at a start who is paused",
    "store/sqlite/clocks.ts",
    ({ createStoredClocks }) => ({
      createStoredClocks: (db, parts) => ({ ...createStoredClocks(db, parts), all: () => [] }),
    }),
  ),
];
