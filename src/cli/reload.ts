import type { Command } from "commander";
import { formatProblem } from "../config/problems.ts";
import type { Problem } from "../model/config.ts";
import { print, printError } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import type { Refusal } from "./daemon.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions } from "./daemon.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** `fairlead reload`: has the running daemon read its config anew, and says what is different now, or what is wrong. */
export function declareReload(program: Command, done: Done): void {
  const command = program
    .command("reload")
    .description("have the running daemon read its config now, and say what is different or what is wrong")
    .option("--json", "print what changed as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: ReloadOptions) => done(reload(options)));
}

const HELP = `${examples("fairlead reload", "fairlead check && fairlead reload")}

The daemon does so by itself within two seconds after the file, or a file of a
secret or certificate that it names, has changed. Environment variables and
credentials of systemd are those of its start.`;

type ReloadOptions = DaemonOptions & { readonly json?: boolean };

/** What the daemon answers at `POST /api/reload`. */
type Changed = {
  readonly changes: readonly string[];
  readonly needsRestart: readonly string[];
  readonly problems: readonly Problem[];
};

async function reload(options: ReloadOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: "/api/reload", body: {}, isSaid: isChanged, explain });
  if ("code" in answer) return complain(answer);
  const { changes, needsRestart, problems } = answer.said;
  if (options.json) print(printable(JSON.stringify({ changes, needsRestart, problems })));
  else {
    for (const problem of problems) printError(`${shown(problem)}\n`);
    print(toWords(answer.said));
  }
  return EXIT.done;
}

/** Exported for its test. */
export function toWords({ changes, needsRestart }: Pick<Changed, "changes" | "needsRestart">): string {
  const changed = changes.length === 0 ? ["Read, and nothing is different."] : ["Changed:", ...indented(changes)];
  if (needsRestart.length === 0) return changed.join("\n");
  return [...changed, "As it was until the daemon is started again:", ...indented(needsRestart)].join("\n");
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${printable(line)}`);
}

/** A config that is refused comes with all that is wrong with it. */
function explain(said: Refusal): Complaint | null {
  if (said.code !== "config_invalid") return null;
  const problems = "problems" in said && Array.isArray(said.problems) ? said.problems.filter(isProblem) : [];
  const all = [...problems.map(shown), printable(`${said.message}; the config before it stays in force`)];
  const message = problems.length === 0 ? all.join("\n") : `\n${all.join("\n")}`;
  return { code: EXIT.config, message, error: said.code, more: { message: said.message, problems } };
}

/** The lines of a problem are laid out, and each is a file's. */
function shown(problem: Problem): string {
  return formatProblem(problem).split("\n").map(printable).join("\n");
}

function isChanged(said: unknown): said is Changed {
  if (typeof said !== "object" || said === null) return false;
  const { changes, needsRestart, problems } = said as Partial<Record<keyof Changed, unknown>>;
  return areTexts(changes) && areTexts(needsRestart) && Array.isArray(problems) && problems.every(isProblem);
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { file, line, column, path, message, text } = value as Partial<Record<keyof Problem, unknown>>;
  return areTexts([file, path, message, text]) && [line, column].every(Number.isSafeInteger);
}
