/**
 * The time by which a store goes. Rows hold `clock.now()`: points on a line that belongs to the store. It runs as fast as
 * time does and never steps, so that waits, cutoffs and retention are durations, whatever the machine's clock says. A new
 * store's line begins at what that clock says. After that the clock is used for two things only: to measure how long the
 * daemon was down, and to put rows into words. Stamps on events are not of the line: they are what the clock says.
 *
 * running:     the line is measured by the machine's monotonic clock. What its clock is ahead of the line is the `shift`;
 *              when the clock is set, the shift changes and the line goes on. To show a row, the shift is added; to read a
 *              time that a person gave, it is taken off. So a board that has booted in 1972 shows what it took then in
 *              the right year as soon as its clock is right. Sleep of the machine is on the line if the monotonic clock
 *              counts it; else it is a step of the clock like any other.
 * down:        the store remembers where the line was, the shift, and which start of the machine it was. When the machine
 *              has run on meanwhile, its uptime says exactly how long the daemon was down. After another start of the
 *              machine its clock says it, if it could be believed at both ends. Else nobody knows, and it counts as
 *              nothing: a wait gets longer, nothing is expired or pruned early.
 * implausible: the clock says less than when this program was built, or more than fifteen years after that; or less than
 *              the store has seen; or far more than the store expects. It is logged and shown, and stamps on events are
 *              wrong meanwhile. What it says is not remembered as the time that the store has seen. So a store that
 *              has seen the year 2102 is well again as soon as the clock is.
 * believed:    none of these; or the clock disagrees with the store only, and a day of running has not changed that: then it
 *              was the store that was wrong.
 */
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import {
  type Boot,
  type ClockDoubt,
  describeDoubt,
  doubtOf,
  isInLifetime,
  type Known,
  type Timeline,
  type Trusted,
} from "../model/timeline.ts";
import { type At, formatTime, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** What a store remembers of the time, and a little later finds in its file. */
export type Memory = {
  /** Where the line was. */
  readonly at: At;
  /** What the machine's clock was ahead of it. */
  readonly shift: Ms;
  /** The last moment at which the clock could be believed, and what it said; null if it never could. */
  readonly trusted: Trusted | null;
  readonly boot: Boot | null;
};

/** What the machine says of the time. */
export type Machine = { readonly wall: At; readonly boot: Boot | null; readonly builtAt: At };

/** Where a line goes on. `down`: for how long the daemon was not there, as far as somebody knows. */
export type Resumed = Omit<Memory, "boot"> & { readonly down: Ms | null };

/** Clocks that are slewed, and two looks that are not at the same moment, are no step. */
const SLACK: Ms = SECOND;
/** Where the line of a store goes on, after a time in which nobody has measured it. */
export function resume(memory: Memory | null, { wall, boot, builtAt }: Machine): Resumed {
  if (memory === null) {
    const at = Math.max(wall, builtAt);
    return { at, shift: shiftAfter(0, wall - at), trusted: null, down: 0 };
  }
  const trusted = memory.trusted && isInLifetime(memory.trusted.wall, builtAt) ? memory.trusted : null;
  const byWall = wall - memory.shift - memory.at;
  const ran = ranSince(memory.boot, boot);
  // The clock's word is the exact one, where they agree.
  if (ran !== null) return goOn({ ...memory, trusted }, wall, Math.abs(byWall - ran) <= SLACK ? byWall : ran);
  // A step in the very millisecond of the look is seen by the shift alone.
  const wasBelieved = trusted?.at === memory.at && Math.abs(trusted.wall - memory.at - memory.shift) <= SLACK;
  const isMeasured = wasBelieved && doubtOf(wall, { now: memory.at, trusted, builtAt }) === null;
  return goOn({ ...memory, trusted }, wall, isMeasured ? byWall : null);
}

function goOn({ at: before, shift, trusted }: Memory, wall: At, down: Ms | null): Resumed {
  const passed = Math.max(0, down ?? 0);
  const at = before + passed;
  return {
    at,
    shift: shiftAfter(shift, wall - at),
    // The clock should have gone on by as much.
    trusted: trusted && { at: trusted.at + passed, wall: trusted.wall + passed },
    down,
  };
}

/** How long the machine has run since then; null if it was started again, or nobody can say. */
function ranSince(then: Boot | null, now: Boot | null): Ms | null {
  if (then === null || now === null || then.id !== now.id || now.uptime < then.uptime) return null;
  return now.uptime - then.uptime;
}

/** The shift stays as it is until the clock is stepped: what is shown of a row is always the same. */
function shiftAfter(before: Ms, now: Ms): Ms {
  return Math.abs(now - before) <= SLACK ? before : now;
}

export type KeptTimeline = Timeline & {
  /** Looks at the clock, and answers what the store should remember now. */
  look(): Omit<Memory, "boot">;
};

export type TimelineWorld = {
  readonly clock: Clock;
  readonly report: Pick<Report, "daemon">;
  readonly memory: Memory | null;
  /** The newest time in a row: the memory of a daemon that has crashed may be a minute old. */
  readonly newestAt: At | null;
};

/** Has the clock go on where the store's line is, and from then on watches what the machine says. */
export function createTimeline({ clock, report, memory, newestAt }: TimelineWorld): KeptTimeline {
  const { builtAt } = clock;
  const resumed = resume(memory, { wall: clock.wall(), boot: clock.boot(), builtAt });
  let { shift, trusted } = resumed;
  let doubt: { readonly code: ClockDoubt; readonly since: At } | null = null;
  clock.continueFrom(Math.max(resumed.at, newestAt ?? resumed.at));
  if (resumed.down === null) report.daemon("downtime_unknown", { hint: NOT_COUNTED });
  look();

  return {
    toWall(at) {
      return at + shift;
    },
    fromWall(wall) {
      return wall - shift;
    },
    health() {
      look();
      if (doubt === null) return { plausible: true };
      const { code, since } = doubt;
      return { plausible: false, code, since, reason: describeDoubt(code, clock.wall(), known(clock.now())) };
    },
    look,
  };

  function known(now: At): Known {
    return { now, trusted, builtAt };
  }

  function look(): Omit<Memory, "boot"> {
    const [at, wall] = [clock.now(), clock.wall()];
    noticeStep(wall - at);
    const code = doubtOf(wall, known(at));
    if (code !== (doubt?.code ?? null)) {
      tell(code, { at, wall });
      doubt = code && { code, since: at };
    }
    if (code === null) trusted = { at, wall };
    return { at, shift, trusted };
  }

  function noticeStep(ahead: Ms): void {
    const before = shift;
    shift = shiftAfter(before, ahead);
    if (Math.abs(shift - before) < MINUTE) return;
    report.daemon("clock_stepped", { by: { ms: shift - before } });
  }

  function tell(code: ClockDoubt | null, { at, wall }: Trusted): void {
    if (code !== null) {
      report.daemon("clock_implausible", { code, reason: describeDoubt(code, wall, known(at)), hint: SET_IT });
    } else if (doubt !== null) {
      report.daemon("clock_plausible", { says: formatTime(wall), after: { ms: at - doubt.since } });
    }
  }
}

const NOT_COUNTED =
  "the machine was started again and its clock does not say how long it was off: waits and cutoffs go on as if that had been no time";
const SET_IT =
  "let a time service set it (systemd-timesyncd, chrony): events get wrong times until then; waits and cutoffs do not depend on it";

/** How often the clock is looked at while nothing is written. */
const LOOK_EVERY: Ms = 5 * SECOND;

/** Has it looked at again and again until the signal is aborted. */
export async function watchClock(look: () => Promise<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(LOOK_EVERY, signal);
    if (signal.aborted) return;
    await look();
  }
}
