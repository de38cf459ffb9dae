import type { AudienceReport, OpenSync } from "../model/audience.ts";
import type { Deletion, DeletionReport } from "../model/deletion.ts";
import type { PauseReport } from "../model/destination-clock.ts";
import type { Report } from "../model/report.ts";
import { formatTime } from "../model/units.ts";
import type { Fields } from "./log.ts";
import type { Sinks } from "./report.ts";

type OperatorReport = PauseReport &
  DeletionReport &
  AudienceReport &
  Pick<Report, "discarded" | "moved" | "replayed" | "withdrawn">;

/** The results of the operator's commands and requests. Deliveries get one line per page, not one each. */
export function reportOperator(sinks: Sinks): OperatorReport {
  const { log, metrics } = sinks;
  return {
    paused: (destination, waiting) => log.line("info", "destination.paused", { destination, waiting }),
    resumed: (destination, { paused, waiting }) =>
      log.line("info", "destination.resumed", { destination, waiting, paused: { ms: paused } }),
    retriedNow: (destination, waiting) => log.line("info", "destination.retried", { destination, waiting }),
    tested: (destination, { delivery, messageId }) =>
      log.line("info", "destination.tested", { destination, delivery, event: messageId }),
    stillPaused(destination, { since, waiting }) {
      const hint = "nothing is sent until `fairlead resume`";
      log.line("warning", "destination.still_paused", { destination, waiting, since: formatTime(since), hint });
    },
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
    withdrawn(destination, count) {
      metrics.settled.row(destination).add("failed", count);
      log.line("info", "delivery.withdrawn", { destination, count });
    },
    ...reportDeletions(sinks),
    ...reportAudiences(sinks),
  };
}

/** The users are never named in the log. */
function reportDeletions({ log }: Sinks): Omit<DeletionReport, "withdrawn"> {
  return {
    deletionRequested({ users, notifications, sources: source, untold }) {
      const isIncomplete = notifications === 0 || untold.length > 0;
      const left = untold.length > 0 ? untold : null;
      log.line(isIncomplete ? "warning" : "info", "deletion.requested", { users, notifications, source, untold: left });
    },
    deletionEnded: (deletion) =>
      log.line(
        deletion.status === "failed" ? "error" : "info",
        `deletion.${deletion.status}`,
        deletionFields(deletion),
      ),
  };
}

function deletionFields({ id, users, notices, erased }: Deletion): Fields {
  const sum = (state: "delivered" | "failed" | "expired") => notices.reduce((total, one) => total + one[state], 0);
  return {
    deletion: id,
    users,
    delivered: sum("delivered"),
    failed: sum("failed"),
    expired: sum("expired"),
    erased: erased?.events,
  };
}

function reportAudiences({ log, metrics }: Sinks): AudienceReport {
  return {
    syncStarted: (open) => log.line("info", `${open.computation.class}.sync_started`, syncFields(open)),
    syncFinished(open, took) {
      const { size } = open.computation;
      log.line("info", `${open.computation.class}.sync_finished`, { ...syncFields(open), size, took: { ms: took } });
    },
    syncFailed: ({ source, class: kind, name }, { code, message }) =>
      log.line("warning", `${kind}.sync_failed`, { source, [kind]: name, code, reason: message }),
    syncWaits: (open, reason) =>
      log.line("warning", `${open.computation.class}.sync_waits`, {
        ...syncFields(open),
        done: open.sync.done,
        reason,
      }),
    membersChanged({ source, class: kind }, changes) {
      const removed = changes.filter(({ value }) => value === null).length;
      const row = (kind === "audience" ? metrics.audienceChanges : metrics.traitChanges).row(source);
      row.add(kind === "audience" ? "added" : "changed", changes.length - removed);
      row.add("removed", removed);
    },
  };
}

function syncFields({ sync, computation }: OpenSync): Fields {
  const { source, class: kind, name } = computation;
  const { number, added, changed, removed } = sync;
  const counts = kind === "audience" ? { added, removed } : { added, changed, removed };
  return { source, [kind]: name, sync: number, kind: sync.kind, ...counts };
}
