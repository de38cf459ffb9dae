import { existsSync, readdirSync, readFileSync, realpathSync, type StatsFs, statfsSync, statSync } from "node:fs";
import { readFile, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Alias, Disk, Space, SpaceFor } from "../model/disk.ts";
import { errorCode } from "./file-error.ts";

/** The machine's disks. Slow operations do not block the event loop: a file server may have stopped responding. */
export const disk: Disk = {
  space: async (path) => toSpace(await statfs(path)),
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
      if (NOTHING_THERE.has(errorCode(error) ?? "")) return null;
      throw error;
    }
  },
  alias: aliasOf,
};

/** The file, a folder above it, or the target of a symbolic link is gone. */
const NOTHING_THERE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ESTALE"]);

/** Blocks the event loop. An outbox that does not exist yet will be on the disk of the folder above. */
export const spaceFor: SpaceFor = (outbox) => {
  try {
    const sizes = ["", "-wal", "-shm"].map((end) => statSync(outbox + end, { throwIfNoEntry: false })?.size ?? 0);
    const used = sizes.reduce((sum, size) => sum + size, 0);
    return { ...toSpace(statfsSync(nearest(outbox))), used };
  } catch {
    return null;
  }
};

function toSpace({ bavail, blocks, bsize }: StatsFs): Space {
  return { free: bavail * bsize, total: blocks * bsize };
}

function zeroIfMissing(error: unknown): number {
  if (errorCode(error) === "ENOENT") return 0;
  throw error;
}

/** The path itself, or the first above it that exists. */
function nearest(path: string): string {
  const above = dirname(path);
  return existsSync(path) || above === path ? path : nearest(above);
}

/** Whether a file has another path besides this one and the target of a symbolic link here. Null if not, or if unknown. */
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

/** Other names of the file in the same folder. */
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

/** The mount points that this process sees; none where the system has no such list. */
function mountPoints(): ReadonlySet<string> {
  try {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return new Set(lines.map((line) => unescapeOctal(line.split(" ")[4] ?? "")));
  } catch {
    return new Set();
  }
}

/** Spaces and similar characters are written as `\040`. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
