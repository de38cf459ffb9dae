import type { AudienceReport } from "../model/audience.ts";
import type { Report } from "../model/report.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { reportAudiences } from "./report-audiences.ts";

type Desk = {
  readonly log: Pick<Log, "line">;
  readonly metrics: Pick<Metrics, "settled" | "replayed" | "audienceChanges" | "traitChanges">;
};

/** What becomes of deliveries by command. A line for a whole page: each by itself would say nothing more. */
export function reportByOperator(desk: Desk): Pick<Report, "discarded" | "moved" | "replayed"> & AudienceReport {
  const { log, metrics } = desk;
  return {
    ...reportAudiences(desk),
    discarded(destination, count) {
      metrics.settled.row(destination).add("failed", count);
      log.line("warning", "destination.discarded", { destination, count });
    },
    moved({ from, to }, { moved: count, doubled }) {
      metrics.settled.row(from).add("failed", doubled);
      log.line("info", "destination.moved", { destination: from, to, count, doubled });
    },
    replayed(destination, count) {
      metrics.replayed.add(destination, count);
      log.line("info", "destination.replayed", { destination, count });
    },
  };
}
