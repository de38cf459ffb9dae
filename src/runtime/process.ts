/** What this process requests from the system for itself. */
import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import process from "node:process";

type SignalHandlers = {
  /** SIGTERM or SIGINT. Called for each, so that a second one can be recognised. */
  readonly stop: (signal: NodeJS.Signals) => void;
  /** SIGHUP: reload the config. */
  readonly reload: () => void;
};

/** Handles the signals of the process. Answers a function that removes the handlers. */
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

const LOWEST_PRIORITY = 19;

/** Lowers this process's priority: on a machine with one core, a command must not slow the daemon. */
export function goLast(): void {
  try {
    setPriority(LOWEST_PRIORITY);
  } catch {
    // Not possible on this system.
  }
}

/** New files are readable for their own user only: the outbox holds personal data. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Frees memory used by reading the config and starting. Bun would not do so in a daemon that is idle for weeks, nor soon
 * after large bodies, which leave a hundred times their size behind. Takes a few milliseconds. Does nothing on Deno.
 */
export function freeMemory(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
}

/** How many files and connections a process may have open, and how many it has; null if unknown. */
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
