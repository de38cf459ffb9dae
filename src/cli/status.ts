import type { Command } from "commander";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/terminal.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { isStatus } from "./status/said.ts";
import { toWords } from "./status/words.ts";

/** `fairlead status`: how the running daemon is, and each of its sources and destinations. */
export function declareStatus(program: Command, done: Done): void {
  const command = program
    .command("status")
    .description("show how the running daemon is: its outbox, its last reload, each source and destination")
    .option("--json", "print it as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: StatusOptions) => done(status(options)));
}

const HELP = `${examples("fairlead status", "watch fairlead status", "fairlead status --json | jq .destinations")}

Rates are of the last minute. A destination is failing if nothing has succeeded
since its last failure; what it could not deliver is tried again for four hours.`;

type StatusOptions = DaemonOptions & { readonly json?: boolean };

async function status(options: StatusOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: "/api/status", isSaid: isStatus });
  if ("code" in answer) return complain(answer);
  print(options.json ? printable(JSON.stringify(answer.said)) : toWords(answer.said, createClock().wall()));
  return EXIT.done;
}
