import type { PauseReport } from "../model/pause.ts";
import { formatTime } from "../model/units.ts";
import type { Log } from "./log.ts";

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
