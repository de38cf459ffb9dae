import { readFileSync } from "node:fs";

/** The memory that a process has in use, in bytes. */
export function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status does not say how much memory is in use`);
  return Number(kilobytes) * 1_024;
}
