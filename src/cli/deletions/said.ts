import * as v from "valibot";

const time = v.nullable(v.string());
const status = v.string();

const notices = v.array(
  v.object({
    ...{ source: v.string(), destination: v.string() },
    ...{ waiting: v.number(), delivered: v.number(), failed: v.number(), expired: v.number(), forgotten: v.number() },
  }),
);

const entries = {
  ...{ id: v.string(), status, stage: v.string(), requestedAt: v.string(), endedAt: time, users: v.number() },
  ...{
    scope: v.nullable(v.array(v.string())),
    sources: v.array(v.string()),
    erase: v.boolean(),
    suppress: v.boolean(),
  },
  // An older daemon does not say it.
  untold: v.optional(v.array(v.string())),
  notices,
  erased: v.nullable(v.object({ events: v.number(), deliveries: v.number() })),
};

const deletion = v.object(entries);
const people = v.array(v.object({ userId: v.nullable(v.string()), hash: v.string(), suppressed: v.boolean() }));

/** What the daemon answers at `/api/deletions` and below; a newer one may say more. Ids of users may be a stranger's text. */
const requested = v.object({
  ...{ id: v.string(), status, notifications: v.number(), sources: v.array(v.string()) },
  untold: v.optional(v.array(v.string())),
});
const list = v.object({ deletions: v.array(deletion), cursor: v.nullable(v.string()) });
const receipt = v.object({ ...entries, people });
const salt = v.object({ salt: v.string() });
const erasing = v.object({ deletion });
const unsuppressed = v.object({ unsuppressed: v.number() });

export type SaidRequested = v.InferOutput<typeof requested>;
export type SaidDeletion = v.InferOutput<typeof deletion>;
export type SaidDeletions = v.InferOutput<typeof list>;
export type SaidReceipt = v.InferOutput<typeof receipt>;

export function isRequested(said: unknown): said is SaidRequested {
  return v.is(requested, said);
}

export function isDeletions(said: unknown): said is SaidDeletions {
  return v.is(list, said);
}

export function isReceipt(said: unknown): said is SaidReceipt {
  return v.is(receipt, said);
}

export function isSalt(said: unknown): said is v.InferOutput<typeof salt> {
  return v.is(salt, said);
}

export function isErasing(said: unknown): said is v.InferOutput<typeof erasing> {
  return v.is(erasing, said);
}

export function isUnsuppressed(said: unknown): said is v.InferOutput<typeof unsuppressed> {
  return v.is(unsuppressed, said);
}
