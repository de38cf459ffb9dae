import type { AudienceReport, OpenSync } from "../model/audience.ts";
import type { Deletion, DeletionReport } from "../model/deletion.ts";
import type { PauseReport } from "../model/pause.ts";
import type { Report } from "../model/report.ts";
import { formatTime } from "../model/units.ts";
import type { Fields, Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

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

type AudienceDesk = {
  readonly log: Pick<Log, "line">;
  readonly metrics: Pick<Metrics, "audienceChanges" | "traitChanges">;
};

/** A line for the beginning and the end of each sync, and for what keeps one waiting; each change of a user is counted. */
function reportAudiences({ log, metrics }: AudienceDesk): AudienceReport {
  return {
    syncStarted: (open) => log.line("info", `${open.computation.class}.sync_started`, syncFields(open)),
    syncFinished: (open, took) =>
      log.line("info", `${open.computation.class}.sync_finished`, {
        ...syncFields(open),
        size: open.computation.size,
        took: { ms: took },
      }),
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

type DeletionDesk = { readonly log: Pick<Log, "line">; readonly metrics: Pick<Metrics, "settled"> };

/** What becomes of requests that users be deleted. Who they are is never in the log. */
export function reportDeletions({ log, metrics }: DeletionDesk): DeletionReport {
  return {
    deletionRequested({ users, notifications, sources: source, untold }) {
      const left = untold.length > 0 ? { untold } : {};
      // Somebody has to tell them by other means.
      const level = notifications === 0 || untold.length > 0 ? "warning" : "info";
      log.line(level, "deletion.requested", { users, notifications, source, ...left });
    },
    deletionEnded: (deletion) =>
      log.line(
        deletion.status === "failed" ? "error" : "info",
        `deletion.${deletion.status}`,
        deletionFields(deletion),
      ),
    withdrawn(destination, count) {
      metrics.settled.row(destination).add("failed", count);
      log.line("info", "delivery.withdrawn", { destination, count });
    },
  };
}

function deletionFields({ id, users, notices, erased }: Deletion) {
  const sum = (state: "delivered" | "failed" | "expired"): number =>
    notices.reduce((total, one) => total + one[state], 0);
  const counts = { delivered: sum("delivered"), failed: sum("failed"), expired: sum("expired") };
  const gone = erased ? { erased: erased.events } : {};
  return { deletion: id, users, ...counts, ...gone };
}

/** A line for each time that a destination is paused or resumed, and for each that is paused still. */
export function reportPauses(log: Pick<Log, "line">): PauseReport {
  return {
    paused: (destination, waiting) => log.line("info", "destination.paused", { destination, waiting }),
    resumed: (destination, { paused, waiting }) =>
      log.line("info", "destination.resumed", { destination, waiting, paused: { ms: paused } }),
    retriedNow: (destination, waiting) => log.line("info", "destination.retried", { destination, waiting }),
    stillPaused: (destination, { since, waiting }) =>
      log.line("warning", "destination.still_paused", { destination, waiting, since: formatTime(since), hint: HINT }),
  };
}

const HINT = "it gets nothing until `fairlead resume` says so";
