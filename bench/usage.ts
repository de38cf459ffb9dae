/** What processes have used, as Linux counts it. */
import { readFileSync } from "node:fs";

/** Linux tells times in /proc in hundredths of a second, on every machine that Bun runs on. */
const TICKS = 100;
const NANOSECONDS = 1_000_000_000;

/** Seconds of processor time of the whole process, in user and system mode. */
export function cpuSeconds(pid: number): number {
  // The name before the numbers may hold spaces, and stands in parentheses.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return (user + system) / TICKS;
}

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

/** The most memory that the process has had in RAM, in bytes. */
export function peakMemory(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1_024;
}
