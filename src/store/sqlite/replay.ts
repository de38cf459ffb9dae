import type { IsForgotten } from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { ReplaySteps, Settled } from "../replay.ts";
import type { Commits, Tx } from "./commits.ts";
import { createReplayRows, type ReplayParts } from "./replay-rows.ts";
import type { Superseding } from "./superseded.ts";

type ReplayStepsParts = ReplayParts & {
  readonly commits: Commits;
  readonly isForgotten: IsForgotten;
  readonly superseding: Superseding;
  /** When the store cannot be written. */
  readonly failed: (error: unknown) => Fault;
};

/** The steps of a replay (store/replay.ts), each one commit. */
export function createReplaySteps(parts: ReplayStepsParts): ReplaySteps {
  const { tried, commits, isForgotten, superseding, failed } = parts;
  const rows = createReplayRows(parts);
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
      const run = (tx: Tx): readonly Settled[] => {
        // Asked again: a user may have been deleted since they were found, or a newer call have come. Of several calls about
        // a user who has left, the last one counts.
        const allowed = settled
          .toSorted((one, other) => other.id - one.id)
          .filter((one) => {
            if (isForgotten(one) || (!mayBeOld && superseding.isSuperseded(one))) return false;
            superseding.keep(tx, one);
            return true;
          });
        return rows.run(tx, allowed);
      };
      return commits.add<readonly Settled[] | Fault>({ rows: settled.length, run, failed });
    },
    hurry(place) {
      const run = (tx: Tx): "hurried" | "due" => (tried.hurry(tx, place) ? "hurried" : "due");
      return commits.add<"hurried" | "due" | Fault>({ rows: 1, run, failed });
    },
  };
}
