import { readdirSync, readFileSync } from "node:fs";

/** How many files and connections a process may have open, and how many it has; null where nobody can say. */
export type OpenFiles = { readonly limit: number | null; readonly open: number | null };

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
