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

/** A file that the store has open. */
export type OpenFile = {
  readonly path: string;
  /** The bytes that it has at least, as far as the engine knows. Asked only when it got shorter. */
  least(): number;
  /** Makes another one where it was removed or replaced, without losing anything; null if nobody can. */
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
  /** Looks, which takes some microseconds. */
  check(): Gone | null;
  /** What a call gets to hear. Looks only while it is gone: the commit looks anyway. */
  refusal(): Fault | null;
};

/**
 * Present: the files at the paths are those that are open. Gone: one of them is not, or was cut short; nothing new is taken
 * in, and deliveries go on from what the engine still has open. It is left when the same files are back, as after a folder
 * was renamed and named back. What was cut short stays so: nobody knows what was in it.
 * A log or a lock that was removed by itself is made again: nothing of it is lost, and nothing has to be refused.
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
    // Nobody can say: that is no reason to believe another thing than before.
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
