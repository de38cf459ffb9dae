import * as v from "valibot";

const page = v.object({
  replayed: v.number(),
  destinations: v.record(v.string(), v.number()),
  left: v.number(),
  // An older daemon does not say these.
  deleted: v.optional(v.number()),
  superseded: v.optional(v.number()),
  oldest: v.nullable(v.string()),
  newest: v.nullable(v.string()),
  cursor: v.nullable(v.string()),
});

const one = v.object({ id: v.string(), did: v.picklist(["replayed", "hurried", "due"]) });

/** What the daemon answers at `POST /api/replay`; a newer one may say more. */
export type SaidPage = v.InferOutput<typeof page>;
/** What it answers at `POST /api/deliveries/:id/retry`. */
export type SaidRetry = v.InferOutput<typeof one>;

export function isPage(said: unknown): said is SaidPage {
  return v.is(page, said);
}

export function isRetry(said: unknown): said is SaidRetry {
  return v.is(one, said);
}
