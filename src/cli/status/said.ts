import * as v from "valibot";
import { saidWebhook } from "../trouble.ts";

const time = v.nullable(v.string());
const counts = v.object({ waiting: v.number(), delivered: v.number(), failed: v.number(), expired: v.number() });
const error = v.object({ at: v.string(), url: v.string(), reason: v.string() });

/** What the daemon answers at `GET /api/status`; a newer one may say more. */
const status = v.object({
  version: v.string(),
  pid: v.number(),
  startedAt: v.string(),
  config: v.object({
    file: v.string(),
    readAt: v.string(),
    refused: v.nullable(v.object({ at: v.string(), reason: v.string() })),
    needsRestart: v.array(v.string()),
  }),
  outbox: v.object({
    ...{ path: v.string(), used: v.number(), max: v.number(), writable: v.boolean() },
    ...{ free: v.nullable(v.number()), full: v.nullable(v.string()) },
    // A daemon of an older version does not look.
    gone: v.optional(v.nullable(v.object({ what: v.string(), path: v.string(), since: v.string() }))),
  }),
  // A daemon from before there were any does not say it.
  problems: v.optional(
    v.array(v.object({ level: v.string(), code: v.string(), what: v.string(), since: time, remedy: v.string() })),
    [],
  ),
  clock: v.optional(v.object({ plausible: v.boolean(), code: time, reason: time, since: time })),
  sources: v.array(v.object({ name: v.string(), enabled: v.boolean(), perSecond: v.number(), lastAt: time })),
  destinations: v.array(
    v.object({
      ...{ name: v.string(), state: v.string(), pausedSince: time, failingSince: time, lastError: v.nullable(error) },
      webhooks: v.optional(v.array(saidWebhook), []),
      ...{ perSecond: v.number(), counts, oldestWaiting: v.nullable(v.number()) },
    }),
  ),
});

export type SaidStatus = v.InferOutput<typeof status>;
export type SaidProblem = SaidStatus["problems"][number];

export function isStatus(said: unknown): said is SaidStatus {
  return v.is(status, said);
}
