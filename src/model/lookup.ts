import type { AttemptLog, Delivery, DeliveryState, FinalAnswer } from "./delivery.ts";
import type { EventType, Skip } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

/** Lookups of single deliveries for the operator. All times are by `clock.now()`. */

export type Lookup = {
  /**
   * A page of matching deliveries, newest first: `failed` and `expired` by when they were settled, all others by when their
   * event was accepted. One call looks at a bounded number of deliveries, so a page may have fewer than `limit` although
   * more follow its cursor. Fault: `invalid_request` for a cursor of another list.
   */
  deliveries(search: Search, page: PageAsk): Promise<ListedPage | Fault>;
  /** Null if it is unknown, or known no longer. */
  delivery(place: Pick<Delivery, "id" | "destination">): Promise<DeliveryDetail | null>;
  /**
   * The history of the calls with this messageId. Calls of the last 24 hours are found by messageId and source, which must
   * be one of these; older ones only if they are among the newest stored.
   */
  event(messageId: string, sources: readonly string[]): Promise<Trail>;
};

/** The filter; all fields must match. Null matches everything. */
export type Search = {
  readonly state: DeliveryState | null;
  readonly destination: string | null;
  readonly source: string | null;
  readonly type: EventType | null;
  readonly user: string | null;
  /** When the delivery reached its state: when it was accepted if it is waiting, else when it was settled. Inclusive. */
  readonly since: At | null;
  /** Exclusive. */
  readonly until: At | null;
};

/** `cursor`: from the previous page, or null for the first. */
export type PageAsk = { readonly limit: number; readonly cursor: string | null };
/** `cursor`: null after the last page. Deliveries that arrive meanwhile come before the first page. */
export type ListedPage = { readonly deliveries: readonly ListedDelivery[]; readonly cursor: string | null };

/** A delivery in a list. */
export type ListedDelivery = Pick<
  Delivery,
  "id" | "destination" | "messageId" | "type" | "acceptedAt" | "attempts" | "replayedAt"
> & {
  readonly state: DeliveryState;
  readonly source: string;
  readonly userId: string | null;
  /** Null once it is settled. */
  readonly dueAt: At | null;
  /** Null while it is waiting. */
  readonly settledAt: At | null;
  /** The URL that accepted it, without its query; null if none has. */
  readonly url: string | null;
  readonly status: number | null;
  /** Why it is waiting or was given up; null before the first attempt and if it was delivered. */
  readonly reason: string | null;
};

/** Everything that is known about one delivery. URLs are without their query. */
export type DeliveryDetail = ListedDelivery & {
  readonly body: string;
  readonly firstAttemptAt: At | null;
  readonly finals: readonly FinalAnswer[];
  readonly log: AttemptLog;
};

/** What the store knows about a messageId. */
export type Trail = {
  readonly events: readonly FoundEvent[];
  /** The sources it came from in the last 24 hours, even if the event is no longer stored. */
  readonly seen: readonly { readonly source: string; readonly at: At }[];
  /** False if nothing was found and not all events were looked at. */
  readonly complete: boolean;
};

export type FoundEvent = Pick<ListedDelivery, "id" | "source" | "type" | "messageId" | "userId" | "acceptedAt"> & {
  /** The destinations that were skipped, each with the rule that decided. */
  readonly skipped: readonly Skip[];
  readonly deliveries: readonly ListedDelivery[];
  /** Destinations whose result is no longer known; the first attempt did not deliver it. */
  readonly forgotten: readonly string[];
  /** False if the event itself was removed: other destinations may have had it delivered at once. */
  readonly whole: boolean;
};

/** Counts of what a store or a copy of one contains. */
export type Contents = {
  readonly schema: number;
  readonly events: number;
  /** When the newest event was accepted; null without events. */
  readonly newestAt: At | null;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  /** Audiences and computed traits; users whose calls are refused. Zero in a schema without them. */
  readonly computations: number;
  readonly suppressed: number;
};
