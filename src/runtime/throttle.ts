import type { LogLevel } from "../model/config.ts";
import type { Cancel, Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import type { Fields, Log } from "./log.ts";

/** A line that can come many times a second. */
type RepeatedLine = {
  readonly level: LogLevel;
  readonly name: string;
  /** What the line is about, and what it says about it: lines that have both in common are throttled together. */
  readonly subject: string;
  readonly kind: string;
  /** Lines that are written before others are suppressed; one if left out. */
  readonly most?: number;
  readonly fields: () => Fields;
  /** Fields that all these lines share, for the line that counts the suppressed ones. */
  readonly common: Fields;
};

export type Throttle = {
  /** Writes or suppresses a line. The next one written says how many were suppressed before it. */
  line(line: RepeatedLine): void;
  /** The subject has recovered: its next line is written at once. */
  recovered(subject: string): void;
  /** Whether no line was written yet, so that no subject can recover. */
  isEmpty(): boolean;
  /** Writes the counts of suppressed lines now. */
  flush(): void;
};

/** Similar lines within this time are suppressed. At its end their number is logged, even if nothing else happens. */
const QUIET: Ms = 10 * SECOND;
/** Lines in that time of a subject that fails and recovers in turn. */
const MOST_LINES = 5;
/** Most pairs of subject and kind in memory. Beyond that, the oldest subjects are forgotten. */
const MOST_KEYS = 1_000;

/** Without the fields of the line: what they refer to, such as a body, is not kept in memory. */
type Summary = Pick<RepeatedLine, "level" | "name" | "common">;

type Window = {
  readonly since: number;
  readonly summary: Summary;
  written: number;
  suppressed: number;
  hasRecovered: boolean;
  /** Set while suppressed lines are not logged yet. */
  cancel: Cancel | null;
};

type ThrottleOptions = { readonly log: Pick<Log, "enabled" | "line">; readonly clock: Pick<Clock, "now" | "after"> };

/** Limits how often similar lines are logged: one in ten seconds, then the number of those suppressed. */
export function createThrottle({ log, clock }: ThrottleOptions): Throttle {
  const subjects = new Map<string, Map<string, Window>>();
  let keys = 0;

  function open(line: RepeatedLine): void {
    const { subject, kind, level, name, common } = line;
    const kinds = subjects.get(subject) ?? new Map<string, Window>();
    if (!kinds.has(kind)) keys++;
    const summary = { level, name, common };
    kinds.set(kind, { since: clock.now(), summary, written: 1, suppressed: 0, hasRecovered: false, cancel: null });
    subjects.delete(subject);
    subjects.set(subject, kinds);
    for (const [oldest, windows] of subjects) {
      if (keys <= MOST_KEYS) return;
      subjects.delete(oldest);
      keys -= windows.size;
      for (const window of windows.values()) summarize(window);
    }
  }

  function summarize(window: Window): void {
    const { level, name, common } = window.summary;
    const suppressed = takeSuppressed(window);
    if (suppressed > 0) log.line(level, name, { ...common, suppressed });
  }

  function write({ level, name, fields }: RepeatedLine, suppressed: number): void {
    log.line(level, name, suppressed > 0 ? { ...fields(), suppressed } : fields());
  }

  return {
    line(line) {
      if (!log.enabled(line.level)) return;
      const window = subjects.get(line.subject)?.get(line.kind);
      if (!window || clock.now() - window.since >= QUIET) {
        open(line);
        write(line, window ? takeSuppressed(window) : 0);
      } else if (mayWrite(window, line.most ?? 1)) {
        window.written++;
        window.hasRecovered = false;
        write(line, takeSuppressed(window));
      } else {
        window.suppressed++;
        window.cancel ??= clock.after(window.since + QUIET - clock.now(), () => summarize(window));
      }
    },
    recovered(subject) {
      for (const window of subjects.get(subject)?.values() ?? []) window.hasRecovered = true;
    },
    isEmpty: () => subjects.size === 0,
    flush() {
      for (const windows of subjects.values()) for (const window of windows.values()) summarize(window);
    },
  };
}

function mayWrite({ written, hasRecovered }: Window, most: number): boolean {
  return written < most || (hasRecovered && written < MOST_LINES);
}

function takeSuppressed(window: Window): number {
  const { suppressed } = window;
  window.cancel?.();
  window.cancel = null;
  window.suppressed = 0;
  return suppressed;
}
