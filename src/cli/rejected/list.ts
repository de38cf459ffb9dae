/** What the daemon answers at `GET /api/rejected`, the newest first. */
export type RejectedList = { readonly rejected: readonly RejectedCall[] };

/** A refused call, or with `type` null a whole request. All text of it may be a stranger's. */
export type RejectedCall = {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly source: string | null;
  readonly type: string | null;
  readonly messageId: string | null;
  readonly code: string;
  readonly message: string;
  /** How many calls it is about. */
  readonly count: number;
  readonly from: { readonly address: string | null; readonly userAgent: string | null; readonly origin: string | null };
  /** `POST /v1/track`. */
  readonly request: string;
  /** The first KB. */
  readonly sample: string;
};

export function isRejectedList(said: unknown): said is RejectedList {
  return isObject(said) && Array.isArray(said.rejected) && said.rejected.every(isRejectedCall);
}

function isRejectedCall(one: unknown): one is RejectedCall {
  if (!isObject(one) || !isObject(one.from) || typeof one.count !== "number") return false;
  const { at, code, message, request, sample, source, type, messageId } = one;
  const { address, userAgent, origin } = one.from;
  return (
    [at, code, message, request, sample].every((text) => typeof text === "string") &&
    [source, type, messageId, address, userAgent, origin].every((text) => text === null || typeof text === "string")
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
