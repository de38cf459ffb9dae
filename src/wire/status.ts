/** The status of the daemon and its destinations, and the operator's actions on destinations. */
import * as v from "valibot";
import { about, count, limitCode, named, type Received, refusal, success, time } from "./fields.ts";

const config = v.strictObject({
  file: v.string(),
  readAt: about("When the config in force was read.", time),
  refused: about(
    "Why the last one was refused; null if the last one is in force.",
    v.nullable(v.strictObject({ at: time, reason: v.string() })),
  ),
  needsRestart: about("Keys that keep their old value until a restart.", v.array(v.string())),
});

const outbox = v.strictObject({
  path: v.string(),
  used: about("Bytes of used pages.", count),
  max: about("`outbox.maxSize`, in bytes.", count),
  free: about("Free bytes of its disk; null if they are not known.", v.nullable(count)),
  full: about(
    "The bound at which calls are refused; null while there is room.",
    v.nullable(v.picklist(["maxSize", "freeDisk"])),
  ),
  writable: about("False from a failed commit to the next that succeeds.", v.boolean()),
  away: about(
    "Since when the database does not answer, and why. Calls are refused, and what only the database knows is null here. Null while it answers.",
    v.nullable(v.strictObject({ since: time, reason: v.string() })),
  ),
  gone: about(
    "What happened to the outbox's files while the daemon runs. Calls are refused, because the next start would not find them. Null if all files are in place. `truncated`: a file has lost its end.",
    v.nullable(
      v.strictObject({ what: v.picklist(["removed", "replaced", "truncated"]), path: v.string(), since: time }),
    ),
  ),
});

const clock = v.strictObject({
  plausible: about("False while the machine's clock is implausible: events get wrong times.", v.boolean()),
  code: about(
    "`before_build`: it says less than when this Fairlead was built. `behind`: less than the outbox has seen. `ahead`: far " +
      "more than the outbox expects, or many years after the build. Null while it is plausible.",
    v.nullable(v.picklist(["before_build", "behind", "ahead"])),
  ),
  reason: about("The reason as text, with what the clock says.", v.nullable(v.string())),
  since: v.nullable(time),
});

/** What its limits say of a source. */
const limits = v.strictObject({
  rate: about("`sources.X.rate`, as `100/s`; null without one.", v.nullable(v.string())),
  waiting: about(
    "Its waiting deliveries in bytes: their bodies, and half a KB for each; null while they are being counted. `max`: `sources.X.maxWaiting`, by which " +
      "it is refused; on PostgreSQL this daemon's part. Null without one.",
    v.nullable(v.strictObject({ bytes: v.nullable(count), max: count })),
  ),
  refusing: about(
    "The last code by which its requests are refused, since when, and how many were since then; null if none was for a minute.",
    v.nullable(v.strictObject({ code: limitCode, since: time, requests: count })),
  ),
});

const source = named(
  "SourceStatus",
  v.strictObject({
    name: v.string(),
    enabled: v.boolean(),
    perSecond: about("Events accepted, over the last minute.", v.number()),
    lastAt: about("When the last one was accepted; null if none was since the start.", v.nullable(time)),
    limits: about("Null if it has none.", v.nullable(limits)),
  }),
);

const webhookEntries = {
  url: about("Without its query, which may hold a token.", v.string()),
  state: about(
    "Judged by its answers since the start. `slowed`: it refuses everything, and gets a few requests a second. `down`: " +
      "it does not answer, and is only probed. `offline`: this machine has no network.",
    v.picklist(["untried", "working", "failing", "slowed", "down", "offline"]),
  ),
  failingSince: about("When the first attempt since the last success failed; null while it works.", v.nullable(time)),
  lastFailure: about(
    "Its last answer, while it does not work.",
    v.nullable(v.strictObject({ at: time, reason: v.string() })),
  ),
  nextTryAt: about("Until when nothing is sent to it; null if it is not held back.", v.nullable(time)),
};

const webhook = named("WebhookStatus", v.strictObject(webhookEntries));

/** A failing webhook that deliveries wait for. */
export const troubledWebhook = named("TroubledWebhook", v.strictObject({ destination: v.string(), ...webhookEntries }));

const destination = named(
  "DestinationStatus",
  v.strictObject({
    name: v.string(),
    state: about(
      "`untried`: nothing was sent since the start. `degraded`: some of its webhooks fail. `failing`: all of them do. " +
        "`offline`: this machine has no network.",
      v.picklist(["untried", "working", "degraded", "failing", "offline", "paused", "disabled", "removed"]),
    ),
    webhooks: about("In the order of the config.", v.array(webhook)),
    counts: about(
      "Deliveries by state; null while the database does not answer.",
      v.nullable(v.strictObject({ waiting: count, delivered: count, failed: count, expired: count })),
    ),
    pausedSince: v.nullable(time),
    failingSince: about("Since when no webhook has accepted anything; null if one does.", v.nullable(time)),
    lastError: about(
      "The last error of a webhook that fails; null if none does.",
      v.nullable(v.strictObject({ at: time, url: v.string(), reason: v.string() })),
    ),
    perSecond: about("Successes, over the last minute.", v.number()),
    heldBack: about(
      "Its rate, and since when deliveries wait only because of it; null if none does.",
      v.nullable(v.strictObject({ rate: v.string(), since: time })),
    ),
    oldestWaiting: about(
      "For how many milliseconds the oldest waiting delivery has been here.",
      v.nullable(v.number()),
    ),
  }),
);

