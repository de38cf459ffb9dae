import { type Command, InvalidArgumentError } from "commander";
import { suggest } from "../config/suggest.ts";
import { FAULT_STATUS } from "../model/fault.ts";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { isRejectedList } from "./rejected/list.ts";
import { toWords } from "./rejected/words.ts";

/** What the daemon lists at most, and if nothing else is said. */
export const MOST_LISTED = 100;
const LISTED_BY_DEFAULT = 20;

/** `fairlead rejected`: shows the last calls that the running daemon did not take: when, whose, why, and what they said. */
export function declareRejected(program: Command, done: Done): void {
  const command = program
    .command("rejected")
    .description("show the last calls that the running daemon has refused: when, who, why, and how each begins")
    .option("--limit <count>", `how many, up to ${MOST_LISTED}`, toLimit, LISTED_BY_DEFAULT)
    .option("--source <name>", "only those with the write key of this source")
    .option("--code <code>", "only those that were refused with this code, as missing_event", toCode)
    .option("--json", "print them as JSON, the newest first");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: RejectedOptions) => done(rejected(options)));
}

const HELP = `${examples(
  "fairlead rejected",
  "fairlead rejected --source website --limit 5",
  "fairlead rejected --code unknown_write_key --json",
  "fairlead rejected --admin http://127.0.0.1:8081",
)}

The daemon keeps the last ones in memory, until it stops. docs/http-api.md
explains the codes.`;

function toLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MOST_LISTED) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_LISTED}.`);
}

function toCode(text: string): string {
  if (Object.hasOwn(FAULT_STATUS, text)) return text;
  const meant = suggest(text, Object.keys(FAULT_STATUS));
  throw new InvalidArgumentError(meant === null ? "No call is refused with it." : `Did you mean ${meant}?`);
}

type RejectedOptions = DaemonOptions & Filter & { readonly json?: boolean };
type Filter = { readonly limit: number; readonly source?: string; readonly code?: string };

async function rejected(options: RejectedOptions): Promise<ExitCode> {
  const { limit, source = null, code = null, json } = options;
  const answer = await askDaemon(options, { path: pathFor(options), isSaid: isRejectedList });
  if ("code" in answer) return complain(answer);
  // In JSON too, a character that would move the cursor may stand as an escape.
  if (json) print(printable(JSON.stringify(answer.said)));
  else print(toWords(answer.said.rejected, { limit, most: MOST_LISTED, source, code }));
  return EXIT.done;
}

function pathFor({ limit, source, code }: Filter): string {
  const query = new URLSearchParams({ limit: String(limit), ...(source && { source }), ...(code && { code }) });
  return `/api/rejected?${query}`;
}
