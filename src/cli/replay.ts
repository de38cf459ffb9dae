import { type Command, InvalidArgumentError } from "commander";
import { printable } from "../client/show.ts";
import type { Clock } from "../model/ports.ts";
import { type At, parseDuration, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { replayPage, SETTLED_STATES } from "../wire/deliveries.ts";
import type { Received } from "../wire/fields.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { confirm, type Plan } from "./confirm.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { addFilterOptions, type Filter, filterOf, oneOf } from "./options.ts";
import { onInterrupt, openCounter } from "./progress.ts";
import { retryDelivery } from "./retry.ts";
import { deliveries, format, progressOf } from "./waiting.ts";

export type Page = Received<typeof replayPage>;

/** `fairlead replay`: sends deliveries again that failed or expired, or that a receiver has lost. */
export function declareReplay(program: Command, done: Done): void {
  const command = program
    .command("replay")
    .summary("send failed and expired deliveries again")
    .description(
      "Send failed and expired deliveries again. With --state delivered, send again what a receiver has lost.",
    )
    .argument("[id...]", "deliveries, such as 42-crm (default: all that match the options)")
    .option("--state <state>", "failed, expired or delivered (default: failed and expired)", oneOf(SETTLED_STATES));
  addFilterOptions(command)
    .option("--dry-run", "only print how many match, and their oldest and newest event")
    .option("--rate <count>", "at most this many per second (default: no limit)", toRate)
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), HELP).action((ids: readonly string[], options: FilterOptions) =>
    done(replay(ids, options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead replay 42-crm", "fairlead replay --destination crm --since 2h --dry-run"],
  notes: `Each delivery gets a new cutoff of four hours (delivery.cutoff). Receivers recognise an event that they have by its messageId. Ctrl-C stops after the current page; the other deliveries are unchanged.`,
  more: `--since and --until select by the time at which a delivery came into its state. All webhooks of a delivery are tried again.`,
  moreExamples: [
    "fairlead replay --state expired --yes --rate 100",
    "fairlead replay --state delivered --destination crm --since 2009-11-10T22:00 --until 2009-11-10T23:00",
  ],
};

function toRate(text: string): number {
  const rate = /^\d{1,6}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (rate > 0) return rate;
  throw new InvalidArgumentError("It must be a number above 0: how many deliveries a second.");
}

async function replay(ids: readonly string[], options: FilterOptions): Promise<ExitCode> {
  if (ids.length === 0) return replayByFilter(options);
  const [other] = [...Object.keys(filterOf(options)), ...(options.dryRun ? ["dry-run"] : [])];
  if (other !== undefined) {
    return complain({
      code: EXIT.usage,
      message: `name ids or --${other}, not both: ids already select the deliveries`,
    });
  }
  let code: ExitCode = EXIT.done;
  for (const id of ids) code = Math.max(code, await retryDelivery(id, options)) as ExitCode;
  return code;
}

type FilterOptions = DaemonOptions &
  Filter & { readonly dryRun?: boolean; readonly rate?: number; readonly yes?: boolean; readonly json?: boolean };

/** Counts the matching deliveries, asks for confirmation, and replays them page by page. */
async function replayByFilter(options: FilterOptions): Promise<ExitCode> {
  const clock = createClock();
  const filter = fixTimes(filterOf(options), clock.wall());
  const interrupting = new AbortController();
  const unhook = onInterrupt(() => interrupting.abort());
  const world = { clock, interrupted: interrupting.signal };
  const ask = (dryRun: boolean): PagesWorld["ask"] => asker(options, { filter, dryRun });
  try {
    const counting = openCounter(clock, { label: "counting" });
    const count = ({ replayed }: Total): void => counting.show(replayed, null);
    const counted = await goThrough({ ...world, ask: ask(true), rate: null, took: count });
    counting.clear();
    const plan = counted.total;
    if (counted.ended !== "done") return complain(complaintOf(counted.ended, 0, plan.replayed));
    if (options.dryRun) return printTotal(plan, options, toPlan(plan));
    if (plan.replayed === 0) return printTotal(NOTHING, options, toPlan(plan));
    const refusal = options.yes ? null : await confirm(toQuestion(plan));
    if (refusal !== null) return complain(refusal);
    const bar = openCounter(clock);
    const took = (total: Total): void => bar.show(total.replayed, plan.replayed);
    const { total, ended } = await goThrough({ ...world, ask: ask(false), rate: options.rate ?? null, took });
    bar.clear();
    return conclude(total, options, { ended, counted: plan });
  } finally {
    unhook();
  }
}

/** Turns an age into a point in time that is the same for all pages. */
function fixTimes(filter: Readonly<Record<string, string>>, now: At): Readonly<Record<string, string>> {
  const fix = (time: string): string => {
    const ago = parseDuration(time);
    return ago === null ? time : new Date(now - ago).toISOString();
  };
  const isTime = (name: string): boolean => name === "since" || name === "until";
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, isTime(name) ? fix(value) : value]));
}

type Wish = { readonly filter: Readonly<Record<string, string>>; readonly dryRun: boolean };

function asker(options: DaemonOptions, wish: Wish): PagesWorld["ask"] {
  return async (page): Promise<Page | Complaint> => {
    const answer = await askDaemon(options, { path: "/api/replay", body: { ...wish, ...page }, answer: replayPage });
    return "code" in answer ? answer : answer.value;
  };
}

function printTotal(total: Total, { json, dryRun }: FilterOptions, words: string): ExitCode {
  print(json ? printable(JSON.stringify({ ...total, dryRun: dryRun === true })) : `${words}`);
  return EXIT.done;
}

type Outcome = { readonly ended: Ended; readonly counted: Total };

