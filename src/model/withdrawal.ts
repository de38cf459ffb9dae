import type { Fault } from "./fault.ts";

/** Events that must not go out any more: something newer has taken their place, or their user is to be forgotten. */
export type Withdrawal = {
  /** Their numbers. What waits of them, for whatever destination, becomes `failed`. */
  readonly events: readonly number[];
  /** As it is kept with each: `superseded`, `user deleted`. */
  readonly reason: string;
};

/**
 * Writes it. Answers how many deliveries had waited. An attempt that runs already is not called back, and what came of it
 * is not kept. Each has its body written: whoever has many asks for a part of them at a time. Faults: `store_failed`.
 */
export type Withdraw = (withdrawal: Withdrawal) => Promise<number | Fault>;

/** Why a call about a user does not go out any more: there is a newer one. */
export const SUPERSEDED = "superseded";
/** The user is to be forgotten. */
export const USER_DELETED = "user deleted";
