/** Sending deliveries again on the operator's request: those that failed or expired, or that a receiver has lost. */
import type { Delivery, SettledState } from "./delivery.ts";
import { type Fault, fault } from "./fault.ts";
import type { PageAsk, Search } from "./lookup.ts";
import type { At } from "./units.ts";

export type Replay = {
  /**
   * Returns a page of matching deliveries to `waiting`, as if just accepted: each gets a new cutoff, and every webhook is
   * asked. Waiting deliveries are not touched. Faults: `store_full` and `store_failed`, after which part of the page may
   * have been done; `invalid_request` if the cursor is not from this filter.
   */
  page(wish: Wish): Promise<ReplayPage | Fault>;
  /**
   * The same for one delivery in any state. A waiting one is `hurried`: due now with the same cutoff; it may have been `due`
   * already. Null if it is unknown. Faults: as above, and `user_deleted` if its user was deleted since.
   */
  one(place: Pick<Delivery, "id" | "destination">): Promise<"replayed" | "hurried" | "due" | null | Fault>;
};

/** Why a delivery is not sent again. */
export const USER_DELETED = fault(
  "user_deleted",
  "its user was deleted after the event arrived, and sending it again would bring the user back; receivers get only later calls",
);

export type Wish = {
  readonly search: ReplaySearch;
  readonly page: PageAsk;
  /** Count only; change nothing. */
  readonly dryRun: boolean;
  /** Whether the destination exists; deliveries to others are left alone. */
  readonly isKnown: (destination: string) => boolean;
};

/** `state` null means `failed` and `expired`. */
export type ReplaySearch = Omit<Search, "state"> & { readonly state: SettledState | null };

export type ReplayPage = {
  /** How many wait again, or would on a dry run, by destination. */
  readonly replayed: ReadonlyMap<string, number>;
  /**
   * How many were left alone because their destination no longer exists, or because a command had ended them and no receiver
   * failed.
   */
  readonly left: number;
  /** How many were left alone because their user was deleted after the event arrived. */
  readonly deleted: number;
  /** How many were left alone because a newer call sets the same trait of the same user. */
  readonly superseded: number;
  /** When the first and the last of the replayed events were accepted; null if none were. */
  readonly oldest: At | null;
  readonly newest: At | null;
  /** For the next page; null after the last one. */
  readonly cursor: string | null;
};
