import { closeSync, constants, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** The code that the system gives an error; null if it has none. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}

/** Why a file cannot be read, without its path. */
export function reasonOf(error: unknown, path: string): string {
  const code = errorCode(error) ?? String(error);
  if (code === "EACCES" || code === "EPERM") return `permission denied${describeGuard(path)}`;
  return REASONS[code] ?? code;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "a part of the path is not a folder",
  ELOOP: "its symbolic links form a loop",
  ENAMETOOLONG: "the path is too long",
  ENXIO: "it is not a regular file",
  EISDIR: "it is a folder",
  EMFILE: "too many open files",
};

/** The mode and owner of a file. If they cannot be read, a folder above is closed. */
function describeGuard(path: string): string {
  try {
    const { mode, uid } = statSync(path);
    const octal = (mode & 0o7777).toString(8).padStart(4, "0");
    return ` (mode ${octal}, owner ${uid === 0 ? "root" : `uid ${uid}`})`;
  } catch {
    return " (a folder above it cannot be entered)";
  }
}

/** How to get permission to read a file; null if permission is not the problem. */
export function howToRead(path: string): string | null {
  if (!isDenied(path)) return null;
  const group = groupName(groupThatMayRead(path));
  if (group === null) return "use sudo";
  return `use sudo, or join the group ${group} (sudo usermod -aG ${group} NAME, then log in again)`;
}

function isDenied(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    return errorCode(error) === "EACCES";
  }
}

/** The group of the file, or of the folder that hides it; null if their groups may not read them. */
function groupThatMayRead(path: string): number | null {
  const above = dirname(path);
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch {
    return above === path ? null : groupThatMayRead(above);
  }
  const needed = stats.isDirectory() ? 0o010 : 0o040;
  return (stats.mode & needed) === 0 ? null : stats.gid;
}

/** Null for root's group, which no other user should join, and without a list of groups. */
function groupName(gid: number | null): string | null {
  if (gid === null || gid === 0) return null;
  try {
    const groups = readFileSync("/etc/group", "utf8").split("\n");
    const found = groups.map((line) => line.split(":")).find(([, , id]) => id === String(gid));
    return found?.[0] ?? null;
  } catch {
    return null;
  }
}
