/** What processes have used, as Linux counts it. */
import { dlopen, ptr } from "bun:ffi";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

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

type ThreadTime = {
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

/** The server's processes write their calls here, if they are traced. */
const TRACE = "fsyncs";
/** It stops a process at these calls only. */
const STRACE = "strace -D -f -qq --seccomp-bpf -e trace=fsync,fdatasync -A -o".split(" ");

type Traced = { readonly data: string; readonly traced: boolean };

/**
 * Counts fsyncs: the server's own calls if it is traced, else how often the disk that the folder is on had to write what
 * it holds in its cache, which is what an fsync makes it do. Linux counts that for each disk and for no process, so what
 * other programs flush counts as well. NaN if neither can be counted.
 */
export function createFlushCounter({ data, traced }: Traced, folder: string): () => number {
  if (traced) return () => readFileSync(join(data, TRACE), "utf8").match(/\bf(data)?sync\(/g)?.length ?? 0;
  const counters = countersOf(folder);
  if (counters === null) return () => Number.NaN;
  return () => Number(readFileSync(counters, "utf8").trim().split(/ +/)[FLUSHES] ?? Number.NaN);
}

/** Puts strace before a command. It is a child of the command's process, which so keeps its id. */
export function traced(command: readonly string[], data: string): string[] {
  return [...STRACE, join(data, TRACE), ...command];
}

/** Whether the disk's flushes can be counted. */
export function hasFlushCounter(folder: string): boolean {
  return !Number.isNaN(createFlushCounter({ data: "", traced: false }, folder)());
}

/** Of the fields of a disk's counters, the number of flushes. */
const FLUSHES = 15;

/** The file with the counters of the disk; null if the folder is on none. Those of a partition do not say flushes. */
function countersOf(folder: string): string | null {
  const { dev } = statSync(folder);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const device = `/sys/dev/block/${major}:${minor}`;
  if (!existsSync(device)) return null;
  const real = realpathSync(device);
  return join(existsSync(join(real, "partition")) ? dirname(real) : real, "stat");
}
