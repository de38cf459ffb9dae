import type { DeliveryState } from "./delivery.ts";
import type { At } from "./units.ts";

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
