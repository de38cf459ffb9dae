import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { print } from "../runtime/output.ts";
import { retriedDelivery } from "../wire/deliveries.ts";
import type { Received } from "../wire/fields.ts";
import { retriedDestination } from "../wire/status.ts";
import { complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { addDaemonOptions, askDaemon, destinationPath, type PrintOptions } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { aboutOf } from "./waiting.ts";

/** `fairlead retry DESTINATION|ID`: tries the waiting deliveries of a destination, or one delivery, at once. */
export function declareRetry(program: Command, done: Done): void {
  const command = program
    .command("retry")
    .summary("retry a destination's deliveries, or one delivery, now")
    .description(
      "Retry now, without waiting for the next attempt: all waiting deliveries of a destination, or one delivery in any state.",
    )
    .argument("<what>", "a destination such as crm, or a delivery such as 42-crm")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), HELP).action((what: string, options: PrintOptions) => done(retry(what, options)));
}

const HELP: HelpText = {
  examples: ["fairlead retry crm", "fairlead retry 42-crm"],
  notes: `It waits neither for the next probe nor for the end of a Retry-After. If the receiver is still down, it is probed as before. A delivery that failed, expired or was delivered is sent again, as fairlead replay does.`,
};

async function retry(what: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: destinationPath(what, "retry"), body: {}, answer: retriedDestination };
  const answer = await askDaemon(options, question);
  if ("code" in answer) {
    const isDelivery = answer.error === "unknown_destination" && /^\d{1,15}-./.test(what);
    return isDelivery ? retryDelivery(what, options) : complain(answer);
  }
  const { waiting, served } = answer.value;
  print(options.json ? printable(JSON.stringify({ destination: what, waiting, served })) : toWords(what, answer.value));
  return served ? EXIT.done : EXIT.failed;
}

/** Sends one delivery again, or tries it at once if it waits. */
export async function retryDelivery(id: string, options: PrintOptions): Promise<ExitCode> {
  const path = `/api/deliveries/${encodeURIComponent(id)}/retry`;
  const answer = await askDaemon(options, { path, body: {}, answer: retriedDelivery });
  if ("code" in answer) return complain(answer);
  const { id: found, did } = answer.value;
  print(printable(options.json ? JSON.stringify({ id: found, did }) : `${found} ${DID[did] ?? did}`));
  return EXIT.done;
}

function toWords(name: string, { waiting, served }: Received<typeof retriedDestination>): string {
  if (!served)
    return `${printable(name)} is not retried: it is paused, disabled, or not in the config. ${aboutOf(waiting, name)}.`;
  return `${printable(name)} is retried now. ${aboutOf(waiting, name)}.`;
}

const DID: Readonly<Record<string, string>> = {
  replayed: "is sent again, with a new cutoff.",
  hurried: "is waiting; its next attempt begins now.",
  due: "is waiting, and its next attempt is due already.",
};
