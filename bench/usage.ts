/** What processes have used, as Linux counts it. */
import { dlopen, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";

/** Linux tells times in /proc in hundredths of a second, on every machine that Bun runs on. */
const TICKS = 100;
const NANOSECONDS = 1_000_000_000;

let libc: ReturnType<typeof openLibc> | null = null;

/** Seconds of processor time of the whole process, in user and system mode, to the nanosecond. */
export function cpuSeconds(pid: number): number {
  const time = new BigInt64Array(2);
  // Linux has such a clock for each process, and also counts threads that have ended. /proc tells it only in ticks.
  libc ??= openLibc();
  if (libc.clock_gettime((~pid << 3) | CPU_TIME, ptr(time)) !== 0) throw new Error(`there is no process ${pid}`);
  return Number(time[0]) + Number(time[1]) / NANOSECONDS;
}

function openLibc() {
  return dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } }).symbols;
}

/** Of the clocks of a process, the one that runs while any of its threads does. */
const CPU_TIME = 2;

/** Seconds of processor time that the whole machine has used, on all cores together. */
export function machineSeconds(): number {
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = total.split(/ +/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS;
}

export type ThreadTime = {
  /** Seconds that the thread ran. */
  readonly busy: number;
  /** Seconds that it could have run, and no core was free. */
  readonly queued: number;
};

/** Of the thread that runs JavaScript. */
export function mainThreadTime(pid: number): ThreadTime {
  const [busy = 0, queued = 0] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ").map(Number);
  return { busy: busy / NANOSECONDS, queued: queued / NANOSECONDS };
}

/** The most memory that the processes of a server have had in RAM, each by itself, in bytes. */
export function peakMemoryOf({ pids }: Processes): number {
  return sum(pids, (pid) => memory(pid, "VmHWM"));
}

/** The memory that they have in RAM now, in bytes. */
export function memoryOf({ pids }: Processes): number {
  return sum(pids, (pid) => memory(pid, "VmRSS"));
}

/** Bytes that they have had written to the disk, in whole pages, as Linux counts them when a page becomes dirty. */
export function bytesWrittenBy({ pids }: Processes): number {
  return sum(pids, (pid) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]));
}

/** Seconds of processor time of all of them. */
export function cpuSecondsOf({ pids }: Processes): number {
  return sum(pids, cpuSeconds);
}

type Processes = { readonly pids: readonly number[] };

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0);
}

function memory(pid: number, field: "VmHWM" | "VmRSS"): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1_024;
}
