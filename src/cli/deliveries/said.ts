import * as v from "valibot";
import { saidTroubled } from "../trouble.ts";

const time = v.nullable(v.string());
const text = v.nullable(v.string());

/** A line of a list, and the beginning of whatever tells more of it. */
export const listed = {
  ...{ id: v.string(), destination: v.string(), state: v.string(), source: v.string(), type: v.string() },
  ...{
    messageId: v.string(),
    userId: text,
    acceptedAt: v.string(),
    attempts: v.number(),
    dueAt: time,
    settledAt: time,
    // A daemon from before there was `fairlead replay` does not say it.
    replayedAt: v.optional(time),
  },
  ...{ url: text, status: v.nullable(v.number()), reason: text },
};

const attempt = v.object({
  ...{ at: v.string(), url: v.string(), duration: v.nullable(v.number()), outcome: v.string() },
  ...{ status: v.nullable(v.number()), reason: v.string(), answer: text, trigger: v.string() },
});

/** What the daemon answers at `GET /api/deliveries`; a newer one may say more. All text may be a stranger's. */
const list = v.object({
  deliveries: v.array(v.object(listed)),
  cursor: v.nullable(v.string()),
  troubled: saidTroubled,
});

/** What it answers at `GET /api/deliveries/:id`. */
const detail = v.object({
  ...listed,
  firstAttemptAt: time,
  finals: v.array(v.object({ url: v.string(), reason: v.string() })),
  troubled: saidTroubled,
  body: v.string(),
  requests: v.array(v.object({ url: v.string(), headers: v.record(v.string(), v.string()) })),
  log: v.object({ first: v.array(attempt), omitted: v.number(), last: v.array(attempt) }),
});

export type SaidList = v.InferOutput<typeof list>;
export type SaidDelivery = SaidList["deliveries"][number];
export type SaidDetail = v.InferOutput<typeof detail>;
export type SaidAttempt = v.InferOutput<typeof attempt>;

export function isList(said: unknown): said is SaidList {
  return v.is(list, said);
}

export function isDetail(said: unknown): said is SaidDetail {
  return v.is(detail, said);
}
