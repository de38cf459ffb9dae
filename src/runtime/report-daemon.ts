import type { LogLevel } from "../model/config.ts";
import type { DaemonEvent, Report } from "../model/report.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** What happens to the daemon as a whole: a line each, and whether the last reload was taken. */
export function reportDaemon({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }): Report["daemon"] {
  return (what, fields) => {
    if (what === "reloaded" || what === "reload_failed") metrics.reloaded(what === "reloaded");
    log.line(LEVELS[what] ?? "info", `daemon.${what}`, fields);
  };
}

/** Lines are missing here, whatever the level: those that are could have been of any. */
export function reportDropped(log: Pick<Log, "line">, count: number): void {
  log.line("error", "log.dropped", { count, hint: UNREAD });
}

const UNREAD = "what reads this log had stopped, and the lines that came meanwhile were more than Fairlead keeps";

const LEVELS: Partial<Record<DaemonEvent, LogLevel>> = {
  reload_failed: "error",
  config_problem: "error",
  config_warning: "warning",
  unserved: "warning",
  untrusted_proxy: "warning",
  stuck: "error",
  notify_failed: "warning",
  clock_implausible: "warning",
  downtime_unknown: "warning",
};
