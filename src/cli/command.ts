import type { Command } from "commander";
import type { ExitCode } from "./exit.ts";

/** Adds a command to the program. The file of each command exports one such function. */
export type Declare = (program: Command, done: Done) => void;

/** Takes the exit code of the command that was run, or the promise of it. */
export type Done = (code: ExitCode | Promise<ExitCode>) => Promise<void>;

/** The examples at the end of a command's help, one per line. */
export function examples(...lines: readonly string[]): string {
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
