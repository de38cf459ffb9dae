import process from "node:process";
import { openLibc } from "./libc.ts";

/**
 * Whether something keeps the machine's clock right, as the kernel knows it: every time service tells it. Null where nobody
 * can say.
 */
export function isClockSynchronized(): boolean | null {
  if (process.platform !== "linux" || !MACHINES.includes(process.arch)) return null;
  const libc = openLibc<Libc>({ adjtimex: ["memory"] });
  if (!libc) return null;
  // `modes` is 0: nothing is set.
  const timex = new Uint8Array(SIZE);
  if (libc.adjtimex(timex) < 0) return null;
  const status = new DataView(timex.buffer).getInt32(STATUS, true);
  return (status & UNSYNCHRONIZED) === 0;
}

type Libc = { adjtimex(timex: Uint8Array): number };

// From Linux's <sys/timex.h>, on machines of 64 bits that have the lowest byte first.
const MACHINES: readonly string[] = ["x64", "arm64"];
const SIZE = 208;
const STATUS = 40;
const UNSYNCHRONIZED = 0x0040;
