import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Line, measure } from "./rows.ts";
import type { Bench } from "./run.ts";

const FOLDER = "dist/profile";

/** Runs Fairlead from its sources under Bun's sampling profiler, once for each kind of run that the lines need. */
export async function profile(lines: readonly Line[], bench: Bench): Promise<void> {
  for (const run of new Set(lines.map(({ run }) => run))) {
    const { fairlead, folder } = profiled(run);
    await measure(run, "fairlead", { ...bench, fairlead, endBy: "SIGTERM" });
    console.log(`${run}: ${folder}`);
  }
}

/** The command that runs Fairlead so, and the folder that its profile goes to when it is ended by SIGTERM. */
export function profiled(name: string): { readonly fairlead: readonly string[]; readonly folder: string } {
  const folder = resolve(FOLDER, name.replaceAll(" ", "-"));
  mkdirSync(folder, { recursive: true });
  const profiler = ["--cpu-prof", "--cpu-prof-md", `--cpu-prof-dir=${folder}`];
  return { fairlead: [process.execPath, ...profiler, join(import.meta.dir, "../src/main.ts")], folder };
}
