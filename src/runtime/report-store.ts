import type { Fullness, Gone, SpaceReport } from "../model/disk.ts";
import type { PruneCounts } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { formatSize, formatTime } from "../model/units.ts";
import type { Fields } from "./log.ts";
import type { Sinks } from "./report.ts";

/** The store: failures, pruning, and free space. */
export function reportStore(sinks: Sinks): SpaceReport & Pick<Report, "storeFailed" | "slowCommit" | "pruned"> {
  const { log, metrics, throttle } = sinks;
  return {
    storeFailed(doing, error) {
      metrics.storeFailed();
      throttle.line({
        level: "error",
        name: "store.failed",
        subject: "store",
        kind: doing,
        common: { doing },
        fields: () => ({ doing, reason: describeError(error) }),
      });
    },
    slowCommit(duration, rows) {
      metrics.slowCommit();
      log.line("warning", "store.slow_commit", { duration: { ms: duration }, rows });
    },
    pruned: (counts, reason) => pruned(sinks, counts, reason),
    storeFull: (why) => log.line("error", "store.full", fullFields(why)),
    storeOpen: (bound, after) => log.line("info", "store.open", { bound: `outbox.${bound}`, after: { ms: after } }),
    storeGone: (gone) => log.line("error", "store.gone", { ...goneFields(gone), hint: GONE_HINTS[gone.what] }),
    storeFound: (gone, after) => log.line("info", "store.found", { ...goneFields(gone), after: { ms: after } }),
    storeRescued: (path) => log.line("error", "store.rescued", { path, hint: RESCUED }),
    fileRenewed: (of, path) => log.line("error", RENEWED[of].name, { path, hint: RENEWED[of].hint }),
    diskUnknown: (path, error) =>
      log.line("warning", "store.disk_unknown", { path, reason: describeError(error), hint: NO_BOUND }),
  };
}

function pruned({ log, metrics, throttle }: Sinks, counts: PruneCounts, reason: "age" | "space"): void {
  for (const [state, count] of Object.entries(counts)) metrics.pruned.row(state).add(reason, count);
  const { seen, ...rows } = counts;
  const removed = Object.values(rows).reduce((sum, count) => sum + count, 0);
  if (removed + seen === 0) return;
  const fields = (): Fields => ({ reason, ...counts });
  const name = "store.pruned";
  // A full store prunes every few calls.
  if (reason === "space")
    throttle.line({ level: "warning", name, subject: "pruned", kind: reason, fields, common: { reason } });
  else log.line(removed > 0 ? "info" : "debug", name, fields());
}

function fullFields({ bound, path, used, log, free, bounds }: Fullness): Fields {
  return {
    bound: `outbox.${bound}`,
    path,
    used: formatSize(used),
    log: log > 0 ? formatSize(log) : null,
    maxSize: formatSize(bounds.maxSize),
    free: free === null ? null : formatSize(free),
    freeDisk: formatSize(bounds.freeDisk),
    hint: fullHint(bound, log),
  };
}

function fullHint(bound: Fullness["bound"], log: number): string {
  if (bound === "freeDisk") return "calls are refused until there is room on the disk; delivery goes on";
  if (log > 0) return "another program holds the outbox open for reading, so its write-ahead log cannot be reused";
  return "calls are refused until deliveries make room, or outbox.maxSize is raised; delivery goes on";
}

function goneFields({ what, path, since }: Gone): Fields {
  return { what, path, since: formatTime(since) };
}

/** Only this process can still access the data. */
const RESCUE =
  "calls are refused; before you stop the daemon, copy what it still holds with fairlead backup FILE; then stop it, " +
  "run fairlead restore --force FILE, and start it";

const GONE_HINTS: Readonly<Record<Gone["what"], string>> = {
  removed: `${RESCUE}. If the file was moved, move it back: the daemon then continues`,
  replaced: `${RESCUE}. If the old file was moved, move it back: the daemon then continues`,
  truncated: `${RESCUE}. The truncated part may be lost: if it is, restore a backup`,
};

const RESCUED =
  "the daemon stopped while its outbox was gone, and this file is a copy of it: restore it with " +
  "fairlead restore --force before the next start";

const RENEWED = {
  log: {
    name: "store.log_renewed",
    hint:
      "the write-ahead log of the outbox, or its index, was removed or replaced while the daemon runs. Its content is now in the " +
      "outbox, and a new log was begun. A kill before that would have lost acknowledged calls: find out what removes the file",
  },
  lock: {
    name: "store.lock_renewed",
    hint:
      "the lock of the outbox was removed or replaced while the daemon runs, and was taken again. Meanwhile, a second daemon " +
      "could have used the outbox: find out what removes the file",
  },
} as const;

const NO_BOUND = "the free space of the disk is unknown: until it is known again, outbox.freeDisk has no effect";

/** The message of an error and its causes. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === "" ? error.name : error.message;
  return error.cause === undefined ? message : `${message}: ${describeError(error.cause)}`;
}
