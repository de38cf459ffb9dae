import { type At, formatDuration, formatTime, MINUTE } from "../../model/units.ts";
import { type Finding, say } from "./finding.ts";

export type ClockFacts = {
  /** What the machine's clock says. */
  readonly wall: At;
  /** Whether a time service keeps it right; null if nobody can say. */
  readonly synchronized: boolean | null;
  /** The latest time that the outbox knows; null without one. */
  readonly lastAt: At | null;
};

/** Fairlead is younger. */
const EARLIEST: At = Date.UTC(2026, 0, 1);

/** Whether the machine's clock can be believed: stamps of events, certificates and the four hours go by it. */
export function judgeClock({ wall, synchronized, lastAt }: ClockFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = say("clock");
  const now = formatTime(wall);
  if (wall < EARLIEST) return [error("clock_unset", `this machine believes that it is ${now}`, SET)];
  if (lastAt !== null && lastAt > wall + MINUTE) {
    const what = `it is ${now} here, and the outbox was written ${formatDuration(lastAt - wall)} later than that`;
    return [warning("clock_behind", what, `${SET}; until then the daemon goes on from the later time`)];
  }
  if (synchronized === null)
    return [skipped("unseen", `it is ${now}; whether a time service keeps it so cannot be seen`)];
  if (synchronized) return [ok(`it is ${now}, and a time service keeps it so`)];
  return [warning("clock_unsynchronized", `it is ${now}, and no time service keeps it so`, SET)];
}

const SET = "let a time service set it (systemd-timesyncd, chrony)";
