import type { Moved, Redirect } from "../model/unserved.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

type Desk = { readonly log: Log; readonly metrics: Pick<Metrics, "settled"> };
type Counts = Pick<Moved, "moved" | "doubled">;

/** A line for a whole page: each by itself would say nothing more. */
export function discarded({ log, metrics }: Desk, destination: string, count: number): void {
  metrics.settled.row(destination).add("failed", count);
  log.line("warning", "destination.discarded", { destination, count });
}

export function moved({ log, metrics }: Desk, { from, to }: Redirect, { moved: count, doubled }: Counts): void {
  metrics.settled.row(from).add("failed", doubled);
  log.line("info", "destination.moved", { destination: from, to, count, doubled });
}
