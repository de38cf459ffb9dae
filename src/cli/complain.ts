import { printError } from "../runtime/terminal.ts";
import type { ExitCode } from "./exit.ts";

/** Why a command cannot go on, and with which exit code it ends. */
export type Complaint = { readonly code: ExitCode; readonly message: string };

/** Tells a complaint on standard error, and answers its exit code. */
export function complain({ code, message }: Complaint): ExitCode {
  printError(`fairlead: ${message}\n`);
  return code;
}