function conclude(total: Total, options: FilterOptions, { ended, counted }: Outcome): ExitCode {
  const wanted = counted.replayed;
  if (options.json || total.replayed > 0) printTotal(total, options, toResult(total));
  if (ended !== "done") return complain(complaintOf(ended, total.replayed, wanted));
  const newlyLeft = total.left - counted.left + total.superseded - counted.superseded;
  const gone = wanted - total.replayed - newlyLeft;
  return gone > 0 ? complain({ code: EXIT.failed, message: goneMeanwhile(gone, wanted) }) : EXIT.done;
}

/** The sum of several pages. */
type Total = Omit<Page, "cursor" | "success">;

const NOTHING: Total = {
  replayed: 0,
  destinations: {},
  left: 0,
  deleted: 0,
  superseded: 0,
  oldest: null,
  newest: null,
};

export type PagesWorld = {
  /** Asks the daemon for one page. */
  readonly ask: (page: { readonly limit: number; readonly cursor: string | null }) => Promise<Page | Complaint>;
  /** The most per second; null for no limit. */
  readonly rate: number | null;
  /** Called after each page. */
  readonly took: (total: Total) => void;
  /** Aborted: the page under way is the last. */
  readonly interrupted: AbortSignal;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

type Ended = "done" | "interrupted" | Complaint;

/** In one request to the daemon. */
const MOST_IN_PAGE = 500;

/** Replays page by page until there is no more or it is interrupted. Answers the totals and how it ended. */
export async function goThrough(world: PagesWorld): Promise<{ readonly total: Total; readonly ended: Ended }> {
  const { ask, rate, took, interrupted, clock } = world;
  const began = clock.now();
  const limit = rate === null ? MOST_IN_PAGE : Math.max(1, Math.min(MOST_IN_PAGE, Math.floor(rate)));
  let total = NOTHING;
  let cursor: string | null = null;
  do {
    if (interrupted.aborted) return { total, ended: "interrupted" };
    const page: Page | Complaint = await ask({ limit, cursor });
    if ("code" in page) return { total, ended: page };
    total = add(total, page);
    took(total);
    cursor = page.cursor;
    const due = rate === null || cursor === null ? 0 : began + (total.replayed * SECOND) / rate - clock.now();
    if (due > 0) await clock.sleep(due, interrupted);
  } while (cursor !== null);
  return { total, ended: "done" };
}

function add(total: Total, page: Page): Total {
  const destinations = { ...total.destinations };
  for (const [name, count] of Object.entries(page.destinations)) {
    destinations[name] = (destinations[name] ?? 0) + count;
  }
  return {
    replayed: total.replayed + page.replayed,
    destinations,
    left: total.left + page.left,
    deleted: total.deleted + page.deleted,
    superseded: total.superseded + page.superseded,
    oldest: [total.oldest, page.oldest].filter(isTime).sort()[0] ?? null,
    newest: [total.newest, page.newest].filter(isTime).sort().at(-1) ?? null,
  };
}

/** All times have the same form, which sorts by time. */
function isTime(time: string | null): time is string {
  return time !== null;
}

/** The plan: how many for each destination, and the oldest and newest of them. */
function toPlan({ replayed, destinations, oldest, newest, ...others }: Total): string {
  const lines = [
    replayed === 0 ? "No delivery would be sent again." : `${deliveries(replayed)} would be sent again:`,
    ...Object.entries(destinations).map(([name, count]) => `  ${printable(name)}: ${deliveries(count)}`),
    ...(oldest === null || newest === null ? [] : [`  of events accepted from ${oldest} to ${newest}`]),
    ...leftOver(others),
  ];
  return lines.join("\n");
}

/** The question before it is done. */
function toQuestion({ replayed, destinations, oldest, newest }: Total): Plan {
  const [name, ...others] = Object.keys(destinations);
  const whose = others.length === 0 ? printable(name ?? "") : `${others.length + 1} destinations`;
  const about = `${deliveries(replayed)} to ${whose}, of events accepted from ${oldest} to ${newest}`;
  return { about, question: replayed === 1 ? "Send it again?" : "Send them again?" };
}

function toResult({ replayed, ...others }: Total): string {
  return [`${deliveries(replayed)} ${replayed === 1 ? "is" : "are"} sent again.`, ...leftOver(others)].join("\n");
}

function leftOver({
  left,
  deleted = 0,
  superseded = 0,
}: Pick<Total, "left" | "deleted" | "superseded">): readonly string[] {
  const stays = (count: number): string => (count === 1 ? "is left as it is" : "are left as they are");
  const whose = deleted === 1 ? "is left as it is: its user was" : "are left as they are: their users were";
  return [
    ...(left === 0
      ? []
      : [
          `  ${deliveries(left)} ${stays(left)}: discarded by command, or for a destination that is no longer in the config`,
        ]),
    ...(deleted === 0 ? [] : [`  ${deliveries(deleted)} ${whose} deleted`]),
    ...(superseded === 0
      ? []
      : [`  ${deliveries(superseded)} ${stays(superseded)}: superseded by a newer call about the user`]),
  ];
}

/** Why fewer were replayed than were counted. */
function goneMeanwhile(gone: number, wanted: number): string {
  const removed = "removed by age or to make room, or sent again by another command";
  return `${deliveries(gone)} of the ${format(wanted)} that were counted had disappeared: ${removed}`;
}

/** Why it did not finish, and how far it came. */
function complaintOf(ended: Exclude<Ended, "done">, done: number, wanted: number): Complaint {
  const progress = progressOf(done, wanted);
  if (ended === "interrupted") {
    return {
      code: EXIT.failed,
      message: `interrupted: ${progress} are sent again, the others are unchanged`,
      error: "interrupted",
    };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} are sent again` };
}
