import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { print, printError } from "../runtime/output.ts";
import { isReceived, type Received } from "../wire/fields.ts";
import { refusedConfig, reloaded } from "../wire/status.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { problemText } from "./config-file.ts";
import type { Refusal } from "./daemon.ts";
import { addDaemonOptions, askDaemon, type PrintOptions } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { paint } from "./paint.ts";
import { showWhile } from "./progress.ts";

/** `fairlead reload`: reloads the daemon's config, and reports what has changed or what is wrong. */
export function declareReload(program: Command, done: Done): void {
  const command = program
    .command("reload")
    .summary("reload the config and print what changed")
    .description(
      "Make the daemon reload its config now, and print what changed. If the config has errors, print them; the daemon keeps the old one.",
    )
    .option("--json", "print what changed as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: PrintOptions) => done(reload(options)));
}

const HELP: HelpText = {
  examples: ["fairlead reload", "fairlead check && fairlead reload"],
  notes: `The daemon reloads by itself within two seconds after the config changes, or a file that it names with a secret or a certificate. Environment variables and systemd credentials keep the values they had at its start.`,
};

type Reloaded = Received<typeof reloaded>;
type Problem = Reloaded["problems"][number];

async function reload(options: PrintOptions): Promise<ExitCode> {
  const question = { path: "/api/reload", body: {}, answer: reloaded, explain };
  const answer = await showWhile("reloading", askDaemon(options, question));
  if ("code" in answer) return complain(answer);
  const { changes, needsRestart, problems } = answer.value;
  if (options.json) print(printable(JSON.stringify({ changes, needsRestart, problems })));
  else {
    for (const problem of problems) printError(`${toText(problem)}\n`);
    print(toWords(answer.value));
  }
  return EXIT.done;
}

/** Exported for its test. */
export function toWords({ changes, needsRestart }: Pick<Reloaded, "changes" | "needsRestart">): string {
  const changed = changes.length === 0 ? ["Reloaded: no changes."] : ["Changed:", ...indented(changes)];
  if (needsRestart.length === 0) return changed.join("\n");
  return [...changed, paint.warning("Needs a restart:"), ...indented(needsRestart)].join("\n");
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${printable(line)}`);
}

/** A refused config is returned with all its problems. */
function explain(refusal: Refusal): Complaint | null {
  if (refusal.code !== "config_invalid") return null;
  const problems = isReceived(refusedConfig, refusal) ? refusal.problems : [];
  const all = [...problems.map(toText), `${refusal.message}; the old config stays in force`];
  const message = problems.length === 0 ? all.join("\n") : `\n${all.join("\n")}`;
  return { code: EXIT.config, message, error: refusal.code, more: { message: refusal.message, problems } };
}

function toText(problem: Problem): string {
  return problemText({ ...problem, severity: problem.severity === "warning" ? "warning" : "error" });
}
