import type { Destination } from "../model/destination.ts";
import type { DeliveryCount } from "../model/ports.ts";
import type { Report } from "../model/report.ts";

/** What waits for a destination that is gone or disabled stays, and the operator should know. */
export function tellUnserved(
  destinations: readonly Destination[],
  counts: readonly DeliveryCount[],
  report: Report,
): void {
  const served = new Set(destinations.filter(({ enabled }) => enabled).map(({ name }) => name));
  for (const { destination, state, count } of counts) {
    if (state !== "waiting" || count === 0 || served.has(destination)) continue;
    report.daemon("unserved", { destination, waiting: count, hint: HINT });
  }
}

const HINT =
  "it is not in the config, or disabled: enable it and they go on, or end them with `fairlead move` or `fairlead discard`";
