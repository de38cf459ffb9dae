import type NodeFs from "node:fs";
import type NodeOs from "node:os";
import process from "node:process";
import { InvalidOptionError } from "../errors.ts";

/** The files and processes of this machine, as the spool sees them. Tests bring a disk of their own. */
export type Machine = {
  readonly fs: Files;
  readonly pid: number;
  /** Empty if it is not known. */
  readonly host: string;
  /** When this process began. Another one may get its number later. */
  readonly startedAt: number;
  isAlive(pid: number): boolean;
};

export type Files = Pick<
  typeof NodeFs,
  | "appendFileSync"
  | "closeSync"
  | "existsSync"
  | "fsync"
  | "fsyncSync"
  | "ftruncateSync"
  | "mkdirSync"
  | "openSync"
  | "readdirSync"
  | "readFileSync"
  | "realpathSync"
  | "renameSync"
  | "rmSync"
  | "statSync"
  | "utimesSync"
  | "writeFileSync"
  | "writeSync"
>;

/** Modules are asked for by name, and not imported: bundlers for browsers and workers stumble over imports of files. */
export function thisMachine(): Machine {
  const fs = builtin<typeof NodeFs>("node:fs");
  if (!fs) throw new InvalidOptionError("spool needs files: Node 20.16 or 22.3, Bun 1.2, Deno 2.1, or later");
  const startedAt = Date.now() - process.uptime() * 1_000;
  return { fs, pid: process.pid, host: readHost(), startedAt, isAlive };
}

function builtin<Module>(name: string): Module | undefined {
  return (process.getBuiltinModule as undefined | ((name: string) => Module | undefined))?.(name);
}

/** Deno may not allow it. */
function readHost(): string {
  try {
    return builtin<typeof NodeOs>("node:os")?.hostname() ?? "";
  } catch {
    return "";
  }
}

/** A process that may not be asked counts as alive. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: unknown }).code !== "ESRCH";
  }
}
