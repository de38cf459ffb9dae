import type { Delivery } from "./delivery.ts";
import { type Fault, fault } from "./fault.ts";
import { SECOND } from "./units.ts";

/**
 * Deliveries that wait for a destination that receives nothing: it was removed from the config, or is disabled or paused.
 * They continue when it comes back. Until then only the operator can end their wait, a page at a time.
 */

/** The store's part. Pages have at most `limit` deliveries (up to 1,000) and a few MB of bodies. */
export type WaitingDeliveries = {
  /** Makes them `failed`, with a reason that names the operator's decision. */
  discard(destination: string, limit: number): Promise<Discarded | Fault>;
  /**
   * Moves them to another destination, as if they had just been accepted for it. Where that one already has the event, the
   * delivery becomes `failed` instead.
   */
  move(to: Redirect, limit: number): Promise<Moved | Fault>;
};

export type Redirect = {
  readonly from: string;
  readonly to: string;
  /** Makes the body that is stored for a moved delivery. If left out, it stays as it is. */
  readonly rewrite?: Rewrite;
};

/** Answers the body to store for a delivery in place of the one that is stored; the same if it is right. */
export type Rewrite = (stored: string, event: Pick<Delivery, "source" | "type" | "messageId">) => string;

/** `more`: whether others are still waiting. */
export type Discarded = { readonly discarded: number; readonly more: boolean };

/** `doubled`: how many failed because the destination already has the event. */
export type Moved = { readonly moved: number; readonly doubled: number; readonly more: boolean };

/**
 * Runs `work` while nothing is delivered to this destination, so that its waiting deliveries can be changed. Faults:
 * `destination_in_use` while it is served, and `destination_busy` while earlier attempts are still running.
 */
export type WhileIdle = <T>(destination: string, work: () => Promise<T>) => Promise<T | Fault>;

export function destinationInUse(name: string): Fault {
  const remedy = "before you move or discard its waiting deliveries, pause it, disable it or remove it from the config";
  return fault("destination_in_use", `${name} is being served; ${remedy}`);
}

/** A running attempt could still deliver here, and the event would then be delivered a second time elsewhere. */
export function destinationBusy(name: string): Fault {
  return fault("destination_busy", `earlier attempts for ${name} are still running; try again`, SECOND);
}

/** Events that must no longer be sent: a newer one replaces them, or their user was deleted. */
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
