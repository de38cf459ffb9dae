import type { Attempt } from "../model/attempt.ts";
import type { Ms } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { describeAnswer, judge } from "../settle/judge.ts";
import type { Limits, Made } from "./attempt.ts";

/**
 * How long the text of a refusal is waited for. It mostly comes with the headers or right behind them; and the delivery
 * is not settled meanwhile, so that the wait stays well below the one before the first retry.
 */
const LONGEST_READ: Ms = 250;

/** An attempt as it is kept for the operator; null if nothing is known of it. */
export async function noteAttempt(
  { outcome, text }: Made,
  trigger: Attempt["trigger"],
  limits: Limits,
): Promise<Attempt | null> {
  const judgement = judge(outcome);
  if (judgement === "unknown") return null;
  const { startedAt: at, duration } = outcome;
  return {
    ...{ at, url: withoutQuery(outcome.url), duration, outcome: judgement },
    status: outcome.kind === "answered" ? outcome.status : null,
    reason: describeAnswer(outcome),
    answer: text === null || judgement === "delivered" ? null : await readSoon(text, limits),
    trigger,
  };
}

/** The text, or null if it takes its time. */
function readSoon(text: Promise<string>, limits: Limits): Promise<string | null> {
  const limit = limits.start(LONGEST_READ);
  return new Promise((resolve) => {
    // The daemon may be stopping, and wait for nothing.
    if (limit.signal.aborted) resolve(null);
    limit.signal.addEventListener("abort", () => resolve(null));
    void text.then((read) => {
      limit.end();
      resolve(read);
    });
  });
}
