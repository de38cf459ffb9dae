import { type Command, InvalidArgumentError } from "commander";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { addDaemonOptions } from "./daemon/find.ts";
import { addFilterOptions, filterOf, oneOf } from "./deliveries/filter.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { type FilterOptions, replayByFilter } from "./replay/by-filter.ts";
import { retryDelivery } from "./retry.ts";

const STATES = ["failed", "expired", "delivered"];

/** `fairlead replay`: sends again what failed or expired, or what a receiver has lost. */
export function declareReplay(program: Command, done: Done): void {
  const command = program
    .command("replay")
    .description("send again what failed or expired, or with --state delivered what a receiver has lost")
    .argument("[id...]", "deliveries as `fairlead deliveries` lists them, 42-crm; else all that the options choose")
    .option("--state <state>", "failed, expired or delivered (default: failed and expired)", oneOf(STATES));
  addFilterOptions(command)
    .option("--dry-run", "only say how many there are, of the oldest and the newest event")
    .option("--rate <count>", "so many a second at most (default: as fast as they can be written)", toRate)
    .option("--yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((ids: readonly string[], options: FilterOptions) => done(replay(ids, options)));
}

const HELP = `${examples(
  "fairlead replay 42-crm",
  "fairlead replay --destination crm --since 2h --dry-run",
  "fairlead replay --state expired --yes --rate 100",
  "fairlead replay --state delivered --destination crm --since 2009-11-10T22:00 --until 2009-11-10T23:00",
)}

Each has four hours again, and all of its webhooks are asked. Receivers know
an event that they have by its messageId. --since and --until are about when
a delivery came into its state. Ctrl-C stops between two pages: what was not
reached stays as it was.`;

function toRate(text: string): number {
  const rate = /^\d{1,6}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (rate > 0) return rate;
  throw new InvalidArgumentError("It must be a number above 0: how many deliveries a second.");
}

async function replay(ids: readonly string[], options: FilterOptions): Promise<ExitCode> {
  if (ids.length === 0) return replayByFilter(options);
  const [other] = [...Object.keys(filterOf(options)), ...(options.dryRun ? ["dry-run"] : [])];
  if (other !== undefined) {
    return complain({ code: EXIT.usage, message: `say either ids or --${other}: ids name the deliveries already` });
  }
  let code: ExitCode = EXIT.done;
  for (const id of ids) code = Math.max(code, await retryDelivery(id, options)) as ExitCode;
  return code;
}
