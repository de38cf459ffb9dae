/** Reloads the config: one reload at a time, by request or when one of its files changes. */
import type { Config, Problem } from "../model/config.ts";
import type { Applied, FileState, Look, Refused, Reload, Reloaded } from "../model/daemon.ts";
import { StoreAway, unreadableNow } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { ConfigStatus } from "../model/status.ts";
import { type Ms, SECOND } from "../model/units.ts";
import type { Steps } from "./steps.ts";

/** The result of reading the config now. */
export type Read =
  | { readonly config: Config | null; readonly problems: readonly Problem[]; readonly explain: Explain }
  /** Why it cannot be read, and whether to retry even if no file changes. */
  | { readonly unreadable: string; readonly again?: boolean };

/** Writes what was read as YAML, with every key and without secrets (config/explain.ts). */
export type Explain = () => Steps<string>;

type ReloaderWorld = {
  readonly clock: Pick<Clock, "wall">;
  /** The config file, for the log. */
  readonly file: string;
  readonly read: () => Promise<Read>;
  /** Builds all that the config needs, then swaps it in. If it rejects, nothing has changed. */
  readonly apply: (config: Config, explain: Explain) => Promise<Applied>;
  readonly report: Pick<Report, "daemon">;
};

type Reloader = {
  readonly reload: Reload;
  /** The result of the last reload. */
  status(): ConfigStatus;
};

/**
 * Requests during a reload share the next one: twenty signals in a second are two reloads, and each reads what was
 * written before it was requested. The daemon has just been started with the config as it is now.
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
      const at = clock.wall();
      status =
        reloaded.kind === "refused"
          ? { ...status, refused: { at, reason: reloaded.reason } }
          : { ...status, readAt: at, refused: null, needsRestart: reloaded.needsRestart };
      if (running === run) running = null;
      return reloaded;
    });
    running = run;
    return run;
  }
}

/** A bad config changes nothing, and each of its problems is logged. */
async function reloadOnce({ file, read, apply, report }: ReloaderWorld): Promise<Reloaded> {
  const found = await read();
  if ("unreadable" in found) return { ...refuse(found.unreadable, []), ...(found.again && { again: true }) };
  const { config, problems, explain } = found;
  for (const { severity, file: config, line, column, path, message } of problems) {
    const what = severity === "error" ? "config_problem" : "config_warning";
    report.daemon(what, { config, line, column, key: path, reason: message });
  }
  if (config === null) return refuse("the config has errors", problems);
  try {
    const { changes, needsRestart } = await apply(config, explain);
    report.daemon("reloaded", {
      config: file,
      changes: changes.join("; ") || "none",
      ...(needsRestart.length > 0 && { needsRestart: needsRestart.join(", ") }),
    });
    return { kind: "reloaded", problems, changes, needsRestart };
  } catch (error) {
    if (error instanceof StoreAway) return { ...refuse(unreadableNow(error).message, problems), again: true };
    return refuse(error instanceof Error ? error.message : String(error), problems);
  }

  function refuse(reason: string, all: readonly Problem[]): Refused {
    report.daemon("reload_failed", { config: file, reason: `${reason}; the old config stays in force` });
    return { kind: "refused", reason, problems: all };
  }
}

/** With the time to settle, a change is noticed within two seconds. */
const POLL: Ms = SECOND;
const SETTLE: Ms = 700;
/** The wait before files that took too long are tried again: each try is a line in the log. */
const RETRY: Ms = 30 * SECOND;
/** A file that never stops changing is read after so many looks. */
const MOST_LOOKS = 20;

/** The files that a config was made of, each with its state when it was read. */
export type Seen = ReadonlyMap<string, FileState>;

type WatchWorld = {
  readonly clock: Pick<Clock, "sleep">;
  readonly look: Look;
  /** The files of the last read. */
  readonly seen: () => Seen;
  readonly reload: Reload;
};

/**
 * Reloads the config whenever one of its files changes, until the signal is aborted. It polls: editors replace the file,
 * Kubernetes swaps a symbolic link above it, and network file systems send no events.
 *
 * unchanged: each file has the state in which it was read.
 * changing:  one has not. It may be half written, so it is looked at again until it stays the same for a moment.
 * changed:   `reload` reads all files again, whether they are valid or not.
 */
export async function watchConfig(world: WatchWorld, signal: AbortSignal): Promise<void> {
  const { clock, seen, reload } = world;
  /** The last state that was reloaded: one that cannot be used is not reported again and again. */
  let reloaded: Seen = new Map();
  while (!signal.aborted) {
    await clock.sleep(POLL, signal);
    if (signal.aborted) return;
    const states = await lookAtAll(world);
    if (isSame(states, seen()) || isSame(states, reloaded)) continue;
    reloaded = await settled(states, world, signal);
    if (signal.aborted || isSame(reloaded, seen())) continue;
    const result = await reload();
    if (result.kind !== "refused" || !result.again) continue;
    reloaded = new Map();
    await clock.sleep(RETRY, signal);
  }
}

async function settled(first: Seen, world: WatchWorld, signal: AbortSignal): Promise<Seen> {
  let states = first;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    await world.clock.sleep(SETTLE, signal);
    const later = await lookAtAll(world);
    if (isSame(later, states)) return later;
    states = later;
  }
  return states;
}

async function lookAtAll({ look, seen }: WatchWorld): Promise<Seen> {
  const states = [...seen().keys()].map(async (path) => [path, await look(path)] as const);
  return new Map(await Promise.all(states));
}

function isSame(one: Seen, other: Seen): boolean {
  return one.size === other.size && [...one].every(([path, state]) => other.get(path) === state);
}
