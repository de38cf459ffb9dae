import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import type { About } from "../segment.ts";

/** A row of `segments`, with what its progress says. */
export type Segment = {
  readonly first: number;
  readonly stream: number;
  readonly events: number;
  readonly acceptedAt: At;
  /** Deliveries that wait for their first attempt. */
  readonly open: number;
  readonly settledAt: At | null;
};

/** A delivery that waits. `segment` is 0 if the segment is pruned. */
export type Waiting = {
  readonly kind: "bit" | "row";
  readonly id: number;
  readonly destination: string;
  readonly stream: number;
  readonly segment: number;
  /** Bytes of its row; 0 for a bit, which is moved without its body. */
  readonly size: number;
};

type Name = { readonly id: number; readonly destination: string };
type Only = { readonly id?: number; readonly destination?: string | null };

/** Reads deliveries as plain values wherever they are kept: as bits of their segment or as rows of `tried`. */
export type Kept = {
  /** The segment that an event is in; null if it was pruned. */
  segmentOf(event: number): Promise<Segment | null>;
  /** Segments up to this event, the newest first. */
  segmentsDown(from: number, limit: number): Promise<readonly Segment[]>;
  /** Segments after this event and up to the other one, the oldest first. */
  segmentsUp(after: number, upTo: number, limit: number): Promise<readonly Segment[]>;
  /** Describes the events of a segment. Rejects if it is damaged, as all that read a segment do. */
  about(segment: number): Promise<readonly About[]>;
  bodies(segment: number): Promise<readonly string[]>;
  /** The deliveries of a segment in one of these states: all, or those of one event or destination. */
  listed(
    segment: Segment,
    wanted: readonly ("waiting" | "delivered")[],
    only?: Only,
  ): Promise<readonly ListedDelivery[]>;
  rowsOf(event: number): Promise<readonly ListedDelivery[]>;
  /** Rows of `tried` after this place, by event and destination. */
  rowsUp(after: Name, upTo: number, limit: number): Promise<readonly ListedDelivery[]>;
  /** The same backwards, down to the event `floor`. */
  rowsDown(before: Name, floor: number, limit: number): Promise<readonly ListedDelivery[]>;
  /** The body of a delivery; `{}` if it is not kept any more. */
  body(place: Name): Promise<string>;
  /** The waiting deliveries of these events. */
  waitingOf(events: readonly number[]): Promise<readonly Waiting[]>;
  /** The waiting deliveries of a destination, by age; bits come before rows. */
  waitingFor(destination: string, limit: number): Promise<readonly Waiting[]>;
};
