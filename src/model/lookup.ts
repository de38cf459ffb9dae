/** What an operator asks the store about single deliveries. All points in time are of `clock.now()`. */
import type { AttemptLog } from "./attempt.ts";
import type { Delivery, DeliveryState, FinalAnswer } from "./delivery.ts";
import type { EventType } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";
import type { Skip } from "./verdict.ts";

export type Lookup = {
  /**
   * The deliveries that are wanted, page by page: `failed` and `expired` ones by when they became so, all others by when
   * their event came, the newest first. It looks at so many deliveries at a time only: a page may have fewer than `limit`
   * though there are others behind its cursor. Fault: `invalid_request` for a cursor that is not of such a list.
   */
  deliveries(search: Search, page: PageAsk): Promise<ListedPage | Fault>;
  /** Null if it is not known, or not any more. */
  delivery(place: Pick<Delivery, "id" | "destination">): Promise<DeliveryDetail | null>;
  /**
   * What became of the calls with this messageId. One of the last 24 hours is found by it and its source, which has to be
   * one of these; any other only if it is among the newest.
   */
  event(messageId: string, sources: readonly string[]): Promise<Trail>;
};

/** What all of these allow; null allows everything. */
export type Search = {
  readonly state: DeliveryState | null;
  readonly destination: string | null;
  readonly source: string | null;
  readonly type: EventType | null;
  readonly user: string | null;
  /** When it came into its state: when it was accepted if it waits, else when it was settled. From here on. */
  readonly since: At | null;
  /** Before then. */
  readonly until: At | null;
};

/** `cursor`: of the page before, or null for the first one. */
export type PageAsk = { readonly limit: number; readonly cursor: string | null };
/** `cursor`: null after the last page. What comes meanwhile is in front of the first one. */
export type ListedPage = { readonly deliveries: readonly ListedDelivery[]; readonly cursor: string | null };

/** A delivery as a line of a list. */
export type ListedDelivery = Pick<
  Delivery,
  "id" | "destination" | "messageId" | "type" | "acceptedAt" | "attempts" | "replayedAt"
> & {
  readonly state: DeliveryState;
  readonly source: string;
  readonly userId: string | null;
  /** Null once it is settled. */
  readonly dueAt: At | null;
  /** Null while it waits. */
  readonly settledAt: At | null;
  /** Who took it, without the query; null if nobody has. */
  readonly url: string | null;
  readonly status: number | null;
  /** Why it waits or was given up; null before the first attempt, and if it was delivered. */
  readonly reason: string | null;
};

/** All there is to know of one. URLs are without their query. */
export type DeliveryDetail = ListedDelivery & {
  readonly body: string;
  readonly firstAttemptAt: At | null;
  readonly finals: readonly FinalAnswer[];
  readonly log: AttemptLog;
};

/** What the store knows of a messageId. */
export type Trail = {
  readonly events: readonly FoundEvent[];
  /** The sources it came from in the last 24 hours, whether the event is kept still or not. */
  readonly seen: readonly { readonly source: string; readonly at: At }[];
  /** False if there is more than was looked at, and nothing was found. */
  readonly complete: boolean;
};

export type FoundEvent = Pick<ListedDelivery, "id" | "source" | "type" | "messageId" | "userId" | "acceptedAt"> & {
  /** The destinations that did not get it, each with the rule that decided. */
  readonly skipped: readonly Skip[];
  readonly deliveries: readonly ListedDelivery[];
  /** Destinations of which is not known any more what became of it, other than that the first attempt did not deliver it. */
  readonly forgotten: readonly string[];
  /** False if the event itself is gone: others than these may have had it delivered at once. */
  readonly whole: boolean;
};
