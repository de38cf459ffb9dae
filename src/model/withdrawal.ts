import type { Fault } from "./fault.ts";

/** Events that must not be sent any more: a newer one replaces them, or their user was deleted. */
export type Withdrawal = {
  /** Their numbers. Their waiting deliveries become `failed`. */
  readonly events: readonly number[];
  /** The reason stored with each: `superseded` or `user deleted`. */
  readonly reason: string;
};

/**
 * Ends these deliveries, and answers how many were waiting. A running attempt is not aborted, but its result is not stored.
 * Bodies are written out, so callers with many events pass a part at a time. Faults: `store_failed`.
 */
export type Withdraw = (withdrawal: Withdrawal) => Promise<number | Fault>;

/** A newer call about the same user replaces this one. */
export const SUPERSEDED = "superseded";
export const USER_DELETED = "user deleted";
