import * as v from "valibot";
import { about, count, named, text, time } from "./fields.ts";

const status = about(
  "`running` until each notification is delivered or given up; `failed` if one was given up: it can be replayed.",
  v.picklist(["running", "finished", "failed"]),
);

const notices = about(
  "What became of the notifications, by source and destination.",
  v.array(
    v.strictObject({
      ...{ source: v.string(), destination: v.string() },
      ...{ waiting: count, delivered: count, failed: count, expired: count },
      forgotten: about("They were settled, and how is not known any more.", count),
    }),
  ),
);

/** The entries of a line of a list, and the beginning of what tells all of one. */
export const deletionEntries = {
  id: v.string(),
  status,
  stage: about(
    "`settling`: its notifications are on their way, or one was given up and can be replayed still.",
    v.picklist(["notices", "settling", "erasing", "done"]),
  ),
  requestedAt: time,
  endedAt: about("When the status became what it is; null while it runs.", v.nullable(time)),
  users: about("How many.", count),
  scope: about("The sources that were named; null if none was, which means all.", v.nullable(v.array(v.string()))),
  sources: about("Those of them that send notifications.", v.array(v.string())),
  untold: about(
    "Destinations that have got events once, and are not in the config any more: they are not told.",
    v.array(v.string()),
  ),
  erase: v.boolean(),
  suppress: v.boolean(),
  notices,
  erased: about(
    "What was removed from the store; null before anything was.",
    v.nullable(v.strictObject({ events: count, deliveries: about("Those with a row of their own.", count) })),
  ),
};

export const deletion = named("Deletion", v.strictObject(deletionEntries));

export const receipt = named(
  "DeletionReceipt",
  v.strictObject({
    ...deletionEntries,
    people: v.array(
      v.strictObject({
        userId: about("Null once it is erased.", text),
        hash: about(
          "The SHA-256 of the salt (`GET /api/deletions/salt`), a colon and the userId, in UTF-8.",
          v.string(),
        ),
        suppressed: about("Whether calls of this user are refused now, from whichever source.", v.boolean()),
      }),
    ),
  }),
);

export { status as deletionStatus };
