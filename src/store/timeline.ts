/**
 * The time by which a store goes. Rows hold `clock.now()`: points on a line that belongs to the store. The line runs as fast as
 * time does and never steps, so waits, cutoffs and retention are durations, whatever the machine's clock says. The line of a new
 * store begins at the machine's clock. After that the clock serves two purposes: to measure how long the daemon was down, and to
 * show the times of rows. Stamps on events are not on the line: they are what the clock says.
 *
 * running:     the machine's monotonic clock measures the line. The `shift` is what the machine's clock is ahead of the line.
 *              When the clock is set, the shift changes and the line continues. The shift is added to show the time of a row,
 *              and subtracted from a time that a person gave. So a board that booted in 1972 shows earlier rows in the right
 *              year as soon as its clock is right. Sleep of the machine is on the line if the monotonic clock counts it;
 *              otherwise it is a step of the clock like any other.
 * down:        the store remembers the line, the shift, and the machine's boot. If the machine has kept running, its uptime
 *              tells exactly how long the daemon was down. After a reboot its clock tells, if it was plausible at both ends.
 *              Otherwise the downtime is unknown and counts as zero: waits get longer, and nothing expires or is pruned early.
 * implausible: the clock is before the build of this program, or over fifteen years after it; or before what the store has
 *              seen; or far ahead of what the store expects. That is logged and shown, and stamps on events are wrong meanwhile.
 *              Such a time is not remembered as seen, so a store that met the year 2102 recovers with the clock.
 * believed:    none of these; or the clock has disagreed with the store alone for a day of running: then the store was wrong.
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

/** What a store remembers of the time across restarts. */
export type Memory = {
  /** The time of the line. */
  readonly at: At;
  /** How far the machine's clock was ahead of it. */
  readonly shift: Ms;
  /** The last moment at which the clock was plausible, and what it said; null if there was none. */
  readonly trusted: Trusted | null;
  readonly boot: Boot | null;
};

/** What the machine says of the time. */
export type Machine = { readonly wall: At; readonly boot: Boot | null; readonly builtAt: At };

/** Where a line continues. `down`: how long the daemon was down; null if unknown. */
export type Resumed = Omit<Memory, "boot"> & { readonly down: Ms | null };

/** Differences up to this are no step: clocks are slewed, and two clocks are not read at the same moment. */
const SLACK: Ms = SECOND;
/** Where the line of a store continues after the daemon was down. */
export function resume(memory: Memory | null, { wall, boot, builtAt }: Machine): Resumed {
  if (memory === null) {
    const at = Math.max(wall, builtAt);
    return { at, shift: shiftAfter(0, wall - at), trusted: null, down: 0 };
  }
  const trusted = memory.trusted && isInLifetime(memory.trusted.wall, builtAt) ? memory.trusted : null;
  const byWall = wall - memory.shift - memory.at;
  const ran = ranSince(memory.boot, boot);
  // Where both agree, the clock is the more exact.
  if (ran !== null) return goOn({ ...memory, trusted }, wall, Math.abs(byWall - ran) <= SLACK ? byWall : ran);
  // A step in the millisecond of the check shows in the shift alone.
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
    // The clock should have advanced by as much.
    trusted: trusted && { at: trusted.at + passed, wall: trusted.wall + passed },
    down,
  };
}

/** How long the machine has run since then; null if it was rebooted, or if that is unknown. */
function ranSince(then: Boot | null, now: Boot | null): Ms | null {
  if (then === null || now === null || then.id !== now.id || now.uptime < then.uptime) return null;
  return now.uptime - then.uptime;
}

/** The shift only changes when the clock is stepped, so that the shown time of a row stays the same. */
function shiftAfter(before: Ms, now: Ms): Ms {
  return Math.abs(now - before) <= SLACK ? before : now;
}

export type KeptTimeline = Timeline & {
  /** Checks the clock, and answers what the store should remember now. */
  look(): Omit<Memory, "boot">;
};

export type TimelineWorld = {
  readonly clock: Clock;
  readonly report: Pick<Report, "daemon">;
  readonly memory: Memory | null;
  /** The newest time in a row: after a crash the memory may be a minute old. */
  readonly newestAt: At | null;
};

/** Continues the clock from the store's line, and then watches the machine's clock. */
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
      reportDoubt(code, { at, wall });
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

  function reportDoubt(code: ClockDoubt | null, { at, wall }: Trusted): void {
    if (code !== null) {
      report.daemon("clock_implausible", { code, reason: describeDoubt(code, wall, known(at)), hint: SET_IT });
    } else if (doubt !== null) {
      report.daemon("clock_plausible", { says: formatTime(wall), after: { ms: at - doubt.since } });
    }
  }
}

const NOT_COUNTED =
  "the machine was restarted, and its clock does not tell how long it was off: waits and cutoffs continue as if it had been off for no time";
const SET_IT =
  "let a time service set it (systemd-timesyncd, chrony): events get wrong times until then; waits and cutoffs do not depend on it";

/** How often the clock is checked while nothing is written. */
const LOOK_EVERY: Ms = 5 * SECOND;

/** Checks the clock at intervals until the signal is aborted. */
export async function watchClock(look: () => Promise<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(LOOK_EVERY, signal);
    if (signal.aborted) return;
    await look();
  }
}