const sharedDaemon = named(
  "SharedDaemon",
  v.strictObject({
    name: about("Different with each start.", v.string()),
    self: about("Whether it is the one that answers.", v.boolean()),
    version: v.string(),
    host: about("The name of its machine.", v.string()),
    pid: count,
    startedAt: time,
    silentFor: about("How many milliseconds ago it last said that it is alive.", count),
    alive: about("False if it has been silent for so long that the others take its streams.", v.boolean()),
    leads: about(
      "Whether it does what one daemon does for all, such as removing what is past its retention.",
      v.boolean(),
    ),
    streams: about(
      "The parts of the outbox that it writes and delivers.",
      v.array(
        v.strictObject({ id: count, waiting: about("Deliveries that wait in it, as of the last two seconds.", count) }),
      ),
    ),
  }),
);

const statusProblem = named(
  "StatusProblem",
  v.strictObject({
    level: v.picklist(["error", "warning"]),
    code: about("Stable: programs may match on it.", v.string()),
    what: v.string(),
    since: about("Null if it is unknown.", v.nullable(time)),
    remedy: about("What to do about it.", v.string()),
    destination: about("The destination it is about; left out if it is about none.", v.optional(v.string())),
  }),
);

export const status = about(
  "The state at this moment.",
  named(
    "Status",
    v.strictObject({
      version: v.string(),
      pid: count,
      startedAt: time,
      access: about(
        "What the request may do. `read`: look, as `admin.readToken` says. `full`: everything; no token may be needed.",
        v.picklist(["full", "read"]),
      ),
      config,
      outbox,
      problems: about("Current problems and since when they last, the worst first.", v.array(statusProblem)),
      clock,
      daemons: about(
        "The daemons that share the outbox, in the order of their start. Empty if only this one can have it; null while the database does not answer.",
        v.nullable(v.array(sharedDaemon)),
      ),
      sources: v.array(source),
      destinations: about(
        "Those of the config, in its order, and then removed ones with waiting deliveries, unless the database does not answer.",
        v.array(destination),
      ),
    }),
  ),
);

const changed = about("False if it already was.", v.boolean());

export const pausedDestination = about(
  "Since when it is paused, and how many wait.",
  v.strictObject({ success, paused: v.literal(true), since: time, changed, waiting: count }),
);

export const resumedDestination = about(
  "Since when it was paused, and how many wait.",
  v.strictObject({
    success,
    paused: v.literal(false),
    changed,
    waiting: count,
    since: about("Null if it was not paused.", v.nullable(time)),
    served: about("False if nothing is sent to it anyway: it is disabled, or not in the config.", v.boolean()),
  }),
);

export const retriedDestination = about(
  "How many wait.",
  v.strictObject({
    success,
    waiting: count,
    served: about("False if nothing is sent to it anyway: it is paused, disabled, or not in the config.", v.boolean()),
  }),
);

export const testedDestination = about(
  "The call was accepted and is sent like any other.",
  v.strictObject({
    success,
    messageId: about("Of the call: `GET /api/events/:messageId` says what happens to it.", v.string()),
    delivery: about("The id of its delivery.", v.string()),
    paused: about("Whether it waits until the destination is resumed.", v.boolean()),
  }),
);

const configProblem = named(
  "Problem",
  v.strictObject({
    severity: v.picklist(["error", "warning"]),
    file: v.string(),
    line: v.number(),
    column: v.number(),
    path: about("The key, as `destinations.crm.webhooks[0].url`; empty for the file itself.", v.string()),
    message: v.string(),
    text: about("The line of the file, as it stands there.", v.string()),
  }),
);

export const shownConfig = about(
  "As `fairlead check --explain` writes it.",
  v.strictObject({
    file: v.string(),
    text: about("YAML with every key, the value in force, and where that comes from. Secrets are `***`.", v.string()),
  }),
);

export const reloaded = about(
  "The config is in force.",
  v.strictObject({
    success,
    changes: about("What changed, as text without secrets.", v.array(v.string())),
    needsRestart: about("Keys that keep their old value until a restart.", v.array(v.string())),
    problems: about("Warnings.", v.array(configProblem)),
  }),
);

export const refusedConfig = about(
  "The config was refused.",
  v.strictObject({
    ...refusal.entries,
    code: v.literal("config_invalid"),
    problems: about("All problems, if the file could be read.", v.array(configProblem)),
  }),
);

/** The status as a reader gets it. */
export type DaemonStatus = Received<typeof status>;
