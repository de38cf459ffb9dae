import { closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { BeginFile, NewFile } from "../model/new-file.ts";
import { reasonOf } from "./files.ts";

/** Only its owner may read it: it holds personal data. */
const MODE = 0o600;

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
    return openSync(path, "wx+", MODE);
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
