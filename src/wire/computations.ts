/** Audiences and traits, which are both computations. */
import * as v from "valibot";
import { COMPUTATION_CLASSES } from "../model/audience.ts";
import { about, count, named, success, text, time } from "./fields.ts";

const counts = {
  added: about("Users who get their first value.", count),
  changed: about("Users who get another value; never for an audience.", count),
  removed: about("Users who lose their value.", count),
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

const syncs = about("Newest first, at most ten.", v.array(sync));
const OF_ONE = "The computation, and its last syncs.";

export const computationList = {
  audience: v.strictObject({ audiences: v.array(computation) }),
  trait: v.strictObject({ traits: v.array(computation) }),
};
export const computationDetail = {
  audience: about(OF_ONE, v.strictObject({ audience: computation, syncs })),
  trait: about(OF_ONE, v.strictObject({ trait: computation, syncs })),
};

export const synced = about(
  "What was done, is being done, or would be done (dry run).",
  v.strictObject({
    success,
    key: about("The trait that receivers get.", text),
    size: about("How many users have a value when all is done.", count),
    ...counts,
    sync: about("Null on a dry run, and if there was nothing to change.", v.nullable(sync)),
  }),
);
