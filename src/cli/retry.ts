import type { Command } from "commander";
import * as v from "valibot";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions, destinationPath, explainDestination } from "./daemon.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { isRetry } from "./replay/said.ts";
import { toSentence } from "./replay.ts";
import { aboutOf } from "./waiting.ts";

/** `fairlead retry DESTINATION|ID`: tries what waits for a destination, or one delivery, at once. */
export function declareRetry(program: Command, done: Done): void {
  const command = program
    .command("retry")
    .description("try at once: all that waits for a destination, or one delivery, whatever its state")
    .argument("<what>", "a destination, or a delivery as `fairlead deliveries` lists it, 42-crm")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((what: string, options: RetryOptions) => done(retry(what, options)));
}

const HELP = `${examples("fairlead retry crm", "fairlead retry 42-crm")}

Neither a probe nor the end of a Retry-After is waited for. A receiver that is
still down is then probed as before. A delivery that has failed, expired or
was delivered is sent again, as by \`fairlead replay\`.`;

type RetryOptions = DaemonOptions & { readonly json?: boolean };

const destination = v.object({ waiting: v.number(), served: v.boolean() });

/** What a daemon answers at `POST /api/destinations/:name/retry`. */
type SaidDestination = v.InferOutput<typeof destination>;

function isDestination(said: unknown): said is SaidDestination {
  return v.is(destination, said);
}

async function retry(what: string, options: RetryOptions): Promise<ExitCode> {
  let isUnknown = false;
  const explain: typeof explainDestination = (refusal) => {
    isUnknown = refusal.code === "unknown_destination";
    return explainDestination(refusal);
  };
  const question = { path: destinationPath(what, "retry"), body: {}, isSaid: isDestination, explain };
  const answer = await askDaemon(options, question);
  if ("code" in answer) return isUnknown && isDeliveryId(what) ? retryDelivery(what, options) : complain(answer);
  const { waiting, served } = answer.said;
  print(options.json ? printable(JSON.stringify({ destination: what, waiting, served })) : toWords(what, answer.said));
  return served ? EXIT.done : EXIT.failed;
}

function isDeliveryId(text: string): boolean {
  return /^\d{1,15}-./.test(text);
}

/** Sends one delivery again, or tries it at once if it waits. */
export async function retryDelivery(id: string, options: RetryOptions): Promise<ExitCode> {
  const path = `/api/deliveries/${encodeURIComponent(id)}/retry`;
  const answer = await askDaemon(options, { path, body: {}, isSaid: isRetry });
  if ("code" in answer) return complain(answer);
  const { said } = answer;
  print(options.json ? printable(JSON.stringify({ id: said.id, did: said.did })) : toSentence(said));
  return EXIT.done;
}

function toWords(name: string, { waiting, served }: SaidDestination): string {
  if (!served)
    return `${printable(name)} is not tried: it is paused, disabled, or not in the config. ${aboutOf(waiting, name)}.`;
  return `${printable(name)} is tried now. ${aboutOf(waiting, name)}.`;
}
