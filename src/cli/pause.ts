import type { Command } from "commander";
import { formatDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { explainDestination, pathOf } from "./daemon/destinations.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { isPaused, type SaidPaused } from "./pause/said.ts";
import { printable } from "./printable.ts";
import { aboutOf } from "./unserved/words.ts";

/** `fairlead pause DESTINATION`: nothing new is sent to it until it is resumed. */
export function declarePause(program: Command, done: Done): void {
  const command = program
    .command("pause")
    .description("send nothing to a destination until it is resumed; what comes in for it waits")
    .argument("<destination>", "which one")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((name: string, options: PauseOptions) => done(pause(name, options)));
}

const HELP = `${examples("fairlead pause crm", "fairlead pause crm --json")}

Attempts that run already are finished. The time until fairlead resume does not
count towards the four hours of what waits, and nothing is given up in it.
A destination stays paused over restarts, and whatever becomes of the config.`;

type PauseOptions = DaemonOptions & { readonly json?: boolean };

async function pause(name: string, options: PauseOptions): Promise<ExitCode> {
  const question = { path: pathOf(name, "pause"), body: {}, isSaid: isPaused, explain: explainDestination };
  const answer = await askDaemon(options, question);
  if ("code" in answer) return complain(answer);
  const { since, changed, waiting } = answer.said;
  if (options.json) print(printable(JSON.stringify({ destination: name, paused: true, since, changed, waiting })));
  else print(toWords(name, answer.said, createClock().wall()));
  return EXIT.done;
}

/** `now`: by the wall clock. Exported for its test. */
export function toWords(name: string, { since, changed, waiting }: SaidPaused, now: number): string {
  const age = formatDuration(Math.max(0, now - Date.parse(since)));
  const done = changed ? `Paused ${printable(name)}.` : `${printable(name)} is paused already, for ${age}.`;
  return `${done} ${aboutOf(waiting, name)}.`;
}
