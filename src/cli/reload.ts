import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { formatProblem } from "../config/problems.ts";
import { print, printError } from "../runtime/output.ts";
import { isReceived, type Received } from "../wire/fields.ts";
import { refusedConfig, reloaded } from "../wire/status.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, examples } from "./command.ts";
import type { Refusal } from "./daemon.ts";
import { addDaemonOptions, askDaemon, type PrintOptions } from "./daemon.ts";

/** `fairlead reload`: reloads the daemon's config, and reports what has changed or what is wrong. */
export function declareReload(program: Command, done: Done): void {
  const command = program
    .command("reload")
    .description("make the running daemon reload its config, and print what changed or what is wrong")
    .option("--json", "print what changed as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: PrintOptions) => done(reload(options)));
}

const HELP = `${examples("fairlead reload", "fairlead check && fairlead reload")}

The daemon does so by itself within two seconds after the file, or a file of a
secret or certificate that it names, has changed. Environment variables and
credentials of systemd are those of its start.`;

type Reloaded = Received<typeof reloaded>;
type Problem = Reloaded["problems"][number];

async function reload(options: PrintOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: "/api/reload", body: {}, answer: reloaded, explain });
  if ("code" in answer) return complain(answer);
  const { changes, needsRestart, problems } = answer.value;
  if (options.json) print(printable(JSON.stringify({ changes, needsRestart, problems })));
  else {
    for (const problem of problems) printError(`${shown(problem)}\n`);
    print(toWords(answer.value));
  }
  return EXIT.done;
}

/** Exported for its test. */
export function toWords({ changes, needsRestart }: Pick<Reloaded, "changes" | "needsRestart">): string {
  const changed = changes.length === 0 ? ["Reloaded: no changes."] : ["Changed:", ...indented(changes)];
  if (needsRestart.length === 0) return changed.join("\n");
  return [...changed, "Unchanged until a restart:", ...indented(needsRestart)].join("\n");
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${printable(line)}`);
}

/** A refused config is returned with all its problems. */
function explain(refusal: Refusal): Complaint | null {
  if (refusal.code !== "config_invalid") return null;
  const problems = isReceived(refusedConfig, refusal) ? refusal.problems : [];
  const all = [...problems.map(shown), printable(`${refusal.message}; the old config stays in force`)];
  const message = problems.length === 0 ? all.join("\n") : `\n${all.join("\n")}`;
  return { code: EXIT.config, message, error: refusal.code, more: { message: refusal.message, problems } };
}

/** Each line comes from a file, and its layout is kept. */
function shown(problem: Problem): string {
  const severity = problem.severity === "warning" ? "warning" : "error";
  return formatProblem({ ...problem, severity })
    .split("\n")
    .map(printable)
    .join("\n");
}
