import { describeDoubt, doubtOf } from "../../model/timeline.ts";
import { type At, formatTime } from "../../model/units.ts";
import { type Finding, say } from "./finding.ts";

export type ClockFacts = {
  /** What the machine's clock says. */
  readonly wall: At;
  /** Whether a time service keeps it right; null if nobody can say. */
  readonly synchronized: boolean | null;
  /** When this Fairlead was built. */
  readonly builtAt: At;
  /** The latest time that the outbox has seen on a clock that could be believed; null without one. */
  readonly seenAt: At | null;
};

/** Whether the machine's clock can be believed: stamps of events and certificates go by it. */
export function judgeClock({ wall, synchronized, builtAt, seenAt }: ClockFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = say("clock");
  const now = formatTime(wall);
  const known = { now: wall, trusted: seenAt === null ? null : { at: wall, wall: seenAt }, builtAt };
  const doubt = doubtOf(wall, known);
  const what = doubt && describeDoubt(doubt, wall, known);
  if (doubt === "before_build") return [error("clock_unset", `${what}`, SET)];
  if (doubt === "behind") return [warning("clock_behind", `${what}`, SET)];
  if (doubt === "ahead") return [warning("clock_ahead", `${what}`, `unless the daemon was off for so long: ${SET}`)];
  if (synchronized === null)
    return [skipped("unseen", `it is ${now}; whether a time service keeps it so cannot be seen`)];
  if (synchronized) return [ok(`it is ${now}, and a time service keeps it so`)];
  return [warning("clock_unsynchronized", `it is ${now}, and no time service keeps it so`, SET)];
}

const SET = "let a time service set it (systemd-timesyncd, chrony)";
