import type { Config, Problem } from "../model/config.ts";
import type { Clock } from "../model/ports.ts";
import type { Applied, FileState, Look, Refused, Reload, Reloaded } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import type { ConfigStatus } from "../model/status.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

/** What there is to be read of the config at this moment. */
export type Read =
  | { readonly config: Config | null; readonly problems: readonly Problem[] }
  /** Why it cannot be read at all; and whether that may be otherwise in a while, though no file changes. */
  | { readonly unreadable: string; readonly again?: boolean };

type Reloader = {
  readonly reload: Reload;
  /** How the last one went. */
  status(): ConfigStatus;
};

type ReloaderWorld = {
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

/**
 * Polled instead of watched: editors replace the file, Kubernetes swaps a symbolic link above it, and network file systems
 * tell nobody of what others write.
 *
 * at rest:  every file is as it was when it was read.
 * moving:   one is not. It is looked at again until it has stood still for a moment: it may be half written.
 * changed:  `reload` reads all of them anew, and says as what; whether they were any good is not asked here.
 */

/** Together with the moment of standing still, a change is seen within two seconds. */
const POLL: Ms = SECOND;
const STILL: Ms = 700;
/** Until files are tried again that took too long: each time is a line in the log. */
const LATER: Ms = 30 * SECOND;
/** A file that never stands still is read in the end. */
const MOST_LOOKS = 20;

/** The files that a config was made of, and as what they were read. */
export type Seen = ReadonlyMap<string, FileState>;

type WatchWorld = {
  readonly clock: Pick<Clock, "sleep">;
  readonly look: Look;
  /** As which state each file was read last. */
  readonly seen: () => Seen;
  readonly reload: Reload;
};

/** Reloads the config whenever a file that it was made of has changed. Resolves when the signal is aborted. */
export async function watchConfig(world: WatchWorld, signal: AbortSignal): Promise<void> {
  /** What has been told already: a state that could not be used is not reported again and again. */
  let told: Seen = new Map();
  while (!signal.aborted) {
    await world.clock.sleep(POLL, signal);
    if (signal.aborted) return;
    const states = await lookAt(world);
    if (isSame(states, world.seen()) || isSame(states, told)) continue;
    told = await untilStill(states, world, signal);
    if (signal.aborted || isSame(told, world.seen())) continue;
    const reloaded = await world.reload();
    if (reloaded.kind !== "refused" || !reloaded.again) continue;
    told = new Map();
    await world.clock.sleep(LATER, signal);
  }
}

async function untilStill(first: Seen, world: WatchWorld, signal: AbortSignal): Promise<Seen> {
  let states = first;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    await world.clock.sleep(STILL, signal);
    const later = await lookAt(world);
    if (isSame(later, states)) return later;
    states = later;
  }
  return states;
}

async function lookAt({ look, seen }: WatchWorld): Promise<Seen> {
  const paths = [...seen().keys()];
  const states = await Promise.all(paths.map(look));
  return new Map(paths.map((path, index) => [path, states[index] ?? ""]));
}

function isSame(one: Seen, other: Seen): boolean {
  return one.size === other.size && [...one].every(([path, state]) => other.get(path) === state);
}
