import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { FileState } from "../model/reload.ts";

/** Looks at a file as `lookNow` does, without holding anybody up: a file server may have gone away. Never rejects. */
export async function look(path: string): Promise<FileState> {
  try {
    return stateOf(await stat(path, { bigint: true }));
  } catch (error) {
    return stateWithout(error);
  }
}

/** Looks at a file before it is read: a change that comes between the two is then seen as one later. */
export function lookNow(path: string): FileState {
  try {
    return stateOf(statSync(path, { bigint: true }));
  } catch (error) {
    return stateWithout(error);
  }
}

/**
 * The device is left out: overlay file systems give one file several. The mode is there for a file that could not be read,
 * and was mended: Deno has no `ctime` that would tell.
 */
function stateOf({ ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): FileState {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
}

function stateWithout(error: unknown): FileState {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
