import type { Config, Problem } from "../model/config.ts";
import type { Clock } from "../model/ports.ts";
import type { Applied, Refused, Reload, Reloaded } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import type { ConfigStatus } from "../model/status.ts";
import type { At } from "../model/units.ts";

/** What there is to be read of the config at this moment. */
export type Read =
  | { readonly config: Config | null; readonly problems: readonly Problem[] }
  /** Why it cannot be read at all; and whether that may be otherwise in a while, though no file changes. */
  | { readonly unreadable: string; readonly again?: boolean };

export type Reloader = {
  readonly reload: Reload;
  /** How the last one went. */
  status(): ConfigStatus;
};

export type ReloaderWorld = {
  readonly clock: Pick<Clock, "wall">;
  /** The config file, for the log. */
  readonly file: string;
  readonly read: () => Promise<Read>;
  /** Builds all that the config needs, and then swaps it in. Rejects when it cannot, and has then changed nothing. */
  readonly apply: (config: Config) => Promise<Applied>;
  readonly report: Pick<Report, "daemon">;
};

/**
 * Reloads one at a time. Whoever asks during one gets the next, which all of them share: twenty signals in a second are
 * two reloads, and each of them has seen what was written before it was asked for. The daemon has been started with what
 * was read just now.
 */
export function createReloader(world: ReloaderWorld): Reloader {
  const { file, clock } = world;
  let status: ConfigStatus = { file, readAt: clock.wall(), refused: null, needsRestart: [] };
  let running: Promise<Reloaded> | null = null;
  let next: Promise<Reloaded> | null = null;

  return { reload, status: () => status };

  function reload(): Promise<Reloaded> {
    if (!running) return begin();
    next ??= running.then(() => {
      next = null;
      return begin();
    });
    return next;
  }

  function begin(): Promise<Reloaded> {
    const run = reloadOnce(world).then((reloaded) => {
      status = statusAfter(reloaded, status, clock.wall());
      if (running === run) running = null;
      return reloaded;
    });
    running = run;
    return run;
  }
}

function statusAfter(reloaded: Reloaded, before: ConfigStatus, at: At): ConfigStatus {
  if (reloaded.kind === "refused") return { ...before, refused: { at, reason: reloaded.reason } };
  return { ...before, readAt: at, refused: null, needsRestart: reloaded.needsRestart };
}

/** A bad config changes nothing, and each of its problems is a line of the log. */
async function reloadOnce({ file, read, apply, report }: ReloaderWorld): Promise<Reloaded> {
  const found = await read();
  if ("unreadable" in found) return { ...refuse(found.unreadable, []), ...(found.again && { again: true }) };
  const { config, problems } = found;
  for (const { severity, line, column, path, message } of problems) {
    const what = severity === "error" ? "config_problem" : "config_warning";
    report.daemon(what, { config: file, line, column, key: path, reason: message });
  }
  if (config === null) return refuse("the config has errors", problems);
  try {
    return tell({ kind: "reloaded", problems, ...(await apply(config)) });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), problems);
  }

  function refuse(reason: string, problems: readonly Problem[]): Refused {
    report.daemon("reload_failed", { config: file, reason: `${reason}; the config before it stays in force` });
    return { kind: "refused", reason, problems };
  }

  function tell(reloaded: Extract<Reloaded, { kind: "reloaded" }>): Reloaded {
    const { changes, needsRestart } = reloaded;
    report.daemon("reloaded", {
      config: file,
      changes: changes.join("; ") || "none",
      ...(needsRestart.length > 0 && { needsRestart: needsRestart.join(", ") }),
    });
    return reloaded;
  }
}
