import { existsSync, readdirSync, readFileSync, realpathSync, type StatsFs, statfsSync, statSync } from "node:fs";
import { readFile, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Alias, Disk, Space, SpaceFor } from "../model/space.ts";

/** What the machine says about its disks. It is asked beside the event loop: a file server may have gone away. */
export const disk: Disk = {
  space: async (path) => spaceOf(await statfs(path)),
  async size(path) {
    try {
      return (await stat(path)).size;
    } catch (error) {
      return zeroIfMissing(error);
    }
  },
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      return new Uint8Array(zeroIfMissing(error));
    }
  },
  mark(path) {
    try {
      const { dev, ino, size } = statSync(path, { bigint: true });
      return { identity: `${dev} ${ino}`, size: Number(size) };
    } catch (error) {
      if (error instanceof Error && "code" in error && NOTHING_THERE.has(String(error.code))) return null;
      throw error;
    }
  },
  alias: aliasOf,
};

/** The file, a folder above it, or what a symbolic link leads to is gone. */
const NOTHING_THERE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ESTALE"]);

/** The same at once, while nobody else waits. An outbox that is not there yet will be on the disk of the folder above. */
export const spaceFor: SpaceFor = (outbox) => {
  try {
    const used = [outbox, `${outbox}-wal`, `${outbox}-shm`].reduce((sum, path) => sum + sizeNow(path), 0);
    return { ...spaceOf(statfsSync(nearest(outbox))), used };
  } catch {
    return null;
  }
};

function spaceOf({ bavail, blocks, bsize }: StatsFs): Space {
  return { free: bavail * bsize, total: blocks * bsize };
}

function sizeNow(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    return zeroIfMissing(error);
  }
}

function zeroIfMissing(error: unknown): number {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return 0;
  throw error;
}

/** The path itself, or the first above it that is there. */
function nearest(path: string): string {
  const above = dirname(path);
  return existsSync(path) || above === path ? path : nearest(above);
}

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
