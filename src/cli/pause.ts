import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { formatDuration } from "../model/units.ts";
import type { Received } from "../wire/fields.ts";
import { pausedDestination, resumedDestination } from "../wire/status.ts";
import type { ExitCode } from "./command.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions, destinationPath, type PrintOptions, printAnswer } from "./daemon.ts";
import { aboutOf } from "./waiting.ts";

/** `fairlead pause DESTINATION`: stops sending to it until it is resumed. */
export function declarePause(program: Command, done: Done): void {
  const command = program
    .command("pause")
    .description("send nothing to a destination until it is resumed; new events for it wait")
    .argument("<destination>", "which one")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((name: string, options: PrintOptions) => done(pause(name, options)));
}

const HELP = `${examples("fairlead pause crm", "fairlead pause crm --json")}

Attempts that run already are finished. The time until fairlead resume does not
count towards the cutoff (four hours) of what waits, and nothing is given up.
A destination stays paused over restarts, and whatever becomes of the config.`;

function pause(name: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: destinationPath(name, "pause"), body: {}, answer: pausedDestination };
  return printAnswer(options, question, {
    words: (paused, now) => pausedWords(name, paused, now),
    json: ({ since, changed, waiting }) => ({ destination: name, paused: true, since, changed, waiting }),
  });
}

/** `now`: by the wall clock. Exported for its test. */
export function pausedWords(
  name: string,
  { since, changed, waiting }: Omit<Received<typeof pausedDestination>, "success">,
  now: number,
): string {
  const age = formatDuration(Math.max(0, now - Date.parse(since)));
  const done = changed ? `Paused ${printable(name)}.` : `${printable(name)} is paused already, for ${age}.`;
  return `${done} ${aboutOf(waiting, name)}.`;
}

/** `fairlead resume DESTINATION`: sends the waiting deliveries of a paused destination. */
export function declareResume(program: Command, done: Done): void {
  const command = program
    .command("resume")
    .description("send to a paused destination again; its waiting deliveries are sent at once")
    .argument("<destination>", "which one")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", RESUME_HELP)
    .action((name: string, options: PrintOptions) => done(resume(name, options)));
}

const RESUME_HELP = `${examples("fairlead resume crm", "fairlead resume crm --json")}

What was due meanwhile goes out first, the oldest before the others; each has
as much time left to its cutoff as it had when the destination was paused.`;

function resume(name: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: destinationPath(name, "resume"), body: {}, answer: resumedDestination };
  return printAnswer(options, question, {
    words: (resumed, now) => resumedWords(name, resumed, now),
    json: ({ since, changed, waiting, served }) => {
      return { destination: name, paused: false, since, changed, waiting, served };
    },
  });
}

/** `now`: by the wall clock. Exported for its test. */
export function resumedWords(
  name: string,
  { since, waiting, served }: Omit<Received<typeof resumedDestination>, "success">,
  now: number,
): string {
  const shown = printable(name);
  const done =
    since === null
      ? `${shown} was not paused.`
      : `Resumed ${shown}, which was paused for ${formatDuration(Math.max(0, now - Date.parse(since)))}.`;
  const unserved = served ? "" : "\nNothing is sent to it all the same: it is disabled, or not in the config.";
  return `${done} ${aboutOf(waiting, name)}.${unserved}`;
}
