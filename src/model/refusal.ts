import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

/** A refused call, or with `type` null a refused request. `source` is null if it is unknown. */
export type Refusal = {
  readonly source: string | null;
  readonly type: string | null;
  readonly messageId: string | null;
  readonly fault: Fault;
  /** How many calls were refused; one if left out. */
  readonly count?: number;
};

/** A refused call or request, as operators can look it up. */
export type Rejection = Refusal & {
  /** Wall time. */
  readonly at: At;
  readonly from: Sender;
  /** `POST /v1/track`; without the query, which may hold a write key. */
  readonly request: string;
  /** The first KB of the call, or of the request's body where that could not be read as calls. Holds no write key. */
  readonly sample: string;
};

/** Who sent a request, as far as that is known. */
export type Sender = {
  readonly address: string | null;
  readonly userAgent: string | null;
  /** The page that a browser sent it from. */
  readonly origin: string | null;
};

/** Forgets refusals of these sources, or of all, that name one of these users. */
export type ForgetRejections = (userIds: readonly string[], sources: readonly string[] | null) => void;

/** The last refusals, kept in memory. */
export type Rejections = {
  /** Newest first. */
  newest(limit: number): readonly Rejection[];
};
