/** Sending deliveries again, because the operator wants it: what failed or expired, or what a receiver has lost. */
import type { Delivery, SettledState } from "./delivery.ts";
import type { Fault } from "./fault.ts";
import type { PageAsk, Search } from "./lookup.ts";
import type { At } from "./units.ts";

export type Replay = {
  /**
   * A page of what is wanted waits again, as if it had just been accepted: each has a new cutoff, and every webhook is asked.
   * What waits already is not touched. Faults: `store_full` and `store_failed`; then some of the page may
   * have been done. `invalid_request`: the cursor is not of a page for this filter.
   */
  page(wish: Wish): Promise<ReplayPage | Fault>;
  /**
   * The same for one delivery, whatever its state. One that waits is `hurried`: it is due now, and keeps its cutoff; it may
   * have been `due` already. Null if it is not known. Faults: as above, and `user_deleted` for one whose user was deleted since.
   */
  one(place: Pick<Delivery, "id" | "destination">): Promise<"replayed" | "hurried" | "due" | null | Fault>;
};

export type Wish = {
  readonly search: ReplaySearch;
  readonly page: PageAsk;
  /** Counts, and changes nothing. */
  readonly dryRun: boolean;
  /** Whether there is such a destination: for others, nothing is set waiting. */
  readonly isKnown: (destination: string) => boolean;
};

/** `state` null means `failed` and `expired`. */
export type ReplaySearch = Omit<Search, "state"> & { readonly state: SettledState | null };

export type ReplayPage = {
  /** How many wait again, or would, by destination. */
  readonly replayed: ReadonlyMap<string, number>;
  /**
   * How many of the page were left as they are, since there is no such destination any more, or since no receiver had failed:
   * they were ended by command.
   */
  readonly left: number;
  /** How many of the page were left as they are, since their user was deleted after their event came. */
  readonly deleted: number;
  /** How many of the page were left as they are, since a newer call has said something else about the same user and trait. */
  readonly superseded: number;
  /** When the first and the last event of those were accepted; null if there was none. */
  readonly oldest: At | null;
  readonly newest: At | null;
  /** Of the next page; null after the last one. */
  readonly cursor: string | null;
};
