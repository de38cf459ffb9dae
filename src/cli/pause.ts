import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { formatDuration } from "../model/units.ts";
import type { Received } from "../wire/fields.ts";
import { pausedDestination, resumedDestination } from "../wire/status.ts";
import type { Done, ExitCode } from "./command.ts";
import { addDaemonOptions, destinationPath, type PrintOptions, printAnswer } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { aboutOf } from "./waiting.ts";

/** `fairlead pause DESTINATION`: stops sending to it until it is resumed. */
export function declarePause(program: Command, done: Done): void {
  const command = program
    .command("pause")
    .summary("pause a destination; its deliveries are kept")
    .description("Send nothing to a destination until it is resumed. New events for it are kept as waiting deliveries.")
    .argument("<destination>", "the destination to pause")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), HELP).action((name: string, options: PrintOptions) => done(pause(name, options)));
}

const HELP: HelpText = {
  examples: ["fairlead pause crm", "fairlead pause crm --json"],
  notes: `Attempts that have begun are finished. Paused time does not count towards the four hours (delivery.cutoff) after which a delivery expires. A pause lasts until fairlead resume, through restarts and config changes.`,
};

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
  const done = changed ? `Paused ${printable(name)}.` : `${printable(name)} has been paused for ${age} already.`;
  return `${done} ${aboutOf(waiting, name)}.`;
}

/** `fairlead resume DESTINATION`: sends the waiting deliveries of a paused destination. */
export function declareResume(program: Command, done: Done): void {
  const command = program
    .command("resume")
    .summary("resume a paused destination")
    .description("Send to a paused destination again, beginning with its oldest waiting deliveries.")
    .argument("<destination>", "the destination to resume")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), RESUME_HELP).action((name: string, options: PrintOptions) =>
    done(resume(name, options)),
  );
}

const RESUME_HELP: HelpText = {
  examples: ["fairlead resume crm", "fairlead resume crm --json"],
  notes: "Each delivery has as much time left until its cutoff as it had when the destination was paused.",
};

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
  const unserved = served ? "" : "\nNothing is sent to it yet: it is disabled, or not in the config.";
  return `${done} ${aboutOf(waiting, name)}.${unserved}`;
}
