import * as v from "valibot";
import { about, count, named, time } from "./fields.ts";

const config = v.strictObject({
  file: v.string(),
  readAt: about("When the config in force was read.", time),
  refused: about(
    "Why the last one was refused; null if the last one is in force.",
    v.nullable(v.strictObject({ at: time, reason: v.string() })),
  ),
  needsRestart: about("The keys that keep their old value until the daemon is started again.", v.array(v.string())),
});

const outbox = v.strictObject({
  path: v.string(),
  used: about("Bytes of used pages.", count),
  max: about("`outbox.maxSize`, in bytes.", count),
  free: about("Bytes of its disk that are free; null if nobody can say.", v.nullable(count)),
  full: about(
    "The bound at which calls are refused; null while there is room.",
    v.nullable(v.picklist(["maxSize", "freeDisk"])),
  ),
  writable: about("False after a commit that failed, until one succeeds.", v.boolean()),
  gone: about(
    "What became of the outbox's files while the daemon runs, so that the next start would not find what is stored, and calls are refused; null if all are there. `truncated`: a file has lost its end.",
    v.nullable(v.strictObject({ what: v.picklist(["removed", "replaced", "truncated"]), path: v.string(), since: time })),
  ),
});

const source = named(
  "SourceStatus",
  v.strictObject({
    name: v.string(),
    enabled: v.boolean(),
    perSecond: about("Events taken, over the last minute.", v.number()),
    lastAt: about("When one was taken last; null if none was since the start.", v.nullable(time)),
  }),
);

const destination = named(
  "DestinationStatus",
  v.strictObject({
    name: v.string(),
    state: about(
      "`failing`: nothing has succeeded since the last failure. `offline`: this machine has no network.",
      v.picklist(["working", "failing", "offline", "paused", "disabled", "removed"]),
    ),
    counts: v.strictObject({ waiting: count, delivered: count, failed: count, expired: count }),
    pausedSince: v.nullable(time),
    failingSince: v.nullable(time),
    lastError: about(
      "What went wrong last; null if nothing has since the last success.",
      v.nullable(v.strictObject({ at: time, url: v.string(), reason: v.string() })),
    ),
    perSecond: about("Successes, over the last minute.", v.number()),
    oldestWaiting: about("For how many milliseconds the oldest that waits has been here.", v.nullable(v.number())),
  }),
);

export const status = named(
  "Status",
  v.strictObject({
    version: v.string(),
    pid: count,
    startedAt: time,
    config,
    outbox,
    sources: v.array(source),
    destinations: about(
      "Those of the config, in its order, and then those that something still waits for.",
      v.array(destination),
    ),
  }),
);
