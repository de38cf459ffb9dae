import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { resolve } from "node:path";

/** What the numbers depend on. */
export type Machine = {
  readonly cores: number;
  readonly cpu: string;
  readonly bun: string;
  readonly fileSystem: string;
};

/** What was measured, when, on what, and how long that took until now, as facts and as a line of text. `folder`: where the stores are. */
export function describe({ fairlead, folder }: { readonly fairlead: string; readonly folder: string }) {
  const machine = describeMachine(folder);
  const version = Bun.spawnSync([resolve(fairlead), "version"])
    .stdout.toString()
    .trim();
  const at = new Date().toISOString();
  const { cores, cpu, bun, fileSystem } = machine;
  const seconds = Math.round(process.uptime());
  const on = `${cores} cores (${cpu}), Bun ${bun}, stores on ${fileSystem} in ${folder}`;
  return { facts: { at, seconds, version, machine }, text: `${at}: ${version}, ${on}; it took ${told(seconds)}` };
}

function told(seconds: number): string {
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

/** `folder`: where the data of the servers is. */
export function describeMachine(folder: string): Machine {
  const cores = cpus();
  const cpu = cores[0]?.model.trim() ?? "unknown";
  return { cores: cores.length, cpu, bun: Bun.version, fileSystem: fileSystemOf(folder) };
}

/** The type of the mount that the folder is in: of those that hold it, the one with the longest path. */
function fileSystemOf(folder: string): string {
  const path = `${resolve(folder)}/`;
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, place = "?"]) => path.startsWith(place.endsWith("/") ? place : `${place}/`))
    .toSorted(([, a = ""], [, b = ""]) => b.length - a.length);
  return mounts[0]?.[2] ?? "unknown";
}
