import { isInputTerminal, readLine } from "../runtime/input.ts";
import { printError } from "../runtime/output.ts";
import type { Complaint } from "./command.ts";
import { EXIT } from "./command.ts";

/** What is about to happen, such as `7 deliveries are waiting for old`, and the question, such as `Discard them?`. */
export type Plan = { readonly about: string; readonly question: string };

/** Asks for confirmation. Answers why not to continue, or null. */
export async function confirm({ about, question }: Plan): Promise<Complaint | null> {
  if (!isInputTerminal())
    return { code: EXIT.usage, message: `${about}. ${question} Add --yes to confirm`, error: "not_confirmed" };
  printError(`${about}. ${question} [y/N] `);
  const answer = await readLine();
  if (answer === null) printError("\n");
  return isYes(answer ?? "") ? null : { code: EXIT.failed, message: "nothing was done", error: "not_confirmed" };
}

export function isYes(answer: string): boolean {
  return /^\s*y(es)?\s*$/i.test(answer);
}
