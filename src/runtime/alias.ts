import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Alias } from "../model/space.ts";

/** Whether a file can be opened by another path than this, and what a symbolic link here leads to. Null where nobody can say. */
export function aliasOf(path: string): Alias | null {
  try {
    const real = realpathSync(path);
    const stats = statSync(real, { bigint: true });
    if (!stats.isFile()) return null;
    if (mountPoints().has(real)) return { kind: "mounted" };
    if (stats.nlink <= 1n) return null;
    return { kind: "linked", links: Number(stats.nlink), names: namesBeside(real, stats.ino) };
  } catch {
    return null;
  }
}

/** Other names in the same folder, as far as they can be seen. */
function namesBeside(path: string, inode: bigint): readonly string[] {
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name !== basename(path));
  return names.map((name) => join(folder, name)).filter((other) => inodeOf(other) === inode);
}

function inodeOf(path: string): bigint | null {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    return null;
  }
}

/** Where something is mounted, as this process sees it; none where the system has no such list. */
function mountPoints(): ReadonlySet<string> {
  try {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return new Set(lines.map((line) => unescaped(line.split(" ")[4] ?? "")));
  } catch {
    return new Set();
  }
}

/** Blanks and the like are written as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
