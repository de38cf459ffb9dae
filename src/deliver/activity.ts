import type { Outcome } from "../model/outcome.ts";
import type { Clock } from "../model/ports.ts";
import { createRate, type Rate } from "../model/rate.ts";
import type { AttemptsLately, Lately } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { judge } from "../settle/judge.ts";
import { describeAnswer } from "../settle/reason.ts";

/** What has come of the attempts lately, in memory: for the operator, who asks now and then. */
export type Activity = AttemptsLately & {
  /** An attempt has ended. */
  saw(destination: string, outcome: Outcome): void;
};

type Kept = {
  readonly rate: Rate;
  failingSince: At | null;
  /** Put into words when somebody asks. */
  lastFailure: { readonly at: At; readonly outcome: Outcome } | null;
};

export function createActivity(clock: Clock, timeline: Pick<Timeline, "toWall">): Activity {
  const kept = new Map<string, Kept>();
  return {
    saw(destination, outcome) {
      const known = kept.get(destination) ?? { rate: createRate(), failingSince: null, lastFailure: null };
      kept.set(destination, known);
      const judgement = judge(outcome);
      if (judgement === "unknown") return;
      if (judgement === "delivered") {
        known.rate.add(1, clock.now());
        known.failingSince = null;
        known.lastFailure = null;
        return;
      }
      const at = clock.now();
      known.failingSince ??= at;
      known.lastFailure = { at, outcome };
    },
    of(destination) {
      const known = kept.get(destination);
      if (!known) return NOTHING;
      const { rate, failingSince, lastFailure } = known;
      const perSecond = rate.perSecond(clock.now());
      if (lastFailure === null) return { ...NOTHING, perSecond };
      const { at, outcome } = lastFailure;
      const { toWall } = timeline;
      const lastError = { at: toWall(at), url: withoutQuery(outcome.url), reason: describeAnswer(outcome) };
      return {
        ...{ perSecond, lastError, offline: judge(outcome) === "offline" },
        failingSince: failingSince === null ? null : toWall(failingSince),
      };
    },
  };
}

const NOTHING: Lately = { perSecond: 0, failingSince: null, lastError: null, offline: false };
