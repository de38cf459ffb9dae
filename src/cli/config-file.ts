import { resolve } from "node:path";
import { printable } from "../client/show.ts";
import { explainInSteps } from "../config/explain.ts";
import { loadConfig } from "../config/load.ts";
import { readOutboxPart } from "../config/parts.ts";
import { formatProblem } from "../config/problems.ts";
import type { Explain } from "../config/reload.ts";
import type { Config, Problem } from "../model/config.ts";
import type { Resolve } from "../model/ports.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve, findConfigFile, readConfigFile } from "../runtime/config-files.ts";
import { spaceFor } from "../runtime/disk.ts";
import { howToRead } from "../runtime/file-error.ts";
import { printError } from "../runtime/output.ts";
import { isFolder, isInOpenFolders } from "../runtime/stored-file.ts";
import { type Complaint, complain, EXIT } from "./command.ts";
import { paint } from "./paint.ts";

/** The option of every command that reads the config. */
export const CONFIG_OPTION = ["--config <file>", "the config file (see fairlead help connection)"] as const;

export type ConfigText =
  | { readonly kind: "read"; readonly file: string; readonly text: string; readonly worldReadable: boolean }
  | Unreadable;
type Unreadable = {
  readonly kind: "unreadable";
  readonly message: string;
  /** How a user can get permission to read it; null if permission is not the problem. */
  readonly remedy: string | null;
};

/** Finds the config file and reads its text. */
export function openConfigFile(named: string | undefined): ConfigText {
  const file = findConfigFile(named);
  if (file === null) {
    const message =
      "there is no config file; name one with --config, or write ./config.yaml (fairlead schema --example prints one)";
    return { kind: "unreadable", message, remedy: null };
  }
  const text = readConfigFile(file);
  if (!text.ok) {
    const message = `cannot read the config file ${file}: ${text.why}`;
    return { kind: "unreadable", message, remedy: howToRead(file) };
  }
  return { kind: "read", file, text: text.text, worldReadable: text.worldReadable && isInOpenFolders(file) };
}

/** Why there is no config, and what to do. `otherwise`: how the command can work without one. */
export function complaintOfFile({ message, remedy }: Unreadable, otherwise?: string): Complaint {
  const advice = remedy ?? otherwise;
  return {
    code: EXIT.config,
    message: advice === undefined ? message : `${message}; ${advice}`,
    error: "config_unreadable",
  };
}

/** Reads the config and prints its problems on standard error. Null if it cannot be used. */
export function requireConfig(
  named: string | undefined,
  resolve: Resolve,
): { readonly file: string; readonly config: Config; readonly explain: Explain } | null {
  const opened = openConfigFile(named);
  if (opened.kind === "unreadable") {
    const remedy = opened.remedy && "let the user that runs the daemon read it";
    complain(complaintOfFile({ ...opened, remedy }));
    return null;
  }
  const { file, text, worldReadable } = opened;
  const now = createClock().wall();
  const loaded = loadConfig({ file, text, worldReadable, resolve, spaceFor, isFolder, isInOpenFolders, now });
  const { config, problems } = loaded;
  printProblems(problems);
  return config && { file, config, explain: () => explainInSteps(loaded, file) };
}

export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) printError(`${problemText(problem)}\n`);
}

/** A problem for standard error: its message, and the line with a caret, if there is one. Its text comes from a file. */
export function problemText(problem: Problem): string {
  const color = problem.severity === "warning" ? paint.warning : paint.bad;
  const [file, path, what] = [problem.file, problem.path, problem.message].map(printable);
  const shown = formatProblem({ ...problem, file: file ?? "", path: path ?? "", message: what ?? "" });
  const [message = "", line, caret] = shown.split("\n").map(printable);
  const place = line === undefined || caret === undefined ? [] : [line, color(caret, "err")];
  return [color(message, "err"), ...place].join("\n");
}

/** The settings of the outbox. The secrets of the other sections need not be readable. */
export function readOutbox(named: string | undefined): Config["outbox"] | Complaint {
  const opened = openConfigFile(named);
  if (opened.kind === "unreadable") return complaintOfFile(opened);
  const outbox = readOutboxPart({ ...opened, resolve: createResolve() });
  if ("faulty" in outbox) return { code: EXIT.config, message: outbox.message };
  return outbox.postgres === null ? { ...outbox, path: resolve(outbox.path) } : outbox;
}

/** The settings of an outbox that is a file. `instead`: what to do with a database. */
export function findOutbox(named: string | undefined, instead: string): Config["outbox"] | Complaint {
  const outbox = readOutbox(named);
  if ("code" in outbox || outbox.postgres === null) return outbox;
  const message = `the outbox is a database, not a file (${outbox.path}): ${instead}`;
  return { code: EXIT.usage, message, error: "outbox_is_database" };
}
