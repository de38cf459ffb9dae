import { spawnSync } from "node:child_process";
import process from "node:process";
import { findBinary } from "./binary.ts";
import type { World } from "./world.ts";

export type Fed = { readonly code: number | null; readonly out: string; readonly err: string };

export type Feeding = {
  /** What it reads from standard input; nothing when left out. */
  readonly input?: string | Uint8Array;
  readonly env?: NodeJS.ProcessEnv;
};

/** Runs the binary to its end in the world's folder, as a pipe in a shell does. */
export function feed(w: World, args: readonly string[], { input = "", env = {} }: Feeding = {}): Fed {
  const all = { PATH: process.env.PATH, TMPDIR: w.folder, ...env };
  const { status, stdout, stderr } = spawnSync(findBinary(), args, { cwd: w.folder, env: all, input });
  return { code: status, out: stdout.toString(), err: stderr.toString() };
}
