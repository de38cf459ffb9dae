import { existsSync, type StatsFs, statfsSync, statSync } from "node:fs";
import { readFile, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Disk, Space, SpaceFor } from "../model/space.ts";
import { aliasOf } from "./alias.ts";

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
