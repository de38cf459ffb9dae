import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

/** A call, or with `type` null a whole request, that was not taken. `source` is null while nobody knows it. */
export type Refusal = {
  readonly source: string | null;
  readonly type: string | null;
  readonly messageId: string | null;
  readonly fault: Fault;
  /** How many calls it is about; one when left out. */
  readonly count?: number;
};

/** A call, or a whole request, that was not taken, as the operator can look it up. */
export type Rejection = Refusal & {
  /** Wall time. */
  readonly at: At;
  readonly from: Sender;
  /** `POST /v1/track`; without the query, which may hold a write key. */
  readonly request: string;
  /** The first KB of the call, or of the request's body where that could not be read as calls. Holds no write key. */
  readonly sample: string;
};

/** Who sent a request, as far as it is known. */
export type Sender = {
  readonly address: string | null;
  readonly userAgent: string | null;
  /** The page that a browser sent it from. */
  readonly origin: string | null;
};

/** Forgets those of these sources, or of all, in which one of these users is named. */
export type ForgetRejections = (userIds: readonly string[], sources: readonly string[] | null) => void;

/** The last refusals, kept in memory. */
export type Rejections = {
  /** The newest first. */
  newest(limit: number): readonly Rejection[];
};
