import { closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, writeSync } from "node:fs";
import { appendFile, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import type { BeginFile, BeginScratch, NewFile } from "../model/disk.ts";
import { formatSize, KB } from "../model/units.ts";
import { reasonOf } from "./file-error.ts";

/** Only its owner may read such a file: it may hold personal data. */
const PRIVATE = 0o600;

/** Creates a file that only one process writes at a time. Removes what a killed process left. */
export const beginFile: BeginFile = (target) => beginFileAs(`${target}.part`, target);

/** The same for a target that several processes may write at once: each uses its own temporary name. */
export function beginOwnFile(target: string, pid: number): NewFile {
  return beginFileAs(`${target}.part-${pid}`, target);
}

function beginFileAs(path: string, target: string): NewFile {
  function explained<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw writeError(error, target, dirname(target));
    }
  }

  const file = explained(() => openNew(path));
  let isOpen = true;
  function close(): void {
    closeSync(file);
    isOpen = false;
  }

  return {
    path,
    write: (bytes) =>
      explained(() => {
        for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      }),
    flush: () => explained(() => fdatasyncSync(file)),
    keep: () =>
      explained(() => {
        fsyncSync(file);
        close();
        renameSync(path, target);
        syncFolderOf(target);
      }),
    drop() {
      if (!isOpen) return;
      close();
      rmSync(path, { force: true });
    },
  };
}

/** Created exclusively, so that no link is followed: another user of the folder could point it at any file of root's. */
function openNew(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, "wx+", PRIVATE);
}

function writeError(cause: unknown, path: string, guarded: string): Error {
  return new Error(`cannot write ${path}: ${reasonOf(cause, guarded)}`, { cause });
}

/** Waits until the folder's entries are on the disk: a power cut could remove a new name. */
export function syncFolderOf(path: string): void {
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Appends text to a file, which is created if needed. Rejects with a reason. */
export async function appendToFile(path: string, text: string): Promise<void> {
  try {
    await appendFile(path, text, { mode: PRIVATE });
  } catch (error) {
    throw writeError(error, path, path);
  }
}

/** Removes a file, if it is there. Rejects with a reason. */
export async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw writeError(error, path, path);
  }
}

const PIECE_BYTES = 256 * KB;

export const beginScratch: BeginScratch = (near, bytes) => {
  const path = createWithRoom([dirname(near), tmpdir()], bytes);
  function drop(): void {
    for (const end of ["", "-journal"]) rmSync(path + end, { force: true });
  }
  return {
    path,
    async handOver() {
      const file = await open(path, "r");
      const { size } = await file.stat();
      drop();
      const stream = file.createReadStream({ highWaterMark: PIECE_BYTES });
      return { size, bytes: Readable.toWeb(stream) as ReadableStream<Uint8Array> };
    },
    drop,
  };
};

/** Creates an empty file in the first folder that has room for so many bytes. */
function createWithRoom(folders: readonly string[], bytes: number): string {
  const reasons: string[] = [];
  for (const folder of folders) {
    const path = join(folder, `.fairlead-copy-${process.pid}`);
    try {
      const { bavail, bsize } = statfsSync(folder);
      if (bavail * bsize < bytes) throw new Error(`${formatSize(bavail * bsize)} are free`);
      closeSync(openNew(path));
      return path;
    } catch (error) {
      reasons.push(`${folder}: ${reasonOf(error, folder)}`);
    }
  }
  throw new Error(`there is no room for a copy of ${formatSize(bytes)} (${reasons.join("; ")})`);
}
