import type { Command } from "commander";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { isKnown, isTrail } from "./explain/said.ts";
import { toWords } from "./explain/words.ts";
import { printable } from "./printable.ts";

/** `fairlead explain MESSAGE_ID`: says what became of a call. */
export function declareExplain(program: Command, done: Done): void {
  const command = program
    .command("explain")
    .argument("<messageId>", "of the call, as its client or the answer to it has it")
    .description(
      "say what became of a call: refused, a repeat, not for a destination, waiting, delivered, given up; and why",
    )
    .option("--json", "print what is known as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((messageId: string, options: ExplainOptions) => done(explain(messageId, options)));
}

const HELP = `${examples("fairlead explain order-4711", "fairlead explain --json order-4711 | jq .events")}

Exits with 1 if nothing is known of it.`;

type ExplainOptions = DaemonOptions & { readonly json?: boolean };

async function explain(messageId: string, options: ExplainOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: `/api/events/${encodeURIComponent(messageId)}`, isSaid: isTrail });
  if ("code" in answer) return complain(answer);
  print(options.json ? printable(JSON.stringify(answer.said)) : toWords(answer.said, createClock().wall()));
  return isKnown(answer.said) ? EXIT.done : EXIT.failed;
}
