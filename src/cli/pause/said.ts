import * as v from "valibot";

const paused = v.object({ paused: v.literal(true), since: v.string(), changed: v.boolean(), waiting: v.number() });

const resumed = v.object({
  ...{ paused: v.literal(false), since: v.nullable(v.string()), changed: v.boolean() },
  ...{ waiting: v.number(), served: v.boolean() },
});

/** What the daemon answers when a destination was paused, or resumed; a newer one may say more. */
export type SaidPaused = v.InferOutput<typeof paused>;
export type SaidResumed = v.InferOutput<typeof resumed>;

export function isPaused(said: unknown): said is SaidPaused {
  return v.is(paused, said);
}

export function isResumed(said: unknown): said is SaidResumed {
  return v.is(resumed, said);
}
