import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Disk, FileMark, Gone } from "../model/space.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

/** How long a client is asked to wait. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** How long a log that could not be renewed is left alone: another program has the outbox open, and each try waits for it. */
const RENEW_AGAIN_AFTER: Ms = 5 * SECOND;

/** For clients: where the outbox is, and what became of it, is the operator's to know. */
const OUTBOX_GONE = fault(
  "outbox_gone",
  "the outbox was removed, replaced or cut short while the daemon runs, so that calls cannot be kept; try again later",
  RETRY_AFTER,
);

/** Why something was not written: the next start would not find it. */
export class OutboxGone extends Error {
  readonly code = "outbox_gone";
  readonly fault = OUTBOX_GONE;
  readonly gone: Gone;
  constructor(gone: Gone) {
    super(`${gone.path} was ${gone.what} while the daemon runs`);
    this.gone = gone;
  }
}

/** The files that the engine has open. */
export type OpenFiles = {
  readonly path: string;
  /** Those that belong to it and can be begun again: its log, and the index of that. */
  readonly beside: readonly string[];
};

/** What only the engine can say or do. */
export type OpenEngine = {
  /** The bytes that the file at this path has at least, as far as the engine knows. */
  least(path: string): number;
  /** Writes its log into its file and begins another log. Answers false while another program has the file open. */
  renewLog(): boolean;
};

export type PresenceWorld = {
  readonly files: OpenFiles;
  readonly engine: OpenEngine;
  readonly disk: Pick<Disk, "mark">;
  readonly clock: Pick<Clock, "now">;
  readonly report: Pick<Report, "storeGone" | "storeFound" | "logRenewed">;
};

/** Whether the files that the engine has open are the ones that the next start would find. */
export type Presence = {
  /** Looks, which takes some microseconds. */
  check(): Gone | null;
  /** What a call gets to hear. Looks only while it is gone: the commit looks anyway. */
  refusal(): Fault | null;
};

/**
 * Present: the files at the paths are those that are open. Gone: one of them is not, or was cut short; nothing new is taken
 * in, and deliveries go on from what the engine still has open. It is left when the same files are back, as after a folder
 * was renamed and named back. What was cut short stays so: nobody knows what was in it.
 * A log that was removed by itself is begun again, as all that was in it is still open, and nothing has to be refused.
 */
export function createPresence({ files, engine, disk, clock, report }: PresenceWorld): Presence {
  const paths = [files.path, ...files.beside];
  let known = new Map(paths.map((path) => [path, disk.mark(path)]));
  let gone: Gone | null = null;
  let triedAt: At = Number.NEGATIVE_INFINITY;

  return {
    check,
    refusal: () => (gone !== null && check() !== null ? OUTBOX_GONE : null),
  };

  function check(): Gone | null {
    if (gone?.what === "truncated") return gone;
    const now = marks();
    // Nobody can say: that is no reason to believe another thing than before.
    if (now === null) return gone;
    const found = paths.map((path) => ({ path, what: judge(path, now) })).find(({ what }) => what !== null);
    if (found?.what && !(found.what !== "truncated" && files.beside.includes(found.path) && renew())) {
      return become({ what: found.what, path: found.path, since: gone?.since ?? clock.now() });
    }
    if (!found) known = now;
    return become(null);
  }

  function marks(): Map<string, FileMark | null> | null {
    try {
      return new Map(paths.map((path) => [path, disk.mark(path)]));
    } catch {
      return null;
    }
  }

  function judge(path: string, now: ReadonlyMap<string, FileMark | null>): Gone["what"] | null {
    return judgeFile(known.get(path) ?? null, now.get(path) ?? null, () => engine.least(path));
  }

  function renew(): boolean {
    if (clock.now() - triedAt < RENEW_AGAIN_AFTER) return false;
    triedAt = clock.now();
    const renewed = engine.renewLog();
    const now = renewed ? marks() : null;
    if (now === null) return false;
    known = now;
    triedAt = Number.NEGATIVE_INFINITY;
    report.logRenewed(files.path);
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

/**
 * What became of a file that was `known` when it was looked at last. `least` is asked only about one that got shorter: the
 * engine itself shortens it, too, when it gives pages back.
 */
export function judgeFile(known: FileMark | null, now: FileMark | null, least: () => number): Gone["what"] | null {
  if (known === null) return null;
  if (now === null) return "removed";
  if (now.identity !== known.identity) return "replaced";
  if (now.size >= known.size) return null;
  return now.size < least() ? "truncated" : null;
}
