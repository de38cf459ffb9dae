/**
 * Deliveries that wait for a destination which nothing delivers to: it was removed from the config, or is disabled or
 * paused. They go on when it comes back; until then only the operator can end their waiting, a page at a time.
 */
import type { Fault } from "./fault.ts";

/** What the store does with them. Pages have at most `limit` deliveries (up to 1,000) and a few MB of bodies. */
export type Unserved = {
  /** Makes them `failed`, with a reason that says who decided so. */
  discard(destination: string, limit: number): Promise<Discarded | Fault>;
  /**
   * Makes them wait for another destination, as if they had just been accepted for it. Where that has the event already,
   * they are `failed` instead.
   */
  move(to: Redirect, limit: number): Promise<Moved | Fault>;
};

export type Redirect = { readonly from: string; readonly to: string };

/** `more`: whether others wait still. */
export type Discarded = { readonly discarded: number; readonly more: boolean };

/** `doubled`: those that have failed because the event was there already. */
export type Moved = { readonly moved: number; readonly doubled: number; readonly more: boolean };

/**
 * Runs `work` while nothing is delivered to this destination: what waits for it may be taken away. Or answers why not:
 * `served` now, or still `busy` with attempts that were begun before.
 */
export type WhileIdle = <T extends object>(
  destination: string,
  work: () => Promise<T>,
) => Promise<T | "served" | "busy">;
