import * as v from "valibot";

const sync = v.object({
  ...{ number: v.number(), kind: v.string(), state: v.string() },
  ...{ startedAt: v.string(), finishedAt: v.nullable(v.string()) },
  ...{ added: v.number(), changed: v.number(), removed: v.number(), done: v.number() },
});

const computation = v.object({
  ...{ source: v.string(), class: v.string(), name: v.string(), key: v.string(), id: v.string() },
  ...{ size: v.number(), createdAt: v.string(), lastSync: v.nullable(sync) },
});

const synced = v.object({
  ...{ key: v.nullable(v.string()), size: v.number() },
  ...{ added: v.number(), changed: v.number(), removed: v.number(), sync: v.nullable(sync) },
});

/** What the daemon says of audiences and traits; a newer one may say more. */
export type SaidSync = v.InferOutput<typeof sync>;
export type SaidComputation = v.InferOutput<typeof computation>;
export type SaidSynced = v.InferOutput<typeof synced>;
export type SaidOne = { readonly found: SaidComputation; readonly syncs: readonly SaidSync[] };

const listOf = {
  audience: v.object({ audiences: v.array(computation) }),
  trait: v.object({ traits: v.array(computation) }),
};
const oneOf = {
  audience: v.object({ audience: computation, syncs: v.array(sync) }),
  trait: v.object({ trait: computation, syncs: v.array(sync) }),
};

export type SaidList = {
  readonly audiences?: readonly SaidComputation[];
  readonly traits?: readonly SaidComputation[];
};
export type SaidShown = {
  readonly audience?: SaidComputation;
  readonly trait?: SaidComputation;
  readonly syncs: readonly SaidSync[];
};

export type Kind = "audience" | "trait";

export function isListOf(kind: Kind): (said: unknown) => said is SaidList {
  return (said): said is SaidList => v.is(listOf[kind], said);
}

export function isShown(kind: Kind): (said: unknown) => said is SaidShown {
  return (said): said is SaidShown => v.is(oneOf[kind], said);
}

export function isSynced(said: unknown): said is SaidSynced {
  return v.is(synced, said);
}
