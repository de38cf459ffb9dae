import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { goLast } from "../runtime/process.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, EXIT, type ExitCode, examples } from "./command.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon.ts";
import { examine } from "./doctor/examine.ts";
import { type Finding, LEVELS, type Level, worstOf } from "./doctor/judge.ts";

/** `fairlead doctor`: one page that says what is wrong with this installation. */
export function declareDoctor(program: Command, done: Done): void {
  const command = program
    .command("doctor")
    .description("check this installation: config, secrets, outbox, disk, clock, files, daemon, webhooks")
    .option("--full", "check all of the outbox, however large, and compare its indexes with its tables")
    .option("--json", "print the findings as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: DoctorOptions) => done(doctor(options)));
}

const HELP = `${examples("fairlead doctor", "fairlead doctor --json | jq '.findings[] | select(.level == \"error\")'")}

It works whether the daemon runs or not, and changes nothing. It connects to each
webhook, and hangs up before a request. Checks that this user may not make are
skipped; root may make them all. The exit code is 1 if there is an error, and 0
if there are only warnings.`;

type DoctorOptions = DaemonOptions & { readonly full?: boolean; readonly json?: boolean };

async function doctor(options: DoctorOptions): Promise<ExitCode> {
  goLast();
  const findings = await examine(options, options.full ? "full" : "usual", createClock());
  print(options.json ? printable(toJson(findings, VERSION)) : toWords(findings));
  return worstOf(findings) === "error" ? EXIT.failed : EXIT.done;
}

/** The page for people. */
export function toWords(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, level, code, what, remedy }) => {
    const head = `${level.padEnd(8)} ${check.padEnd(9)}`;
    const tag = code === "ok" ? "" : ` [${code}]`;
    return [`${head} ${printable(what)}${tag}`, ...(remedy === undefined ? [] : [`${INDENT}→ ${printable(remedy)}`])];
  });
  return [...lines, "", `${sentence(findings)}.`].join("\n");
}

const INDENT = " ".repeat(19);

function sentence(findings: readonly Finding[]): string {
  if (worstOf(findings) === "ok") return "All is well";
  const counts = LEVELS.toReversed().map(
    (level) => [level, findings.filter((one) => one.level === level).length] as const,
  );
  const said = counts
    .filter(([level, count]) => level !== "ok" && count > 0)
    .map(([level, count]) => words(level, count));
  return said.join(", ");
}

function words(level: Level, count: number): string {
  if (level === "skipped") return `${count} could not be looked at from here`;
  return `${count} ${level}${count === 1 ? "" : "s"}`;
}

/** The page for programs. */
export function toJson(findings: readonly Finding[], version: string): string {
  return JSON.stringify({ version, worst: worstOf(findings), findings });
}
