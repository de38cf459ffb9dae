import { readFileSync } from "node:fs";
import process from "node:process";
import type { Cancel, Clock } from "../model/ports.ts";
import type { Boot } from "../model/timeline.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { openLibc } from "./libc.ts";
import { BUILT_AT } from "./version.ts";

/** The longest wait that setTimeout takes; beyond it a timer fires at once. */
const LONGEST_TIMER: Ms = 2 ** 31 - 1;

/** The machine's time. `now()` is a whole number of milliseconds and never steps, whatever is done to its clock. */
export function createClock(): Clock {
  let origin: At = Date.now() - uptime();
  function now(): At {
    return origin + uptime();
  }
  return {
    now,
    wall: () => Date.now(),
    after,
    sleep,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    continueFrom(at) {
      origin = Math.ceil(at) - uptime();
    },
    boot: readBoot,
    builtAt: BUILT_AT,
  };
}

/** Only on Linux, which gives each start of the machine an id, and whose uptime includes the time that it sleeps. */
function readBoot(): Boot | null {
  try {
    const id = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").replaceAll("-", "").slice(0, ID_DIGITS);
    const [uptime = ""] = readFileSync("/proc/uptime", "utf8").split(" ");
    const boot = { id: Number.parseInt(id, 16), uptime: Math.round(Number(uptime) * SECOND) };
    return Number.isSafeInteger(boot.id) && Number.isSafeInteger(boot.uptime) ? boot : null;
  } catch {
    return null;
  }
}

/** 48 bits, which a number holds exactly. */
const ID_DIGITS = 12;

/** Whole milliseconds on a clock that never steps, so that sums with it stay exact. */
function uptime(): Ms {
  return Math.floor(performance.now());
}

function after(ms: Ms, run: () => void): Cancel {
  let timer: ReturnType<typeof setTimeout>;
  function wait(left: Ms): void {
    // Rounded up: a timer that fires early would find that a row is not due yet.
    if (left <= LONGEST_TIMER) timer = setTimeout(run, Math.ceil(left));
    else timer = setTimeout(wait, LONGEST_TIMER, left - LONGEST_TIMER);
  }
  wait(ms);
  return () => clearTimeout(timer);
}

function sleep(ms: Ms, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    function wake(): void {
      cancel();
      // A signal that lives as long as the daemon would collect a listener from every sleep.
      signal.removeEventListener("abort", wake);
      resolve();
    }
    const cancel = after(ms, wake);
    signal.addEventListener("abort", wake);
  });
}

/** Whether a time service keeps the machine's clock right, as every one tells the kernel. Null if unknown. */
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
