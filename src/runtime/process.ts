import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import process from "node:process";

type SignalHandlers = {
  /** SIGTERM or SIGINT: the daemon is to stop. Called for each, so that a second one can be told from the first. */
  readonly stop: (signal: NodeJS.Signals) => void;
  /** SIGHUP: the config is to be read again. */
  readonly reload: () => void;
};

/** Hands the signals of the process to the daemon. Answers a function that takes the handlers away again. */
export function onSignals({ stop, reload }: SignalHandlers): () => void {
  const handlers = [
    ["SIGTERM", () => stop("SIGTERM")],
    ["SIGINT", () => stop("SIGINT")],
    ["SIGHUP", () => reload()],
  ] as const;
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/** The lowest that there is. */
const LAST = 19;

/** Others go first from now on: on a machine with one core, what an operator starts is not to hold the daemon up. */
export function goLast(): void {
  try {
    setPriority(LAST);
  } catch {
    // A system that does not have it does without.
  }
}

/** What this process makes from now on is for its own user: the outbox holds personal data. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Gives back what reading the config and starting has used: a daemon may stand idle for weeks from here, and nothing
 * else would make it tidy up. Nor does it hurry by itself when large bodies leave a hundred times their size behind. Takes a
 * few milliseconds; on Deno it does nothing.
 */
export function freeMemory(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
}

/** How many files and connections a process may have open, and how many it has; null where nobody can say. */
type OpenFiles = { readonly limit: number | null; readonly open: number | null };

/** Of the process with this pid, or of this one. */
export function openFilesOf(pid: number | "self"): OpenFiles {
  return { limit: limitOf(pid), open: countOf(pid) };
}

function limitOf(pid: number | "self"): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8")) ?? [];
    if (soft === undefined) return null;
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return null;
  }
}

function countOf(pid: number | "self"): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}
