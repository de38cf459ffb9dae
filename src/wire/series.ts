/** The charts of the operator. */
import * as v from "valibot";
import { about, count, type Received, time } from "./fields.ts";

const points = v.array(v.nullable(v.number()));
const rate = (what: string) => v.optional(about(`${what}, per second.`, points));

export const series = about(
  "The points that have ended, oldest first; null where nothing was recorded. All lists are equally long.",
  v.strictObject({
    since: about("When the first point began: not before the daemon's start.", time),
    until: about("When the last point ended.", time),
    step: about("Milliseconds from one point to the next.", count),
    omitted: about("Destinations or sources that have no series, because there are too many.", count),
    series: v.strictObject({
      accepted: rate("Events that were accepted, repeats included"),
      refused: rate("Calls that were refused"),
      delivered: rate("Attempts that succeeded"),
      failed: rate("Attempts that failed"),
      waiting: v.optional(about("Deliveries that wait.", points)),
      p50: v.optional(
        about("Milliseconds in which half of the attempts were answered; null without attempts.", points),
      ),
      p99: v.optional(about("Milliseconds in which 99 of 100 attempts were answered; null without attempts.", points)),
    }),
  }),
);

/** As a reader gets them. */
export type SeriesAnswer = Received<typeof series>;
