import type { Fullness, Gone, SpaceReport } from "../model/space.ts";
import { formatSize, formatTime } from "../model/units.ts";
import type { Fields, Log } from "./log.ts";

/** What the log says about the room that is left. */
export function createSpaceReport(log: Log): SpaceReport {
  return {
    storeFull: (why) => log.line("error", "store.full", describeFullness(why)),
    storeOpen: (bound, after) => log.line("info", "store.open", { bound: keyOf(bound), after: { ms: after } }),
    storeGone: (gone) => log.line("error", "store.gone", { ...describeGone(gone), hint: HINTS[gone.what] }),
    storeFound: (gone, after) => log.line("info", "store.found", { ...describeGone(gone), after: { ms: after } }),
    storeRescued: (path) => log.line("error", "store.rescued", { path, hint: RESCUED }),
    fileRenewed: (of, path) => log.line("error", RENEWED[of].name, { path, hint: RENEWED[of].hint }),
    diskUnknown: (path, error) =>
      log.line("warning", "store.disk_unknown", { path, reason: describeError(error), hint: NO_BOUND }),
  };
}

const NO_BOUND = "nobody can say how much of the disk is free: until then outbox.freeDisk is no bound";

/** What is still reachable is in this process only. */
const RESCUE =
  "calls are refused; do not stop the daemon before fairlead backup FILE has copied what it still has; then stop it, " +
  "run fairlead restore --force FILE, and start it";

const HINTS: Readonly<Record<Gone["what"], string>> = {
  removed: `${RESCUE}. If the file was moved, move it back: the daemon goes on by itself`,
  replaced: `${RESCUE}. If the old file was only moved, move it back: the daemon goes on by itself`,
  truncated: `${RESCUE}. What was cut off may be lost: then restore a backup`,
};

const RESCUED =
  "the daemon has stopped while its outbox was gone, and this is what it had: fairlead restore --force puts it in place before " +
  "the next start";

const RENEWED = {
  log: {
    name: "store.log_renewed",
    hint:
      "the write-ahead log of the outbox, or its index, was removed or replaced while the daemon runs; all of it is in the " +
      "outbox now, and another one was begun. Had the daemon been killed before, acknowledged calls would be lost: find who does that",
  },
  lock: {
    name: "store.lock_renewed",
    hint:
      "the lock of the outbox was removed or replaced while the daemon runs, and is held again. Had another daemon been " +
      "started before, both would use the outbox: find who does that",
  },
} as const;

function describeGone({ what, path, since }: Gone): Fields {
  return { what, path, since: formatTime(since) };
}

function describeFullness({ bound, path, used, log, free, bounds }: Fullness): Fields {
  return {
    bound: keyOf(bound),
    path,
    used: formatSize(used),
    log: log > 0 ? formatSize(log) : null,
    maxSize: formatSize(bounds.maxSize),
    free: free === null ? null : formatSize(free),
    freeDisk: formatSize(bounds.freeDisk),
    hint: hintOf(bound, log),
  };
}

function hintOf(bound: Fullness["bound"], log: number): string {
  if (bound === "freeDisk") return "calls are refused until there is room on the disk; delivery goes on";
  if (log > 0) return "another program reads the outbox for long, and keeps its write-ahead log from being used again";
  return "calls are refused until deliveries make room, or outbox.maxSize is raised; delivery goes on";
}

function keyOf(bound: Fullness["bound"]): string {
  return `outbox.${bound}`;
}

/** The message of an error, and of what caused it. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === "" ? error.name : error.message;
  return error.cause === undefined ? message : `${message}: ${describeError(error.cause)}`;
}
