import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export type RunOptions = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> };

/** Runs a program to its end, and answers what it has printed. Throws with what it has complained of. */
export function run(program: string, args: readonly string[], { cwd = ROOT, env = {} }: RunOptions = {}): string {
  const options = { cwd, env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 1 << 28 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  if (error) throw new Error(`cannot run ${program}: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} has ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
