/**
 * How often a disk had to write what it holds in its cache, which is what an fsync makes it do. Linux counts that for
 * each disk, and for no process: so what other programs flush counts as well. strace counts the server's own calls.
 */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** The server's processes write their calls here, if they are traced. */
export const TRACE = "fsyncs";

type Traced = { readonly data: string; readonly traced: boolean };

/** Of the server if it is traced, else of the disk that the folder is on; NaN if neither can be counted. */
export function createFlushCounter({ data, traced }: Traced, folder: string): () => number {
  if (traced) return () => readFileSync(join(data, TRACE), "utf8").match(/\bf(data)?sync\(/g)?.length ?? 0;
  const counters = countersOf(folder);
  if (counters === null) return () => Number.NaN;
  return () => Number(readFileSync(counters, "utf8").trim().split(/ +/)[FLUSHES] ?? Number.NaN);
}

/** Puts strace before a command. It is a child of the command's process, which so keeps its id. */
export function traced(command: readonly string[], data: string): string[] {
  return [
    "strace",
    "-D",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-e",
    "trace=fsync,fdatasync",
    "-A",
    "-o",
    join(data, TRACE),
    ...command,
  ];
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
