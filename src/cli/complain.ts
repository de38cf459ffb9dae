import { printError } from "../runtime/output.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** Why a command cannot continue, and its exit code. */
export type Complaint = {
  readonly code: ExitCode;
  readonly message: string;
  /** A stable code for programs, of the daemon or of the command line. Default: the one of the exit code. */
  readonly error?: string;
  /** More fields for programs; a `message` here replaces the one for people. */
  readonly more?: object;
};

/** The codes of complaints without one of their own. */
const ERRORS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "usage",
  [EXIT.config]: "config_invalid",
};

let asJson = false;

/** Prints complaints as JSON from now on, for a command with --json. One process runs one command. */
export function complainAsJson(json: boolean): void {
  asJson = json;
}

/** Prints a complaint on standard error. Returns its exit code. */
export function complain(complaint: Complaint): ExitCode {
  printError(asJson ? `${toJson(complaint)}\n` : `fairlead: ${complaint.message}\n`);
  return complaint.code;
}

/** The command could not do what it should. */
export function failed(message: string): Complaint {
  return { code: EXIT.failed, message };
}

/** The command line is wrong. */
export function wrongUsage(message: string): Complaint {
  return { code: EXIT.usage, message };
}

/** One line, with the keys of a refusal of the operator's API. */
export function toJson({ code, message, error = ERRORS[code], more }: Complaint): string {
  return printable(JSON.stringify({ success: false, code: error, message, ...more }));
}
