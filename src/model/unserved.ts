/**
 * Deliveries that wait for a destination which nothing delivers to: it was removed from the config, or is disabled or
 * paused. They go on when it comes back; until then only the operator can end their waiting, a page at a time.
 */
import { type Fault, fault } from "./fault.ts";
import { SECOND } from "./units.ts";

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
 * Runs `work` while nothing is delivered to this destination: what waits for it may be taken away. Faults:
 * `destination_in_use` while it is served, and `destination_busy` while attempts that were begun before still run.
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
