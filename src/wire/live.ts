/** The live stream of the operator. */
import * as v from "valibot";
import { TYPES } from "./deliveries.ts";
import { about, CODES, count, named, type Received, text, time } from "./fields.ts";

const accepted = named(
  "LiveAccepted",
  v.strictObject({
    kind: v.literal("accepted"),
    at: time,
    source: v.string(),
    type: v.picklist(TYPES),
    event: about("The event of a track call, or the name of a page or screen.", text),
    messageId: v.string(),
    userId: text,
    destinations: about("Destinations that get it; at most 50.", v.array(v.string())),
  }),
);

const refused = named(
  "LiveRefused",
  v.strictObject({
    kind: v.literal("refused"),
    at: time,
    source: about("Null if it is unknown.", text),
    type: about("Null if a whole request was refused.", text),
    messageId: text,
    code: v.picklist(CODES),
    message: v.string(),
  }),
);

const attempted = named(
  "LiveAttempted",
  v.strictObject({
    kind: v.literal("attempted"),
    at: time,
    destination: v.string(),
    delivery: about("Its id.", v.string()),
    url: about("Without its query, which may hold a token.", v.string()),
    source: v.string(),
    type: v.picklist(TYPES),
    messageId: v.string(),
    attempt: about("Which round of attempts it belongs to, from 1.", count),
    status: about("Null without an answer.", v.nullable(v.number())),
    reason: about("Why it failed; null if it was delivered.", text),
    duration: about("Milliseconds.", v.number()),
  }),
);

export const liveLine = about(
  "Lines of JSON, each of this shape: what happened since the line before.",
  named(
    "LiveLine",
    v.strictObject({
      at: time,
      events: v.array(v.variant("kind", [accepted, refused, attempted])),
      omitted: about("How many more events matched the filter.", count),
    }),
  ),
);

/** As a reader gets it. */
export type LiveLine = Received<typeof liveLine>;
