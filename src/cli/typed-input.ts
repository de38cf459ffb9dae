import { type Input, isInputTerminal, readInput } from "../runtime/input.ts";
import { printError } from "../runtime/output.ts";

export type Wanted = {
  /** What is read, as `the call`. */
  readonly what: string;
  /** In bytes. */
  readonly most: number;
};

/** Reads a file, or with `path` null standard input. A person at a terminal is told that the program waits for them. */
export function readTyped(path: string | null, { what, most }: Wanted): Promise<Input> {
  if (path === null && isInputTerminal()) printError(`type ${what}, then a new line and Ctrl-D\n`);
  return readInput(path, most);
}
