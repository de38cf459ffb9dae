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
import { isResumed, type SaidResumed } from "./pause/said.ts";
import { printable } from "./printable.ts";
import { aboutOf } from "./unserved/words.ts";

/** `fairlead resume DESTINATION`: what waits for a destination that was paused is sent. */
export function declareResume(program: Command, done: Done): void {
  const command = program
    .command("resume")
    .description("send again to a destination that was paused: what waits for it goes out at once")
    .argument("<destination>", "which one")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((name: string, options: ResumeOptions) => done(resume(name, options)));
}

const HELP = `${examples("fairlead resume crm", "fairlead resume crm --json")}

What was due meanwhile goes out first, the oldest before the others; each has
as much left of its four hours as it had when the destination was paused.`;

type ResumeOptions = DaemonOptions & { readonly json?: boolean };

async function resume(name: string, options: ResumeOptions): Promise<ExitCode> {
  const question = { path: pathOf(name, "resume"), body: {}, isSaid: isResumed, explain: explainDestination };
  const answer = await askDaemon(options, question);
  if ("code" in answer) return complain(answer);
  const { since, changed, waiting, served } = answer.said;
  const facts = { destination: name, paused: false, since, changed, waiting, served };
  print(options.json ? printable(JSON.stringify(facts)) : toWords(name, answer.said, createClock().wall()));
  return EXIT.done;
}

/** `now`: by the wall clock. Exported for its test. */
export function toWords(name: string, { since, waiting, served }: SaidResumed, now: number): string {
  const shown = printable(name);
  const done =
    since === null
      ? `${shown} was not paused.`
      : `Resumed ${shown}, which was paused for ${formatDuration(Math.max(0, now - Date.parse(since)))}.`;
  const unserved = served ? "" : "\nNothing is sent to it all the same: it is disabled, or not in the config.";
  return `${done} ${aboutOf(waiting, name)}.${unserved}`;
}
