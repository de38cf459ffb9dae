import type { Deletion, DeletionReport } from "../model/deletion.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

type Desk = { readonly log: Pick<Log, "line">; readonly metrics: Pick<Metrics, "settled"> };

/** What becomes of requests that users be deleted. Who they are is never in the log. */
export function reportDeletions({ log, metrics }: Desk): DeletionReport {
  return {
    deletionRequested({ users, notifications, sources: source, untold }) {
      const left = untold.length > 0 ? { untold } : {};
      // Somebody has to tell them by other means.
      const level = notifications === 0 || untold.length > 0 ? "warning" : "info";
      log.line(level, "deletion.requested", { users, notifications, source, ...left });
    },
    deletionEnded: (deletion) =>
      log.line(deletion.status === "failed" ? "error" : "info", `deletion.${deletion.status}`, describe(deletion)),
    withdrawn(destination, count) {
      metrics.settled.row(destination).add("failed", count);
      log.line("info", "delivery.withdrawn", { destination, count });
    },
  };
}

function describe({ id, users, notices, erased }: Deletion) {
  const sum = (state: "delivered" | "failed" | "expired"): number =>
    notices.reduce((total, one) => total + one[state], 0);
  const counts = { delivered: sum("delivered"), failed: sum("failed"), expired: sum("expired") };
  const gone = erased ? { erased: erased.events } : {};
  return { deletion: id, users, ...counts, ...gone };
}
