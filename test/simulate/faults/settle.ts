import type * as Backoff from "../../../src/settle/backoff.ts";
import type * as RetryAfter from "../../../src/settle/backoff.ts";
import type * as Judge from "../../../src/settle/judge.ts";
import type * as Settle from "../../../src/settle/settle.ts";
import { fault } from "./fault.ts";

/** What can go wrong between an answer and what it means. */
export const SETTLE_FAULTS = [
  fault<typeof Settle>("takes the moment of the cutoff for one before it", "settle/settle.ts", ({ settle }) => ({
    settle: (delivery, outcomes, context) => settle(delivery, outcomes, { ...context, now: context.now - 1 }),
  })),
  fault<typeof Settle>("gives up after the time since it was accepted", "settle/settle.ts", ({ settle }) => ({
    settle(delivery, outcomes, context) {
      const real = settle(delivery, outcomes, context);
      if (real?.state !== "waiting" || context.now - delivery.acceptedAt < context.policy.cutoff) return real;
      const { dueAt, ...progress } = real;
      return { ...progress, state: "expired", reason: "no success" };
    },
  })),
  fault<typeof Settle>("tries again after a success", "settle/settle.ts", ({ settle }) => ({
    settle(delivery, outcomes, context) {
      const real = settle(delivery, outcomes, context);
      if (real?.state !== "delivered") return real;
      return { ...real, state: "waiting", dueAt: context.now + 1_000, reason: "once more" };
    },
  })),
  fault<typeof Settle>("grants time in which the clock ran", "settle/settle.ts", ({ settle }) => ({
    settle(delivery, outcomes, context) {
      const real = settle(delivery, outcomes, context);
      return real && { ...real, stoodStill: real.stoodStill - 60_000 };
    },
  })),
  fault<typeof Backoff>("tries again too early", "settle/backoff.ts", ({ backoff }) => ({
    backoff: (attempts, policy, chance) => Math.floor(backoff(attempts, policy, chance) * 0.6),
  })),
  fault<typeof RetryAfter>("does not hear Retry-After", "settle/backoff.ts", () => ({
    parseRetryAfter: () => null,
  })),
  fault<typeof Judge>("closes a lane on answers of 500", "settle/judge.ts", ({ signOf }) => ({
    signOf(answer) {
      const sign = signOf(answer);
      return sign === "refused" || sign === "overloaded" ? "silent" : sign;
    },
  })),
  fault<typeof Judge>("takes a refusal for a success", "settle/judge.ts", ({ judge }) => ({
    judge: (answer) => (answer.kind === "answered" && answer.status === 400 ? "delivered" : judge(answer)),
  })),
];
