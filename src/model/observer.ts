import type { Delivery, Outcome, Settlement } from "./delivery.ts";
import type { Entry, Receipt } from "./ports.ts";
import type { Refusal } from "./refusal.ts";

/**
 * Learns of every event as it passes, for what operators watch: rates, charts and the live stream. It is called with each event,
 * so it only counts or notes, and never throws.
 */
export type Observer = {
  /** Events of a source are durable now. There is a receipt for each entry. */
  accepted(source: string, accepted: Accepted): void;
  /** `what`: the parsed call, or the text of the body. */
  refused(refused: Refusal & { readonly what: unknown }): void;
  /** An attempt has ended. */
  attempted(delivery: Delivery, outcome: Outcome): void;
  /** A delivery has failed or expired by its attempts, and that is on the disk. */
  givenUp(delivery: Delivery, settlement: Settlement): void;
};

export type Accepted = {
  readonly entries: readonly Entry[];
  readonly receipts: readonly Receipt[];
  /** How many of them are on the disk now, repeats included. */
  readonly count: number;
};

/** One observer in place of several, each of which may leave out what it does not need. */
export function observeBy(observers: readonly Partial<Observer>[]): Observer {
  const [accepted, refused, attempted] = [hearing("accepted"), hearing("refused"), hearing("attempted")];
  const givenUp = hearing("givenUp");
  return {
    accepted(source, calls) {
      for (const hear of accepted) hear(source, calls);
    },
    refused(refusal) {
      for (const hear of refused) hear(refusal);
    },
    attempted(delivery, outcome) {
      for (const hear of attempted) hear(delivery, outcome);
    },
    givenUp(delivery, settlement) {
      for (const hear of givenUp) hear(delivery, settlement);
    },
  };

  function hearing<K extends keyof Observer>(what: K): readonly Observer[K][] {
    return observers.flatMap((one) => one[what] ?? []);
  }
}
