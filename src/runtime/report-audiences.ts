import type { AudienceReport, OpenSync } from "../model/audience.ts";
import type { Fields, Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

type Desk = { readonly log: Pick<Log, "line">; readonly metrics: Pick<Metrics, "audienceChanges" | "traitChanges"> };

/** A line for the beginning and the end of each sync, and for what keeps one waiting; each change of a user is counted. */
export function reportAudiences({ log, metrics }: Desk): AudienceReport {
  return {
    syncStarted: (open) => log.line("info", `${open.computation.class}.sync_started`, fieldsOf(open)),
    syncFinished: (open, took) =>
      log.line("info", `${open.computation.class}.sync_finished`, {
        ...fieldsOf(open),
        size: open.computation.size,
        took: { ms: took },
      }),
    syncFailed: ({ source, class: kind, name }, { code, message }) =>
      log.line("warning", `${kind}.sync_failed`, { source, [kind]: name, code, reason: message }),
    syncWaits: (open, reason) =>
      log.line("warning", `${open.computation.class}.sync_waits`, { ...fieldsOf(open), done: open.sync.done, reason }),
    membersChanged({ source, class: kind }, changes) {
      const removed = changes.filter(({ value }) => value === null).length;
      const row = (kind === "audience" ? metrics.audienceChanges : metrics.traitChanges).row(source);
      row.add(kind === "audience" ? "added" : "changed", changes.length - removed);
      row.add("removed", removed);
    },
  };
}

function fieldsOf({ sync, computation }: OpenSync): Fields {
  const { source, class: kind, name } = computation;
  const { number, added, changed, removed } = sync;
  const counts = kind === "audience" ? { added, removed } : { added, changed, removed };
  return { source, [kind]: name, sync: number, kind: sync.kind, ...counts };
}
