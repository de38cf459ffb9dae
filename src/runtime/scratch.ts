import { closeSync, openSync, rmSync, statfsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { BeginScratch } from "../model/new-file.ts";
import { formatSize, KB } from "../model/units.ts";
import { reasonOf } from "./files.ts";

/** Only its owner may read it: it may hold personal data. */
const MODE = 0o600;
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
      closeSync(openSync(path, "wx", MODE));
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
