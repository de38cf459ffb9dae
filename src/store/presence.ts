import type { Disk, FileMark, Gone } from "../model/disk.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

/** How long a client is asked to wait. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** The pause after a log could not be renewed: another program has the outbox open, and each try waits for it. */
const RENEW_AGAIN_AFTER: Ms = 5 * SECOND;

/** The answer to clients. The path and the cause are in the log, for the operator. */
const OUTBOX_GONE = fault(
  "outbox_gone",
  "the outbox was removed, replaced or cut short while the daemon runs, so calls cannot be stored; try again later",
  RETRY_AFTER,
);

/** Thrown where something is not written, because the next start would not find it. */
export class OutboxGone extends Error {
  readonly code = "outbox_gone";
  readonly fault = OUTBOX_GONE;
  readonly gone: Gone;
  constructor(gone: Gone) {
    super(`${gone.path} was ${gone.what} while the daemon runs`);
    this.gone = gone;
  }
}

/** A file that the store has open. */
export type OpenFile = {
  readonly path: string;
  /** The least bytes that the file must have, as far as the engine knows. Only called if it got shorter. */
  least(): number;
  /** Replaces the file without loss, if it was removed or replaced; null if that is impossible. */
  readonly renewal: Renewal | null;
};

export type Renewal = {
  readonly of: "log" | "lock";
  /** Answers false while another program is in the way. */
  run(): boolean;
};

export type PresenceWorld = {
  /** The outbox itself first. */
  readonly files: readonly OpenFile[];
  readonly disk: Pick<Disk, "mark">;
  readonly clock: Pick<Clock, "now">;
  readonly report: Pick<Report, "storeGone" | "storeFound" | "fileRenewed">;
};

/** Whether the files that the engine has open are the ones that the next start would find. */
export type Presence = {
  /** Checks the files, which takes some microseconds. */
  check(): Gone | null;
  /** The answer to a call. Checks only while the outbox is gone, as each commit checks anyway. */
  refusal(): Fault | null;
};

/**
 * Present: the files at the paths are the open ones. Gone: one of them is not, or was truncated. Calls are then refused, and
 * deliveries continue from the open files. The state ends when the same files are back, as after a folder was renamed and
 * renamed back; it never ends for a truncated file, whose contents are lost.
 * A log or a lock that was removed alone is made again: nothing is lost, and nothing has to be refused.
 */
export function createPresence({ files, disk, clock, report }: PresenceWorld): Presence {
  let known = markAll();
  let gone: Gone | null = null;
  let triedAt: At = Number.NEGATIVE_INFINITY;

  return {
    check,
    refusal: () => (gone !== null && check() !== null ? OUTBOX_GONE : null),
  };

  function check(): Gone | null {
    if (gone?.what === "truncated") return gone;
    const now = markIfPossible();
    // If the files cannot be checked, the last answer stays.
    if (now === null) return gone;
    for (const file of files) {
      const what = judgeFile(known.get(file) ?? null, now.get(file) ?? null, file.least);
      if (what === null) continue;
      if (what !== "truncated" && renew(file)) return check();
      return become({ what, path: file.path, since: gone?.since ?? clock.now() });
    }
    known = now;
    return become(null);
  }

  function markAll(): Marks {
    return new Map(files.map((file) => [file, disk.mark(file.path)]));
  }

  function markIfPossible(): Marks | null {
    try {
      return markAll();
    } catch {
      return null;
    }
  }

  function renew({ path, renewal }: OpenFile): boolean {
    if (renewal === null || clock.now() - triedAt < RENEW_AGAIN_AFTER) return false;
    triedAt = clock.now();
    const now = renewal.run() ? markIfPossible() : null;
    if (now === null) return false;
    known = new Map(files.map((file) => [file, (file.renewal === renewal ? now : known).get(file) ?? null]));
    triedAt = Number.NEGATIVE_INFINITY;
    report.fileRenewed(renewal.of, path);
    return true;
  }

  function become(next: Gone | null): Gone | null {
    const before = gone;
    gone = next;
    if (next !== null && before?.what !== next.what) report.storeGone(next);
    if (next === null && before !== null) report.storeFound(before, clock.now() - before.since);
    return gone;
  }
}

type Marks = ReadonlyMap<OpenFile, FileMark | null>;

/**
 * What happened to a file since it was last checked (`known`). `least` is only called if it got shorter, as the engine itself
 * shortens the file when it gives pages back.
 */
export function judgeFile(known: FileMark | null, now: FileMark | null, least: () => number): Gone["what"] | null {
  if (known === null) return null;
  if (now === null) return "removed";
  if (now.identity !== known.identity) return "replaced";
  if (now.size >= known.size) return null;
  return now.size < least() ? "truncated" : null;
}
