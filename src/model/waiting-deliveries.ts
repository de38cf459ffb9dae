/**
 * What an operator can do about the waiting deliveries of a destination that gets none: it was removed from the config, or is
 * disabled or paused. They are sent when it comes back; until then only these two steps end their wait, a page at a time.
 */
import { type Fault, fault } from "./fault.ts";
import { SECOND } from "./units.ts";

/** The store's part. A page has at most `limit` deliveries (up to 1,000) and a few MB of bodies. */
export type WaitingDeliveries = {
  /** Makes them `failed`, with a reason that names the operator's decision. */
  discard(destination: string, limit: number): Promise<Discarded | Fault>;
  /**
   * Moves them to another destination, as if they had just been accepted for it. Where that one already has the event, the
   * delivery becomes `failed` instead.
   */
  move(to: Redirect, limit: number): Promise<Moved | Fault>;
};

export type Redirect = { readonly from: string; readonly to: string };

/** `more`: whether others still wait. */
export type Discarded = { readonly discarded: number; readonly more: boolean };

/** `doubled`: those that failed because the other destination already had the event. */
export type Moved = { readonly moved: number; readonly doubled: number; readonly more: boolean };

/**
 * Runs `work`, which may end or move waiting deliveries, while nothing is sent to this destination. Faults:
 * `destination_in_use` while it gets deliveries, and `destination_busy` while earlier attempts still run.
 */
export type WhileIdle = <T>(destination: string, work: () => Promise<T>) => Promise<T | Fault>;

export function destinationInUse(name: string): Fault {
  const remedy = "pause it, disable it, or remove it from the config, before you move or discard what waits for it";
  return fault("destination_in_use", `${name} is served now; ${remedy}`);
}

/** An attempt under way could still deliver here, and then the event would be delivered a second time elsewhere. */
export function destinationBusy(name: string): Fault {
  return fault("destination_busy", `attempts for ${name} that were begun before still run; try again`, SECOND);
}
