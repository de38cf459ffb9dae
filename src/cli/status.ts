import type { Command } from "commander";
import type { Clock } from "../model/ports.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions, isSaidElsewhere } from "./daemon/find.ts";
import { examineAround } from "./doctor/examine.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { isStatus, type SaidProblem, type SaidStatus } from "./status/said.ts";
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

It begins with what is wrong, since when, and what to do: what the daemon knows
of itself and its webhooks, and what \`fairlead doctor\` finds here without asking
anybody. Rates are of the last minute. A destination is degraded if one of its
webhooks works and another does not, and failing if none does; what it could not
deliver is tried again for four hours.`;

/** What fairlead doctor finds on this machine without asking anybody, if the daemon is the one of the config here. */
function problemsAround(options: StatusOptions, said: SaidStatus, clock: Clock): readonly SaidProblem[] {
  if (isSaidElsewhere(options, createResolve())) return [];
  const known = new Set(said.problems.map(({ code }) => code));
  const found = examineAround(options, said, clock).filter(({ code }) => !known.has(code));
  return found.map(({ level, code, what, remedy = "fairlead doctor" }) => ({ level, code, what, since: null, remedy }));
}

type StatusOptions = DaemonOptions & { readonly json?: boolean };

async function status(options: StatusOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: "/api/status", isSaid: isStatus });
  if ("code" in answer) return complain(answer);
  const clock = createClock();
  const said = { ...answer.said, problems: [...answer.said.problems, ...problemsAround(options, answer.said, clock)] };
  print(options.json ? printable(JSON.stringify(said)) : toWords(said, clock.wall()));
  return EXIT.done;
}
