import * as v from "valibot";
import { about, count, named, STATES, TYPES, text, time } from "./fields.ts";
import { troubled } from "./status.ts";

const attempt = named(
  "Attempt",
  v.strictObject({
    at: about("When it began.", time),
    url: about("Without its query, which may hold a token.", v.string()),
    duration: about(
      "Milliseconds; null of the one that delivered at once: then `at` is when it ended.",
      v.nullable(v.number()),
    ),
    outcome: about(
      "`final`: this webhook is not asked again. `offline`: it never left this machine.",
      v.picklist(["delivered", "retry", "final", "offline"]),
    ),
    status: about("Null if nothing was answered.", v.nullable(v.number())),
    reason: v.string(),
    answer: about("The first KB of what a receiver said that did not take it.", text),
    trigger: about(
      "`probe`: the lane was closed, and this one was to find out. `replay`: the first one after the operator had it sent again.",
      v.picklist(["first", "retry", "probe", "replay"]),
    ),
  }),
);

/** The entries of a line of a list, and the beginning of whatever tells more of a delivery. */
export const listedEntries = {
  id: about("The number of its event, a hyphen, and its destination.", v.string()),
  destination: v.string(),
  state: v.picklist(STATES),
  source: v.string(),
  type: v.picklist(TYPES),
  messageId: v.string(),
  userId: text,
  acceptedAt: time,
  attempts: about("Rounds of attempts so far.", count),
  dueAt: about("When it is tried next; null once it is settled.", v.nullable(time)),
  settledAt: about("Null while it waits.", v.nullable(time)),
  replayedAt: about("When the operator last had it sent again; null if never.", v.nullable(time)),
  url: about("Who took it, without the query; null if nobody has.", text),
  status: about("What they answered; null if nobody took it.", v.nullable(v.number())),
  reason: about("Why it waits or was given up; null before the first attempt, and if it was delivered.", text),
};

export const troubledWebhooks = about(
  "The webhooks that do not work now, of the destinations for which they wait: why it takes longer than `dueAt` says.",
  v.array(troubled),
);

export const listed = named("Delivery", v.strictObject(listedEntries));

export const detail = named(
  "DeliveryDetail",
  v.strictObject({
    ...listedEntries,
    firstAttemptAt: about("Its four hours count from here; null before it.", v.nullable(time)),
    finals: about(
      "The webhooks that have refused it for good.",
      v.array(v.strictObject({ url: v.string(), reason: v.string() })),
    ),
    body: about("What every receiver gets, byte for byte.", v.string()),
    requests: about(
      "What is sent, as the config is now. `***` stands for the values of headers that the config sets.",
      v.array(v.strictObject({ url: v.string(), headers: v.record(v.string(), v.string()) })),
    ),
    troubled: troubledWebhooks,
    log: about(
      "Its attempts: the first ones, how many were left out, and the last ones.",
      v.strictObject({ first: v.array(attempt), omitted: count, last: v.array(attempt) }),
    ),
  }),
);
