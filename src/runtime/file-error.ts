import { closeSync, constants, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Why a file cannot be read, without its path. */
export function reasonOf(error: unknown, path: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  if (code === "EACCES" || code === "EPERM") return `permission denied${guardOf(path)}`;
  return REASONS[code] ?? code;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "a part of the path is not a folder",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the path is too long",
  ENXIO: "it is not a regular file",
  EISDIR: "it is a folder",
  EMFILE: "too many open files",
};

/** What a person can do who may not read a file; null where that is not what is wrong with it. */
export function howToRead(path: string): string | null {
  if (!isDenied(path)) return null;
  const group = nameOf(groupThatMayRead(path));
  return group === null
    ? "use sudo"
    : `use sudo, or join the group ${group} (sudo usermod -aG ${group} NAME, ${AGAIN})`;
}

const AGAIN = "then log in again";

function isDenied(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}

/** The group of the file, or of the folder that hides it; null if their groups may not read them. */
function groupThatMayRead(path: string): number | null {
  const above = dirname(path);
  try {
    const stats = statSync(path);
    const needed = stats.isDirectory() ? 0o010 : 0o040;
    return (stats.mode & needed) === 0 ? null : stats.gid;
  } catch {
    return above === path ? null : groupThatMayRead(above);
  }
}

/** Null for the group of root, which nobody else should be in, and where there is no list of groups. */
function nameOf(gid: number | null): string | null {
  if (gid === null || gid === 0) return null;
  try {
    const groups = readFileSync("/etc/group", "utf8").split("\n");
    const found = groups.map((line) => line.split(":")).find(([, , id]) => id === String(gid));
    return found?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Who may read it. If not even that can be seen, a folder above is closed. */
function guardOf(path: string): string {
  try {
    const stats = statSync(path);
    return ` (mode ${octal(stats)}, owner ${ownerOf(stats)})`;
  } catch {
    return " (a folder above it cannot be entered)";
  }
}

function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

function ownerOf({ uid }: Stats): string {
  return uid === 0 ? "root" : `uid ${uid}`;
}
