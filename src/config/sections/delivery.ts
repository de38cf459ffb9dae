import * as v from "valibot";
import { HOUR, SECOND } from "../../model/units.ts";
import { count, duration } from "../fields.ts";
import { key } from "../manual.ts";

export const delivery = v.strictObject({
  timeout: key(v.optional(duration({ min: 1, max: 5 * SECOND }), "5s"), {
    description: "How long a receiver may take to answer; 5s at most.",
    example: "2s",
    more: "Shorter if yours are fast, so that a hanging one is noticed sooner.",
  }),
  cutoff: key(v.optional(duration({ min: 1, max: 4 * HOUR }), "4h"), {
    description: "How long after its first attempt a delivery is tried again; 4h at most.",
    example: "30m",
    more: "Shorter if late events are worth nothing.",
  }),
  concurrency: key(v.optional(count({ min: 1, max: 200 }), 64), {
    description: "How many requests may be under way to one webhook at a time, from 1 to 200.",
    example: 8,
    more: `Lower it for a receiver that cannot take that many. Fairlead starts with a few and goes up to this while the
      receiver keeps answering.`,
  }),
});
