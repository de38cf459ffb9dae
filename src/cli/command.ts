import type { Command } from "commander";
import type { ExitCode } from "./exit.ts";

/** Adds a command to the program: each command's own file exports one such function. */
export type Declare = (program: Command, done: Done) => void;

/** Takes the exit code of the command that was run, or the promise of it. */
export type Done = (code: ExitCode | Promise<ExitCode>) => Promise<void>;

/** The examples at the end of a command's help, each a line. They are tried before they are written here. */
export function examples(...lines: readonly string[]): string {
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
