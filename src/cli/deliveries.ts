import { type Command, InvalidArgumentError } from "commander";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { addFilterOptions, type Filter, filterOf, oneOf } from "./deliveries/filter.ts";
import { toWords } from "./deliveries/list-words.ts";
import { isList, type SaidDelivery, type SaidList } from "./deliveries/said.ts";
import { declareShow } from "./deliveries/show.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** What is listed at most, and if nothing else is said. */
const MOST_LISTED = 10_000;
const LISTED_BY_DEFAULT = 20;
/** In one question to the daemon. */
export const MOST_IN_PAGE = 1_000;

const STATES = ["waiting", "delivered", "failed", "expired"];

/** `fairlead deliveries`: lists what waits, was delivered, failed or expired; `show` tells all of one. */
export function declareDeliveries(program: Command, done: Done): void {
  const command = program
    .command("deliveries")
    .description("list deliveries: what waits, was delivered, failed or expired, and why; or show one of them")
    .option("--state <state>", "waiting, delivered, failed or expired", oneOf(STATES));
  addFilterOptions(command)
    .option("--limit <count>", `how many, up to ${MOST_LISTED}`, toLimit, LISTED_BY_DEFAULT)
    .option("--json", "print them as JSON, the newest first");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: ListOptions) => done(deliveries(options)));
  declareShow(command, done);
}

const HELP = `${examples(
  "fairlead deliveries",
  "fairlead deliveries --state expired --since 2h",
  "fairlead deliveries --destination crm --user u-1234 --json",
  "fairlead deliveries show 42-crm",
)}

--since and --until are about when a delivery came into its state: when its
event was taken if it waits, else when it was delivered, failed or expired. A
time without a zone is of this machine's.`;

function toLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MOST_LISTED) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_LISTED}.`);
}

type ListOptions = DaemonOptions & Filter & { readonly limit: number; readonly json?: boolean };

async function deliveries(options: ListOptions): Promise<ExitCode> {
  const { limit, json } = options;
  const list = await readList(options);
  if ("code" in list) return complain(list);
  // In JSON too, a character that would move the cursor may stand as an escape.
  if (json) print(printable(JSON.stringify(list)));
  else {
    const { cursor, troubled } = list;
    const asked = { limit, most: MOST_LISTED, more: cursor !== null, now: createClock().wall(), troubled };
    print(toWords(list.deliveries, asked));
  }
  return EXIT.done;
}

/** Page after page: the daemon looks at so many only for each question, and may answer with a part or with none. */
async function readList(options: ListOptions): Promise<SaidList | Complaint> {
  const found: SaidDelivery[] = [];
  const troubled = new Map<string, SaidList["troubled"][number]>();
  let cursor: string | null = null;
  do {
    const path = pathFor(options, { limit: Math.min(options.limit - found.length, MOST_IN_PAGE), cursor });
    const answer: { readonly said: SaidList } | Complaint = await askDaemon(options, { path, isSaid: isList });
    if ("code" in answer) return answer;
    found.push(...answer.said.deliveries);
    for (const one of answer.said.troubled) troubled.set(`${one.destination} ${one.url}`, one);
    cursor = answer.said.cursor;
  } while (cursor !== null && found.length < options.limit);
  return { deliveries: found, cursor, troubled: [...troubled.values()] };
}

type Page = { readonly limit: number; readonly cursor: string | null };

function pathFor(options: Filter, { limit, cursor }: Page): string {
  const query = new URLSearchParams({ limit: String(limit), ...filterOf(options) });
  if (cursor !== null) query.set("cursor", cursor);
  return `/api/deliveries?${query}`;
}
