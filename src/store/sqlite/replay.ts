import { NO_ATTEMPTS } from "../../model/delivery.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { ReplaySteps, Settled } from "../replay.ts";
import { logOfFirst } from "../takers.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { createSuperseding } from "./superseded.ts";
import { createIsForgotten } from "./suppressed.ts";
import type { Tables } from "./tables.ts";

type ReplayParts = { readonly tables: Tables; readonly commits: Commits };

/** The steps of a replay (store/replay.ts), each one commit. */
export function createReplaySteps(db: Database, { tables, commits }: ReplayParts): ReplaySteps {
  const isForgotten = createIsForgotten(db, tables);
  const superseding = createSuperseding(db, tables);
  return {
    async outdated(found) {
      const why = new Map<ListedDelivery, "deleted" | "superseded">();
      for (const one of found) {
        if (isForgotten(one)) why.set(one, "deleted");
        else if (superseding.isSuperseded(one)) why.set(one, "superseded");
      }
      return why;
    },
    sendAgain(settled, mayBeOld) {
      return commits.add({
        rows: settled.length,
        run(tx) {
          // Checked again: since the lookup a user may have been deleted, or a newer call may have come. Of several calls
          // about a user who has left, the last one counts.
          const allowed = settled
            .toSorted((one, other) => other.id - one.id)
            .filter((one) => {
              if (isForgotten(one) || (!mayBeOld && superseding.isSuperseded(one))) return false;
              superseding.keep(tx, one);
              return true;
            });
          return replayRows(tx, allowed, tables);
        },
      });
    },
    hurry(place) {
      return commits.add({ rows: 1, run: (tx) => (tables.tried.hurry(tx, place) ? "hurried" : "due") });
    },
  };
}

/** Makes those wait again that are still in the state they were found in. Answers them. */
function replayRows(tx: Tx, settled: readonly Settled[], tables: Tables): readonly Settled[] {
  const done = settled.filter((one) => replayOne(tx, one, tables));
  for (const { destination, state } of done) {
    tables.counts.add(tx, destination, state, -1);
    tables.counts.add(tx, destination, "waiting", 1);
  }
  return done;
}

function replayOne(tx: Tx, one: Settled, { progress, tried, kept }: Tables): boolean {
  if (tried.replay(tx, one, one.state)) return true;
  const segment = one.state === "delivered" ? kept.segmentOf(one.id) : null;
  if (segment === null) return false;
  const { first, acceptedAt } = segment;
  const place = { ...one, segment: first };
  if (progress.letter(tx, place) !== "d") return false;
  const by = kept.deliveredBy(place);
  const body = kept.body(one);
  progress.again(tx, place);
  const waiting = { ...place, body, acceptedAt, dueAt: tx.now, attempts: 0, stoodStill: 0 };
  tried.add(tx, waiting, { log: by ? logOfFirst(by) : NO_ATTEMPTS });
  return true;
}
