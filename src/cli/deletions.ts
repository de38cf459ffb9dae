import { type Command, InvalidArgumentError } from "commander";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { declareErase, declareUnsuppress } from "./deletions/change.ts";
import { isDeletions, isReceipt, isSalt } from "./deletions/said.ts";
import { toList, toShown } from "./deletions/words.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** What the daemon lists at most, and if nothing else is said. */
const MOST_LISTED = 1_000;
const LISTED_BY_DEFAULT = 20;

/** `fairlead deletions`: lists the requests that were made; `show` tells all of one. */
export function declareDeletions(program: Command, done: Done): void {
  const command = program
    .command("deletions")
    .description("list deletion requests and how far they are; show one; take suppressed users back")
    .option("--user <userId>", "only those of this user, erased or not")
    .option("--limit <count>", `how many, up to ${MOST_LISTED}`, toLimit, LISTED_BY_DEFAULT)
    .option("--json", "print them as JSON, the newest first");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: ListOptions) => done(deletions(options)));
  declareShow(command, done);
  declareUnsuppress(command, done);
  declareErase(command, done);
  declareSalt(command, done);
}

const HELP = `${examples(
  "fairlead deletions",
  "fairlead deletions --user u-1234",
  "fairlead deletions show del-01a1fab66cf4-ec51cfdfc017",
  "fairlead deletions unsuppress u-1234",
)}

A request is finished when each notification was delivered, and failed when
one was given up: that can be replayed. Requests are kept.`;

function toLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MOST_LISTED) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_LISTED}.`);
}

type ListOptions = DaemonOptions & { readonly user?: string; readonly limit: number; readonly json?: boolean };

async function deletions(options: ListOptions): Promise<ExitCode> {
  const { limit, user, json } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(user && { user }) });
  const answer = await askDaemon(options, { path: `/api/deletions?${query}`, isSaid: isDeletions });
  if ("code" in answer) return complain(answer);
  const { said } = answer;
  print(json ? printable(JSON.stringify(said)) : toList(said, said.cursor !== null));
  return EXIT.done;
}

type ShowOptions = DaemonOptions & { readonly json?: boolean };

function declareShow(deletions: Command, done: Done): void {
  const command = deletions
    .command("show")
    .argument("<id>", "as `fairlead deletions` lists it")
    .description("show one request: its notifications by source and destination, its users, what was erased")
    .option("--json", "print it as JSON");
  addDaemonOptions(command)
    .addHelpText("after", examples("fairlead deletions show del-01a1fab66cf4-ec51cfdfc017"))
    .action((id: string, options: ShowOptions) => done(show(id, options)));
}

async function show(id: string, options: ShowOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: `/api/deletions/${encodeURIComponent(id)}`, isSaid: isReceipt });
  if ("code" in answer) return complain(answer);
  print(options.json ? printable(JSON.stringify(answer.said)) : toShown(answer.said));
  return EXIT.done;
}

/** Apart from `show`: who sees a receipt is not to try ids. */
function declareSalt(deletions: Command, done: Done): void {
  const command = deletions
    .command("salt")
    .description("print the salt of the hashes of erased users, and how to compare one by hand")
    .option("--json", "print it as JSON");
  addDaemonOptions(command)
    .addHelpText("after", examples("fairlead deletions salt"))
    .action((options: ShowOptions) => done(salt(options)));
}

async function salt(options: ShowOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: "/api/deletions/salt", isSaid: isSalt });
  if ("code" in answer) return complain(answer);
  const { said } = answer;
  print(options.json ? JSON.stringify(said) : `${said.salt}\nprintf '%s' '${said.salt}:USER_ID' | sha256sum`);
  return EXIT.done;
}
