/** Requests to delete users. */
import * as v from "valibot";
import { about, count, named, success, text, time } from "./fields.ts";

/** The most users of one request. */
export const MOST_USERS = 1_000;

const status = about(
  "`running` until each notification is delivered or given up; `failed` if one was given up: it can be replayed.",
  v.picklist(["running", "finished", "failed"]),
);

const sources = about("The requested sources that send notifications.", v.array(v.string()));

const untold = about(
  "Destinations that once got events and are no longer in the config: they are not notified.",
  v.array(v.string()),
);

const deletionEntries = {
  id: v.string(),
  status,
  stage: about(
    "`settling`: its notifications are on their way, or one was given up and can still be replayed.",
    v.picklist(["notices", "settling", "erasing", "done"]),
  ),
  requestedAt: time,
  endedAt: about("When the request ended; null while it runs.", v.nullable(time)),
  users: about("How many.", count),
  scope: about("The sources of the request; null means all.", v.nullable(v.array(v.string()))),
  sources,
  untold,
  erase: v.boolean(),
  suppress: v.boolean(),
  notices: about(
    "The results of the notifications, by source and destination.",
    v.array(
      v.strictObject({
        source: v.string(),
        destination: v.string(),
        waiting: count,
        delivered: count,
        failed: count,
        expired: count,
        forgotten: about("They were settled; the result is no longer known.", count),
      }),
    ),
  ),
  erased: about(
    "What was removed from the store; null if nothing was removed yet.",
    v.nullable(v.strictObject({ events: count, deliveries: about("Those with a row of their own.", count) })),
  ),
};

export const deletion = named("Deletion", v.strictObject(deletionEntries));

export const deletionList = about(
  "A page. `cursor` leads to the next one, and is null after the last.",
  v.strictObject({ deletions: v.array(deletion), cursor: text }),
);

export const deletionReceipt = about(
  "The request, with its users.",
  named(
    "DeletionReceipt",
    v.strictObject({
      ...deletionEntries,
      people: v.array(
        v.strictObject({
          userId: about("Null after it was erased.", text),
          hash: about(
            "The SHA-256 of the salt (`GET /api/deletions/salt`), a colon and the userId, in UTF-8.",
            v.string(),
          ),
          suppressed: about("Whether calls about this user are refused now, from any source.", v.boolean()),
        }),
      ),
    }),
  ),
);

export const deletionRequested = about(
  "How many notifications go out, and from which sources.",
  v.strictObject({ success, id: v.string(), status, notifications: count, sources, untold }),
);

export const salt = about("It never changes for an outbox.", v.strictObject({ salt: v.string() }));

export const unsuppressed = about(
  "How many of them were suppressed, for any source. None of them is now.",
  v.strictObject({ success, unsuppressed: count }),
);

export const erasing = about("The request in its current state.", v.strictObject({ success, deletion }));
