import { printError } from "../runtime/output.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** Why a command cannot go on, and with which exit code it ends. */
export type Complaint = {
  readonly code: ExitCode;
  readonly message: string;
  /** For programs, and stable: a code of the daemon, or one of ours. Left out, that of the exit code. */
  readonly error?: string;
  /** More for programs; its `message` stands in place of the one for people. */
  readonly more?: object;
};

/** What an exit code is called where nothing says it better. */
const ERRORS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "usage",
  [EXIT.config]: "config_invalid",
};

let asJson = false;

/** Has complaints told as JSON from now on, for a command with --json. One process runs one command. */
export function complainAsJson(json: boolean): void {
  asJson = json;
}

/** Tells a complaint on standard error, and answers its exit code. */
export function complain(complaint: Complaint): ExitCode {
  printError(asJson ? `${toJson(complaint)}\n` : `fairlead: ${complaint.message}\n`);
  return complaint.code;
}

/** In one line, with the keys of a refusal of the operator's API. */
export function toJson({ code, message, error = ERRORS[code], more }: Complaint): string {
  return printable(JSON.stringify({ success: false, code: error, message, ...more }));
}
