// A reader who follows a page of the manual, terminal by terminal.
import assert from "node:assert/strict";
import type { Process } from "../binary/process.ts";
import type { Terminal } from "./commands.ts";

/** Runs a script in a shell of its own, as it would run in a new terminal. */
export type OpenTerminal = (script: string) => Process;

const FOLDER = "this terminal is in ";
/** What a daemon and a receiver print when they listen. */
const LISTENS = /^(ingest|listening at) /;

/**
 * Types all commands. Each terminal opens in the folder where the one before it was, without its variables. Resolves when every
 * command that should end has ended well, and every other one listens.
 */
export async function follow(terminals: readonly Terminal[], open: OpenTerminal): Promise<readonly Process[]> {
  const opened: Process[] = [];
  let folder = ".";
  for (const { first, staying } of terminals) {
    const terminal = open(`cd "${folder}"\nset -e\n${first}\necho "${FOLDER}$PWD"\n${staying}`);
    opened.push(terminal);
    const isDone = staying === "" ? (await terminal.exit).code === 0 : await terminal.line(LISTENS).catch(() => false);
    assert.ok(isDone, `this does not work:\n${first}${staying}\n${opened.map(outputOf).join("\n---\n")}`);
    folder = terminal.out.findLast((line) => line.startsWith(FOLDER))?.slice(FOLDER.length) ?? folder;
  }
  return opened;
}

/** Rejects unless a receiver in one of the terminals has got a webhook whose signature is right. */
export async function verifiedWebhook(opened: readonly Process[]): Promise<void> {
  await Promise.any(opened.map((terminal) => terminal.line(/, signature ok, answered 200$/))).catch((cause) => {
    throw new Error(`no terminal shows a verified webhook:\n${opened.map(outputOf).join("\n---\n")}`, { cause });
  });
}

function outputOf({ out, err }: Process): string {
  return [...out, ...err].join("\n");
}
