import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { goLast } from "../runtime/process.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, EXIT, type ExitCode } from "./command.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon.ts";
import { examine } from "./doctor/examine.ts";
import { type Finding, LEVELS, type Level, worstOf } from "./doctor/judge.ts";
import { addHelp, type HelpText } from "./help.ts";
import { type Painter, paint } from "./paint.ts";
import { openProgressBar } from "./progress.ts";

/** `fairlead doctor`: one page that says what is wrong with this installation. */
export function declareDoctor(program: Command, done: Done): void {
  const command = program
    .command("doctor")
    .summary("check the installation and say what to fix")
    .description(
      "Check this installation and say what to fix: config, secrets, outbox, disk, clock, files, daemon, webhooks.",
    )
    .option("--full", "check the whole outbox, however large, and its indexes")
    .option("--json", "print the findings as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: DoctorOptions) => done(doctor(options)));
}

const HELP: HelpText = {
  examples: ["fairlead doctor", "sudo fairlead doctor --full"],
  notes: `It changes nothing, and works whether the daemon runs or not. It connects to each webhook, but sends no request. Checks that this user may not make are skipped; root may make all. The exit code is 1 if there is an error.`,
  moreExamples: ["fairlead doctor --json | jq '.findings[] | select(.level == \"error\")'"],
};

type DoctorOptions = DaemonOptions & { readonly full?: boolean; readonly json?: boolean };

async function doctor(options: DoctorOptions): Promise<ExitCode> {
  goLast();
  const clock = createClock();
  const bar = openProgressBar(clock);
  const findings = await examine(options, { depth: options.full ? "full" : "usual", clock, begins: bar.stage });
  bar.clear();
  print(options.json ? printable(toJson(findings, VERSION)) : toWords(findings));
  return worstOf(findings) === "error" ? EXIT.failed : EXIT.done;
}

/** The page for people. */
export function toWords(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, level, code, what, remedy }) => {
    const head = `${COLOR[level](level.padEnd(8))} ${check.padEnd(9)}`;
    const tag = code === "ok" ? "" : ` [${code}]`;
    return [`${head} ${printable(what)}${tag}`, ...(remedy === undefined ? [] : [`${INDENT}→ ${printable(remedy)}`])];
  });
  return [...lines, "", `${sentence(findings)}.`].join("\n");
}

const INDENT = " ".repeat(19);
const COLOR: Readonly<Record<Level, Painter>> = {
  ok: paint.good,
  skipped: paint.faint,
  warning: paint.warning,
  error: paint.bad,
};

function sentence(findings: readonly Finding[]): string {
  if (worstOf(findings) === "ok") return "No problems found";
  const counts = LEVELS.toReversed().map(
    (level) => [level, findings.filter((one) => one.level === level).length] as const,
  );
  const said = counts
    .filter(([level, count]) => level !== "ok" && count > 0)
    .map(([level, count]) => words(level, count));
  return said.join(", ");
}

function words(level: Level, count: number): string {
  if (level === "skipped") return `${count} could not be checked`;
  return `${count} ${level}${count === 1 ? "" : "s"}`;
}

/** The page for programs. */
export function toJson(findings: readonly Finding[], version: string): string {
  return JSON.stringify({ version, worst: worstOf(findings), findings });
}
