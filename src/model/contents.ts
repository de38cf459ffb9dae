import type { DeliveryState } from "./delivery.ts";
import type { At } from "./units.ts";

/** What is in a store, for whoever has a copy of it in hand. */
export type Contents = {
  readonly schema: number;
  readonly events: number;
  /** When the newest event was taken; null if there is none. */
  readonly newestAt: At | null;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  /** Audiences and computed traits; users whose calls are refused. Zero in a schema without them. */
  readonly computations: number;
  readonly suppressed: number;
};
