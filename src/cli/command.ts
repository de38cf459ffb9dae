import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { printError } from "../runtime/output.ts";
import { columnsToFit, paint, widthOf } from "./paint.ts";

/** Adds a command to the program. The file of each command exports one such function. */
export type Declare = (program: Command, done: Done) => void;

/** Gets the exit code of the command that was run, or a promise of it. */
export type Done = (code: ExitCode | Promise<ExitCode>) => Promise<void>;

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

/** Prints a complaint on standard error. Returns its exit code. A server may have worded a part of it. */
export function complain(complaint: Complaint): ExitCode {
  const message = complaint.message.split("\n").map(printable).join("\n");
  printError(asJson ? `${toJson(complaint)}\n` : `${paint.bad("fairlead:", "err")} ${message}\n`);
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

/**
 * Aligns rows in columns, below a head if there is one. Numbers are left-aligned: people look for the one that is not 0. On a
 * terminal, a long text in the last column is cut.
 */
export function table(head: readonly string[] | null, rows: readonly (readonly string[])[]): string {
  const all = head === null ? rows : [head.map((cell) => paint.faint(cell)), ...rows];
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ""))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const room = Math.max(LEAST_OF_LAST, (columnsToFit() ?? Infinity) - before);
  return all
    .map((row) => row.with(-1, cut(row.at(-1) ?? "", room)))
    .map((row) =>
      row.map((cell, column) => `${cell}${" ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)))}`).join("  "),
    )
    .map((line) => line.trimEnd())
    .join("\n");
}

/** In columns. On a narrower terminal the line breaks. */
const LEAST_OF_LAST = 12;

/** Painted texts are short. */
function cut(text: string, most: number): string {
  return text.length > most && widthOf(text) === text.length ? `${text.slice(0, most - 1)}…` : text;
}
