import { NO_ATTEMPTS } from "../../model/attempt.ts";
import type { IsForgotten } from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { ReplaySteps, Settled } from "../replay.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Counts } from "./counts.ts";
import type { Kept } from "./kept.ts";
import type { Progress } from "./progress.ts";
import { logOfFirst, type Tried } from "./settle.ts";
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
        return replayRows(tx, allowed, parts);
      };
      return commits.add<readonly Settled[] | Fault>({ rows: settled.length, run, failed });
    },
    hurry(place) {
      const run = (tx: Tx): "hurried" | "due" => (tried.hurry(tx, place) ? "hurried" : "due");
      return commits.add<"hurried" | "due" | Fault>({ rows: 1, run, failed });
    },
  };
}

type ReplayParts = {
  readonly counts: Counts;
  readonly progress: Progress;
  readonly tried: Tried;
  readonly kept: Kept;
};

/** Sets those of them waiting that are still settled, and answers them. */
function replayRows(tx: Tx, settled: readonly Settled[], parts: ReplayParts): readonly Settled[] {
  const done = settled.filter((one) => replayOne(tx, one, parts));
  for (const { destination, state } of done) {
    parts.counts.add(tx, destination, state, -1);
    parts.counts.add(tx, destination, "waiting", 1);
  }
  return done;
}

function replayOne(tx: Tx, one: Settled, { progress, tried, kept }: ReplayParts): boolean {
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
