import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string };
export type Running = { readonly child: ChildProcess; readonly ended: Promise<Ended> };

/** For tests that start a process: it takes its time when the machine is busy. */
export const SLOW = { timeout: 60_000 };

/**
 * Runs a command from its sources, by the same runtime, in a process of its own: it writes to its standard output directly.
 * Nobody can type anything.
 */
export function beginCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  const before = typeof Bun === "undefined" ? ["run", "-A", "--no-check", main] : [main];
  const child = spawn(process.execPath, [...before, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  return { child, ended };
}

/** The same for an operator's command, which is told where the daemon is. */
export function askAdmin(args: readonly string[], admin: string, more: Readonly<Record<string, string>> = {}): Running {
  return beginCommand(args, { FAIRLEAD_ADMIN: admin, FAIRLEAD_ADMIN_TOKEN: "", ...more });
}
