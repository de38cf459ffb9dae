import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { MB } from "../src/model/units.ts";

const MEMORY = "/dev/shm";
/** What all tests that run at once fill, several times over. */
const ENOUGH = 512 * MB;

/**
 * Where tests make stores. Each commit waits for its disk, thousands of times in some tests, so that a busy disk would decide
 * how long they take: it is memory, where there is some. The tests of the binary have their stores on a disk.
 */
export const SCRATCH = hasMemory() ? MEMORY : tmpdir();

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}
