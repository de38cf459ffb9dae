import process from "node:process";
import { isatty } from "node:tty";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether to colour what goes to this file: standard output or standard error. Nothing else decides that. */
export function hasColors(file: number): boolean {
  return wantsColors(process.env, isatty(file));
}

/** `NO_COLOR` wins over `FORCE_COLOR`: a person sets the one, and often a machine the other. Empty counts as unset. */
export function wantsColors({ NO_COLOR, FORCE_COLOR, TERM }: Environment, isTerminal: boolean): boolean {
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  return isTerminal && TERM !== "dumb";
}
