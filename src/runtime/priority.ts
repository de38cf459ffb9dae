import { setPriority } from "node:os";

/** The lowest that there is. */
const LAST = 19;

/** Others go first from now on: on a machine with one core, what an operator starts is not to hold the daemon up. */
export function goLast(): void {
  try {
    setPriority(LAST);
  } catch {
    // A system that does not have it does without.
  }
}
