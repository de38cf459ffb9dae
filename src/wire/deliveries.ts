/** Deliveries, the calls that they come from, and the operator's actions on them. */
import * as v from "valibot";
import type { DeliveryState } from "../model/delivery.ts";
import { CALL_TYPES, type EventType } from "../model/event.ts";
import { SKIP_RULE_NAMES } from "../model/rules.ts";
import { about, CODES, count, limitCode, named, success, text, time } from "./fields.ts";
import { troubledWebhook } from "./status.ts";

export const STATES = ["waiting", "delivered", "failed", "expired"] as const satisfies readonly DeliveryState[];
/** The states that a delivery can be replayed from. */
export const SETTLED_STATES = ["failed", "expired", "delivered"] as const satisfies readonly DeliveryState[];
export const TYPES = [...CALL_TYPES, "delete"] as const satisfies readonly EventType[];

const attempt = named(
  "Attempt",
  v.strictObject({
    at: about("When it began.", time),
    url: about("Without its query, which may hold a token.", v.string()),
    duration: about(
      "Milliseconds; null for an attempt that delivered at once: then `at` is when it ended.",
      v.nullable(v.number()),
    ),
    outcome: about(
      "`final`: this webhook is not asked again. `offline`: the attempt never left this machine.",
      v.picklist(["delivered", "retry", "final", "offline"]),
    ),
    status: about("Null without an answer.", v.nullable(v.number())),
    reason: v.string(),
    answer: about("The first KB of the answer of a receiver that did not accept it.", text),
    trigger: about(
      "`probe`: the lane was closed, and this attempt was to find out whether it works again. `replay`: the first one after the operator had it sent again.",
      v.picklist(["first", "retry", "probe", "replay"]),
    ),
  }),
);

export const heldBack = named(
  "DeliveryHeldBack",
  v.strictObject({
    by: about(
      "`user`: an earlier delivery of its user. `rate`, `concurrency`: that of its destination.",
      v.picklist(["user", "rate", "concurrency"]),
    ),
    why: about("What it waits for, as text.", v.string()),
  }),
);

const deliveryEntries = {
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
  heldBack: about(
    "What holds it back at this moment although it is due; null if nothing does, or if this daemon does not know.",
    v.nullable(heldBack),
  ),
  settledAt: about("Null while it waits.", v.nullable(time)),
  replayedAt: about("When the operator last replayed it; null if never.", v.nullable(time)),
  url: about("The webhook that accepted it, without the query; null if none has.", text),
  status: about("What that webhook answered; null if none accepted it.", v.nullable(v.number())),
  reason: about("Why it waits or was given up; null before the first attempt, and if it was delivered.", text),
};

const troubled = about(
  "The failing webhooks of destinations that some of these wait for: they delay deliveries beyond `dueAt`.",
  v.array(troubledWebhook),
);

export const delivery = named("Delivery", v.strictObject(deliveryEntries));

export const deliveryList = about(
  "A page. `cursor` leads to the next one, and is null after the last.",
  v.strictObject({ deliveries: v.array(delivery), cursor: text, troubled }),
);

export const deliveryDetail = named(
  "DeliveryDetail",
  v.strictObject({
    ...deliveryEntries,
    firstAttemptAt: about("Its cutoff counts from here; null before it.", v.nullable(time)),
    finals: about(
      "The webhooks whose refusal was final.",
      v.array(v.strictObject({ url: v.string(), reason: v.string() })),
    ),
    body: about("The body that its receivers get, byte for byte.", v.string()),
    requests: about(
      "The request by the current config. `***` replaces the values of headers that the config sets.",
      v.array(v.strictObject({ url: v.string(), headers: v.record(v.string(), v.string()) })),
    ),
    troubled,
    log: about(
      "Its attempts: the first ones, how many were left out, and the last ones.",
      v.strictObject({ first: v.array(attempt), omitted: count, last: v.array(attempt) }),
    ),
  }),
);

/** A refused call or request. */
export const rejection = named(
  "Rejection",
  v.strictObject({
    at: time,
    source: about("Null if it was unknown.", text),
    type: about("Null if it is about a whole request.", text),
    messageId: text,
    code: v.picklist(CODES),
    message: v.string(),
    count: about("How many calls were refused.", count),
    from: v.strictObject({
      address: text,
      userAgent: text,
      origin: about("The page that a browser sent it from.", text),
    }),
    request: about("As `POST /v1/track`, without its query.", v.string()),
    sample: about("The first KB of the call, or of the body; without write keys.", v.string()),
  }),
);

