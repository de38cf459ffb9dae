import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { printError } from "../runtime/output.ts";

/** Adds a command to the program. The file of each command exports one such function. */
export type Declare = (program: Command, done: Done) => void;

/** Gets the exit code of the command that was run, or a promise of it. */
export type Done = (code: ExitCode | Promise<ExitCode>) => Promise<void>;

/** The examples at the end of a command's help, one per line. */
export function examples(...lines: readonly string[]): string {
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/** What a command's exit code says. 78 is the sysexits code for a configuration error: systemd need not restart. */
export const EXIT = { done: 0, failed: 1, usage: 2, config: 78 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Why a command cannot continue, and its exit code. */
export type Complaint = {
  readonly code: ExitCode;
  readonly message: string;
  /** A stable code for programs, from the daemon or the command line. Default: the one of the exit code. */
  readonly error?: string;
  /** More fields for programs; a `message` here replaces the one for people. */
  readonly more?: object;
};

/** The default codes. */
const ERRORS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "usage",
  [EXIT.config]: "config_invalid",
};

let asJson = false;

/** Switches complaints to JSON, for commands with --json. One process runs one command. */
export function complainAsJson(json: boolean): void {
  asJson = json;
}

/** Prints a complaint on standard error. Returns its exit code. */
export function complain(complaint: Complaint): ExitCode {
  printError(asJson ? `${toJson(complaint)}\n` : `fairlead: ${complaint.message}\n`);
  return complaint.code;
}

/** A failure of the command. */
export function failed(message: string): Complaint {
  return { code: EXIT.failed, message };
}

/** The command line is wrong. */
export function wrongUsage(message: string): Complaint {
  return { code: EXIT.usage, message };
}

/** One line of JSON, with the keys of a refusal of the operator's API. */
export function toJson({ code, message, error = ERRORS[code], more }: Complaint): string {
  return printable(JSON.stringify({ success: false, code: error, message, ...more }));
}

/** Aligns rows in columns. Numbers are left-aligned: people look for the one that is not 0. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}
