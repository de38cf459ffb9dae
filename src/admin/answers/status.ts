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
    v.nullable(
      v.strictObject({ what: v.picklist(["removed", "replaced", "truncated"]), path: v.string(), since: time }),
    ),
  ),
});

const clock = v.strictObject({
  plausible: about("False while the machine's clock cannot be right: events get wrong times.", v.boolean()),
  code: about(
    "`before_build`: it says less than when this Fairlead was built. `behind`: less than the outbox has seen. `ahead`: far " +
      "more than the outbox expects, or many years after the build. Null while it is plausible.",
    v.nullable(v.picklist(["before_build", "behind", "ahead"])),
  ),
  reason: about("In words, with what the clock says.", v.nullable(v.string())),
  since: v.nullable(time),
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

const failure = {
  failingSince: about("When the first attempt since the last success failed; null while it works.", v.nullable(time)),
  lastFailure: about(
    "What it answered last, while it does not work.",
    v.nullable(v.strictObject({ at: time, reason: v.string() })),
  ),
  nextTryAt: about("Until when nothing is sent to it; null if that is not so.", v.nullable(time)),
};
const WEBHOOK_STATES = ["untried", "working", "failing", "slowed", "down", "offline"] as const;

const webhook = named(
  "WebhookStatus",
  v.strictObject({
    url: about("Without its query, which may hold a token.", v.string()),
    state: about(
      "By what it has answered since the start. `slowed`: it refuses everything, and gets a few requests a second. `down`: " +
        "it does not answer, and is only probed. `offline`: this machine has no network.",
      v.picklist(WEBHOOK_STATES),
    ),
    ...failure,
  }),
);

/** A webhook that does not work, beside deliveries that wait for it. */
export const troubled = named(
  "TroubledWebhook",
  v.strictObject({ destination: v.string(), url: v.string(), state: v.picklist(WEBHOOK_STATES), ...failure }),
);

const destination = named(
  "DestinationStatus",
  v.strictObject({
    name: v.string(),
    state: about(
      "`untried`: nothing was sent since the start. `degraded`: some of its webhooks fail. `failing`: all of them do. " +
        "`offline`: this machine has no network.",
      v.picklist([
        ...(["untried", "working", "degraded", "failing", "offline"] as const),
        ...(["paused", "disabled", "removed"] as const),
      ]),
    ),
    webhooks: about("In the order of the config.", v.array(webhook)),
    counts: v.strictObject({ waiting: count, delivered: count, failed: count, expired: count }),
    pausedSince: v.nullable(time),
    failingSince: about("Since when no webhook has taken anything; null if one does.", v.nullable(time)),
    lastError: about(
      "What went wrong last at a webhook that fails; null if none does.",
      v.nullable(v.strictObject({ at: time, url: v.string(), reason: v.string() })),
    ),
    perSecond: about("Successes, over the last minute.", v.number()),
    oldestWaiting: about("For how many milliseconds the oldest that waits has been here.", v.nullable(v.number())),
  }),
);

const problem = named(
  "StatusProblem",
  v.strictObject({
    level: v.picklist(["error", "warning"]),
    code: about("Stays the same, for programs.", v.string()),
    what: v.string(),
    since: about("Null if nobody knows.", v.nullable(time)),
    remedy: about("What to do about it.", v.string()),
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
    problems: about("What is wrong, and since when: the worst first.", v.array(problem)),
    clock,
    sources: v.array(source),
    destinations: about(
      "Those of the config, in its order, and then those that something still waits for.",
      v.array(destination),
    ),
  }),
);