export const rejectionList = about("Those that match.", v.strictObject({ rejected: v.array(rejection) }));

export const event = named(
  "Event",
  v.strictObject({
    event: about("Its number.", count),
    source: v.string(),
    type: v.picklist(TYPES),
    messageId: v.string(),
    userId: text,
    acceptedAt: time,
    skipped: about(
      "The destinations that do not get it, each with the rule that decided.",
      v.array(
        v.strictObject({
          destination: v.string(),
          rule: v.picklist(SKIP_RULE_NAMES),
        }),
      ),
    ),
    deliveries: v.array(
      named(
        "EventDelivery",
        v.strictObject({
          ...deliveryEntries,
          served: about(
            "Whether anything is delivered to the destination now.",
            v.picklist(["yes", "paused", "disabled", "removed"]),
          ),
        }),
      ),
    ),
    forgotten: about(
      "Destinations whose delivery is no longer kept: it is only known that the first attempt did not deliver it.",
      v.array(v.string()),
    ),
    whole: about("False if the event itself is gone: other destinations may have got it at once.", v.boolean()),
  }),
);

export const triedCall = about(
  "What would happen to the call if it arrived now.",
  v.strictObject({
    source: about("Whose call it would be.", v.string()),
    results: about(
      "Each destination of the config, in its order.",
      v.array(
        named(
          "Preview",
          v.strictObject({
            destination: v.string(),
            gets: v.boolean(),
            rule: about(
              "The rule that excludes it; null if it gets the call.",
              v.nullable(v.picklist(SKIP_RULE_NAMES)),
            ),
            why: about("The reason as text, with what was found in the call.", v.string()),
            body: about(
              "The body that its template makes. Null if it has no template and gets the default body, or if it gets nothing.",
              v.nullable(v.string()),
            ),
          }),
        ),
      ),
    ),
  }),
);

export const trail = about(
  "Everything known about the calls with this messageId; all lists are empty if nothing is known.",
  v.strictObject({
    messageId: v.string(),
    rejected: about("Matching calls among the last refusals.", v.array(rejection)),
    rejectedSince: about("Since when refusals are remembered.", time),
    limited: about(
      "The sources whose limits have refused requests, without a word on each call: with the last code, from when to when, and how many.",
      v.array(v.strictObject({ source: v.string(), code: limitCode, since: time, until: time, requests: count })),
    ),
    events: about("What was accepted.", v.array(event)),
    seen: about(
      "When it came from which source in the last 24 hours, whether the event is still kept or not.",
      v.array(v.strictObject({ source: v.string(), at: time })),
    ),
    troubled,
    complete: about("False if nothing was found and the search did not cover everything that is kept.", v.boolean()),
  }),
);

export const replayPage = about(
  "What was done, or would be done (dry run). A page may do fewer than `limit`, or none.",
  v.strictObject({
    success,
    replayed: about("How many wait again.", count),
    destinations: about("How many of them, by destination.", v.record(v.string(), count)),
    left: about(
      "How many were left as they are: their destination is no longer in the config, or they were ended by a command.",
      count,
    ),
    deleted: about("How many were left as they are: their user was deleted after their event arrived.", count),
    superseded: about(
      "How many were left as they are, because a newer call about the same user and audience, or trait, has replaced them.",
      count,
    ),
    oldest: about("When the first of their events arrived.", v.nullable(time)),
    newest: about("When the last one arrived.", v.nullable(time)),
    cursor: about("Of the next page; null after the last one.", text),
  }),
);

export const retriedDelivery = about(
  "The result. `hurried`: it waited, and is due now. `due`: it was due already.",
  v.strictObject({ success, id: v.string(), did: v.picklist(["replayed", "hurried", "due"]) }),
);

const more = about("Whether others still wait.", v.boolean());

export const discardedPage = v.strictObject({ success, discarded: count, more });
export const movedPage = v.strictObject({ success, moved: count, doubled: count, more });
export const waitingCount = about("Of a dry run: how many wait.", v.strictObject({ success, waiting: count }));
