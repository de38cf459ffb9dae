import * as v from "valibot";
import { listed } from "../deliveries/said.ts";
import { saidTroubled } from "../trouble.ts";

const text = v.nullable(v.string());

const rejection = v.object({
  ...{ at: v.string(), source: text, type: text, code: v.string(), message: v.string(), request: v.string() },
  from: v.object({ address: text }),
});

const event = v.object({
  ...{
    event: v.number(),
    source: v.string(),
    type: v.string(),
    messageId: v.string(),
    userId: text,
    acceptedAt: v.string(),
  },
  skipped: v.array(v.object({ destination: v.string(), rule: v.string() })),
  deliveries: v.array(v.object({ ...listed, served: v.string() })),
  forgotten: v.array(v.string()),
  whole: v.boolean(),
});

/** What the daemon answers at `GET /api/events/:messageId`; a newer one may say more. All text may be a stranger's. */
const trail = v.object({
  messageId: v.string(),
  rejected: v.array(rejection),
  rejectedSince: v.string(),
  events: v.array(event),
  seen: v.array(v.object({ source: v.string(), at: v.string() })),
  complete: v.boolean(),
  troubled: saidTroubled,
});

export type SaidTrail = v.InferOutput<typeof trail>;
export type SaidEvent = SaidTrail["events"][number];

export function isTrail(said: unknown): said is SaidTrail {
  return v.is(trail, said);
}

/** Whether anything is known of it. */
export function isKnown({ rejected, events, seen }: SaidTrail): boolean {
  return rejected.length + events.length + seen.length > 0;
}
