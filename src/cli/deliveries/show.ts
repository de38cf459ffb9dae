import type { Command } from "commander";
import { createClock } from "../../runtime/clock.ts";
import { print } from "../../runtime/output.ts";
import { type Done, examples } from "../command.ts";
import { complain } from "../complain.ts";
import { askDaemon } from "../daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "../daemon/find.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import { printable } from "../printable.ts";
import { isDetail } from "./said.ts";
import { toWords } from "./show-words.ts";

/** `fairlead deliveries show ID`: all there is to know of one delivery. */
export function declareShow(deliveries: Command, done: Done): void {
  const command = deliveries
    .command("show")
    .argument("<id>", "as `fairlead deliveries` lists it: the number of the event and the destination, 42-crm")
    .description("show one delivery: its request, without secrets, its body, and its attempts as a timeline")
    .option("--json", "print it as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((id: string, options: ShowOptions) => done(show(id, options)));
}

const HELP = `${examples("fairlead deliveries show 42-crm", "fairlead deliveries show 42-crm --json | jq -r .body")}

The headers are those that the config gives now. Of many attempts the first
five and the last five are kept.`;

type ShowOptions = DaemonOptions & { readonly json?: boolean };

async function show(id: string, options: ShowOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: `/api/deliveries/${encodeURIComponent(id)}`, isSaid: isDetail });
  if ("code" in answer) return complain(answer);
  print(options.json ? printable(JSON.stringify(answer.said)) : toWords(answer.said, createClock().wall()));
  return EXIT.done;
}
