import * as v from "valibot";
import { COMPUTATION_CLASSES, type Computation, type Sync } from "../../model/audience.ts";
import type { Timeline } from "../../model/timeline.ts";
import type { Like } from "../route.ts";
import { about, count, named, text, time, wallTime, wallTimeOf } from "./fields.ts";

export const counts = {
  added: about("Users who had no value, and get one.", count),
  changed: about("Users who get another value; never of an audience.", count),
  removed: about("Users who have none any more.", count),
};

export const sync = named(
  "Sync",
  v.strictObject({
    number: count,
    kind: about(
      "`list`: the whole of it. `members`: some users. `removal`, `silent_removal`: of the audience or trait itself.",
      v.picklist(["list", "members", "removal", "silent_removal"]),
    ),
    state: v.picklist(["running", "finished"]),
    startedAt: time,
    finishedAt: about("Null while it runs.", v.nullable(time)),
    ...counts,
    done: about("How many of the changes are in the outbox.", count),
  }),
);

export const computation = named(
  "Computation",
  v.strictObject({
    source: v.string(),
    class: v.picklist(COMPUTATION_CLASSES),
    name: v.string(),
    key: about("The name in snake_case: the trait that receivers get.", v.string()),
    id: about("`computation_id` of the calls.", v.string()),
    size: about("How many users have a value.", count),
    createdAt: time,
    lastSync: about("Null before the first.", v.nullable(sync)),
  }),
);

/** Of a list, or of a change: what it did, does, or on a dry run would do. */
export const synced = {
  key: about("The trait that receivers get.", text),
  size: about("How many users have a value, once all is done.", count),
  ...counts,
  sync: about("Null on a dry run.", v.nullable(sync)),
};

export function toSync(one: Sync, timeline: Pick<Timeline, "toWall">): Like<typeof sync> {
  const { number, kind, startedAt, finishedAt, added, changed, removed, done } = one;
  return {
    ...{ number, kind, state: finishedAt === null ? "running" : "finished" },
    ...{ startedAt: wallTime(startedAt, timeline), finishedAt: wallTimeOf(finishedAt, timeline) },
    ...{ added, changed, removed, done },
  };
}

export function toComputation(one: Computation, timeline: Pick<Timeline, "toWall">): Like<typeof computation> {
  const { source, class: kind, name, key, id, size, createdAt, syncs } = one;
  const [last = null] = syncs;
  return {
    ...{ source, class: kind, name, key, id, size, createdAt: wallTime(createdAt, timeline) },
    lastSync: last && toSync(last, timeline),
  };
}
