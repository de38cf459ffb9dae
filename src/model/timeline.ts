import { type At, DAY, formatDuration, formatTime, MINUTE, type Ms } from "./units.ts";

/** One boot of the machine: its id, and its uptime, sleep included. */
export type Boot = { readonly id: number; readonly uptime: Ms };

/** Why the machine's clock is not trusted (`store/timeline.ts`). */
export type ClockDoubt = "before_build" | "behind" | "ahead";

/** Whether the machine's clock can be trusted. */
export type ClockHealth =
  | { readonly plausible: true }
  | {
      readonly plausible: false;
      readonly code: ClockDoubt;
      /** The reason as text, with what the clock says. */
      readonly reason: string;
      /** By `clock.now()`. */
      readonly since: At;
    };

/** Converts between times in rows and the machine's clock (`store/timeline.ts`). */
export type Timeline = {
  /** What the machine's clock would have shown then, had it always been as it is now. */
  toWall(at: At): At;
  /** The time in rows for a time of the machine's clock. */
  fromWall(wall: At): At;
  health(): ClockHealth;
};

/** The clock of the build machine may be wrong as well. */
const BUILD_SLACK: Ms = DAY;
/** A time service may set the clock back by this much at any time. */
const BACK_SLACK: Ms = MINUTE;
/**
 * How long a machine may have been off: as long as failed deliveries are kept by default. Trusting a clock that is further
 * ahead would prune all of them; doubting a right one loses nothing.
 */
const FAR: Ms = 30 * DAY;
/** Less than 19.6 years, the error of GPS receivers whose week counter overflows. */
const LONGEST_LIFE: Ms = 15 * 365 * DAY;
/** How long the store's times count for more than the clock's. */
const DOUBTED_FOR: Ms = DAY;

/** A moment at which the clock was trusted, and what it showed. */
export type Trusted = { readonly at: At; readonly wall: At };

/** What a clock is judged by: the time in rows, and times known from the store and the build. */
export type Known = { readonly now: At; readonly trusted: Trusted | null; readonly builtAt: At };

/** Why the machine's clock cannot be right; null if it can. */
export function doubtOf(wall: At, { now, trusted, builtAt }: Known): ClockDoubt | null {
  if (wall < builtAt - BUILD_SLACK) return "before_build";
  if (!isInLifetime(wall, builtAt)) return "ahead";
  if (trusted === null || now - trusted.at >= DOUBTED_FOR) return null;
  if (wall < trusted.wall - BACK_SLACK) return "behind";
  return wall - expected(now, trusted) > FAR ? "ahead" : null;
}

/** Whether this program may still be in use at this time. */
export function isInLifetime(wall: At, builtAt: At): boolean {
  return wall <= builtAt + LONGEST_LIFE;
}

function expected(now: At, { at, wall }: Trusted): At {
  return wall + now - at;
}

export function describeDoubt(code: ClockDoubt, wall: At, { now, trusted, builtAt }: Known): string {
  const says = `the machine's clock says ${formatTime(wall)}`;
  if (code === "before_build") return `${says}, before this Fairlead was built (${formatTime(builtAt)})`;
  if (trusted === null || !isInLifetime(wall, builtAt)) {
    return `${says}, ${formatDuration(wall - builtAt)} after this Fairlead was built`;
  }
  if (code === "behind") return `${says}, and the outbox was written at ${formatTime(trusted.wall)} already`;
  const ahead = formatDuration(wall - expected(now, trusted));
  return `${says}, ${ahead} more than the outbox expects`;
}
