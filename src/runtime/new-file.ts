import { closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { BeginFile, BeginScratch, NewFile } from "../model/new-file.ts";
import { formatSize, KB } from "../model/units.ts";
import { reasonOf } from "./file-error.ts";

/** Only its owner may read it: it holds personal data. */
const PRIVATE = 0o600;

/** Begins a file that only one process writes at a time: what a killed one has left is removed. */
export const beginFile: BeginFile = (target) => beginFileAs(`${target}.part`, target);

/** The same for a target that several may write to at once: each under a name of its own, until one is done. */
export function beginOwnFile(target: string, pid: number): NewFile {
  return beginFileAs(`${target}.part-${pid}`, target);
}

function beginFileAs(path: string, target: string): NewFile {
  const file = inWords(target, () => {
    rmSync(path, { force: true });
    // Exclusively, so that no link is followed: whoever else may write in this folder could have it lead to any file of root's.
    return openSync(path, "wx+", PRIVATE);
  });
  let state: "open" | "closed" = "open";

  return {
    path,
    write: (bytes) =>
      inWords(target, () => {
        for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      }),
    flush: () => inWords(target, () => fdatasyncSync(file)),
    keep: () =>
      inWords(target, () => {
        fsyncSync(file);
        close();
        renameSync(path, target);
        syncFolderOf(target);
      }),
    drop() {
      if (state === "closed") return;
      close();
      rmSync(path, { force: true });
    },
  };

  function close(): void {
    closeSync(file);
    state = "closed";
  }
}

/** Waits until the names in the folder of this file are on the disk: a new one could be gone after a power cut. */
export function syncFolderOf(path: string): void {
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function inWords<T>(target: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new Error(`cannot write ${target}: ${reasonOf(error, dirname(target))}`, { cause: error });
  }
}

/** Only its owner may read what a command keeps beside a file: that may hold personal data. */
const PRIVATE_BESIDE = 0o600;

/** Writes a file anew, whole or not at all: whoever reads it finds the old text or the new one. Rejects in words. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}.new`;
  await explainWrite(path, async () => {
    await writeFile(beside, text, { mode: PRIVATE_BESIDE });
    await rename(beside, path);
  });
}

/** Writes text at this place of a file, which ends after it; the file is made if there is none. Answers its length. */
export async function writeFileAt(path: string, at: number, text: string): Promise<number> {
  return explainWrite(path, async () => {
    const file = await open(path, at === 0 ? "w" : "r+", PRIVATE_BESIDE);
    try {
      const bytes = Buffer.from(text);
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      }
      await file.truncate(at + bytes.length);
      return at + bytes.length;
    } finally {
      await file.close();
    }
  });
}

/** Removes a file; none is fine. Rejects in words. */
export async function removeFile(path: string): Promise<void> {
  await explainWrite(path, () => rm(path, { force: true }));
}

async function explainWrite<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw new Error(`cannot write ${path}: ${reasonOf(error, path)}`, { cause: error });
  }
}

/** Only its owner may read it: it may hold personal data. */
const SCRATCH_MODE = 0o600;
const PIECE = 256 * KB;

export const beginScratch: BeginScratch = (near, bytes) => {
  const path = firstThatTakes([dirname(near), tmpdir()], bytes);
  return {
    path,
    async handOver() {
      const file = await open(path, "r");
      const { size } = await file.stat();
      drop();
      return { size, bytes: bytesOf(file) };
    },
    drop,
  };

  function drop(): void {
    for (const end of ["", "-journal"]) rmSync(path + end, { force: true });
  }
};

function firstThatTakes(folders: readonly string[], bytes: number): string {
  const reasons: string[] = [];
  for (const folder of folders) {
    const path = join(folder, `.fairlead-copy-${process.pid}`);
    try {
      const { bavail, bsize } = statfsSync(folder);
      if (bavail * bsize < bytes) throw new Error(`${formatSize(bavail * bsize)} are free`);
      rmSync(path, { force: true });
      // Exclusively, so that no link is followed.
      closeSync(openSync(path, "wx", SCRATCH_MODE));
      return path;
    } catch (error) {
      reasons.push(`${folder}: ${reasonOf(error, folder)}`);
    }
  }
  throw new Error(`there is no place for a copy of ${formatSize(bytes)} (${reasons.join("; ")})`);
}

function bytesOf(file: FileHandle): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(PIECE), 0, PIECE, null);
      if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
      await file.close();
      controller.close();
    },
    cancel: () => file.close(),
  });
}
