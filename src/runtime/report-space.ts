import type { Fullness, SpaceReport } from "../model/space.ts";
import { formatSize } from "../model/units.ts";
import { describeError } from "./describe.ts";
import type { Fields, Log } from "./log.ts";

/** What the log says about the room that is left. */
export function createSpaceReport(log: Log): SpaceReport {
  return {
    storeFull: (why) => log.line("error", "store.full", describeFullness(why)),
    storeOpen: (bound, after) => log.line("info", "store.open", { bound: keyOf(bound), after: { ms: after } }),
    diskUnknown: (path, error) =>
      log.line("warning", "store.disk_unknown", { path, reason: describeError(error), hint: NO_BOUND }),
  };
}

const NO_BOUND = "nobody can say how much of the disk is free: until then outbox.freeDisk is no bound";

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
