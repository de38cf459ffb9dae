import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { parseExactly } from "../model/json.ts";
import { type At, formatDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { deliveryDetail, deliveryList, STATES } from "../wire/deliveries.ts";
import { MOST_LISTED as MOST_IN_PAGE, type Received } from "../wire/fields.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, table } from "./command.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions, type PrintOptions, printAnswer } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { addFilterOptions, type Filter, filterOf, oneOf, upTo } from "./options.ts";
import { paint } from "./paint.ts";
import { showWhile } from "./progress.ts";

/** The most that are listed, and the default. */
const MOST_LISTED = 10_000;
const LISTED_BY_DEFAULT = 20;

type List = Received<typeof deliveryList>;
export type Delivery = List["deliveries"][number];
type Troubled = List["troubled"][number];
export type Detail = Received<typeof deliveryDetail>;
type Attempt = Detail["log"]["first"][number];

/** `fairlead deliveries`: lists deliveries by state; `show` prints one in full. */
export function declareDeliveries(program: Command, done: Done): void {
  const command = program
    .command("deliveries")
    .summary("list deliveries by state, or show one in full")
    .description("List deliveries, the newest first, each with its state and the reason.")
    .option("--state <state>", "waiting, delivered, failed or expired", oneOf(STATES));
  addFilterOptions(command)
    .option("--limit <count>", `how many to list, up to ${MOST_LISTED}`, upTo(MOST_LISTED), LISTED_BY_DEFAULT)
    .option("--json", "print them as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: ListOptions) => done(deliveries(options)));
  declareShow(command, done);
}

const HELP: HelpText = {
  examples: ["fairlead deliveries --state expired --since 2h", "fairlead deliveries show 42-crm"],
  notes: `--since and --until select by the time at which a delivery came into its state. For a waiting delivery, that is when its event was accepted. Times without a zone are in this machine's zone.`,
  moreExamples: ["fairlead deliveries --destination crm --user u-1234 --json"],
};

type ListOptions = DaemonOptions & Filter & { readonly limit: number; readonly json?: boolean };

async function deliveries(options: ListOptions): Promise<ExitCode> {
  const { limit, json } = options;
  const list = await showWhile("searching", readList(options));
  if ("code" in list) return complain(list);
  // Characters that would move the cursor are escaped in JSON too.
  if (json) print(printable(JSON.stringify(list)));
  else {
    const { cursor, troubled } = list;
    const asked = { limit, most: MOST_LISTED, more: cursor !== null, now: createClock().wall(), troubled };
    print(listWords(list.deliveries, asked));
  }
  return EXIT.done;
}

/**
 * Reads page after page: the daemon looks at a bounded number of deliveries for each, and a page may be partial or empty.
 */
async function readList(options: ListOptions): Promise<List | Complaint> {
  const found: Delivery[] = [];
  const troubled = new Map<string, Troubled>();
  let cursor: string | null = null;
  do {
    const path = pathFor(options, { limit: Math.min(options.limit - found.length, MOST_IN_PAGE.deliveries), cursor });
    const answer: { readonly value: List } | Complaint = await askDaemon(options, { path, answer: deliveryList });
    if ("code" in answer) return answer;
    found.push(...answer.value.deliveries);
    for (const one of answer.value.troubled) troubled.set(`${one.destination} ${one.url}`, one);
    cursor = answer.value.cursor;
  } while (cursor !== null && found.length < options.limit);
  return { deliveries: found, cursor, troubled: [...troubled.values()] };
}

type Page = { readonly limit: number; readonly cursor: string | null };

function pathFor(options: Filter, { limit, cursor }: Page): string {
  const query = new URLSearchParams({ limit: String(limit), ...filterOf(options) });
  if (cursor !== null) query.set("cursor", cursor);
  return `/api/deliveries?${query}`;
}

/** `fairlead deliveries show ID`: prints everything known about one delivery. */
function declareShow(deliveries: Command, done: Done): void {
  const command = deliveries
    .command("show")
    .summary("show one delivery in full")
    .description("Show one delivery: its request without secrets, its body, and its attempts as a timeline.")
    .argument("<id>", "as fairlead deliveries lists it, such as 42-crm")
    .option("--json", "print it as JSON");
  addHelp(addDaemonOptions(command), SHOW_HELP).action((id: string, options: PrintOptions) => done(show(id, options)));
}

const SHOW_HELP: HelpText = {
  examples: ["fairlead deliveries show 42-crm", "fairlead deliveries show 42-crm --json | jq -r .body"],
  notes: "The headers are those of the current config. Of many attempts, the first five and the last five are kept.",
};

function show(id: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: `/api/deliveries/${encodeURIComponent(id)}`, answer: deliveryDetail };
  return printAnswer(options, question, { words: detailWords });
}

/** The request. `more`: whether there are others. `now`: by the wall clock. */
type Asked = {
  readonly limit: number;
  readonly most: number;
  readonly more: boolean;
  readonly now: At;
  /** The failing webhooks that some of them wait for. */
  readonly troubled?: readonly Troubled[];
};

/** For people: a line for each, newest first. */
export function listWords(deliveries: readonly Delivery[], asked: Asked): string {
  if (deliveries.length === 0) return NONE;
  const rows = deliveries.map((one) => [
    printable(one.id),
    paintState(one.state),
    printable(one.settledAt ?? one.replayedAt ?? one.acceptedAt),
    String(one.attempts),
    printable(one.source),
    printable(one.type),
    cut(printable(one.userId ?? "-"), MOST_OF_USER),
    cut(printable(whyOf(one, asked.now)), MOST_OF_REASON),
  ]);
  const head = ["id", "state", "since", "attempts", "source", "type", "user", "why"];
  const trouble = troubleLines(asked.troubled ?? [], asked.now);
  return [table(head, rows), "", ...trouble, summary(deliveries.length, asked)].join("\n");
}

const NONE = "No delivery matches. Old ones are removed: outbox.keepDelivered and outbox.keepFailed say when.";

function paintState(state: string): string {
  if (state === "failed" || state === "expired") return paint.bad(state);
  return state === "delivered" ? paint.good(state) : printable(state);
}

/** In columns: a line should fit on a screen. */
const MOST_OF_USER = 24;
const MOST_OF_REASON = 80;

function whyOf({ state, dueAt, heldBack, attempts, replayedAt, reason, status, url }: Delivery, now: At): string {
  if (state === "delivered") return `${status} from ${url}`;
  if (state !== "waiting") return reason ?? "";
  if (heldBack) return `waits for ${heldBack.why}${reason === null ? "" : `; last: ${reason}`}`;
  if (attempts === 0 && reason === null) return replayedAt ? "to be sent again" : "first attempt is due";
  return `next ${whenDue(dueAt, now)}: ${reason ?? "no attempt yet"}`;
}

function whenDue(dueAt: string | null, now: At): string {
  const wait = dueAt === null ? 0 : Date.parse(dueAt) - now;
  return wait > 0 ? `in ${formatDuration(wait)}` : "when a slot is free";
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function summary(shown: number, { limit, most, more }: Asked): string {
  const count = shown === 1 ? "1 delivery" : `${shown} deliveries, the newest first`;
  if (!more) return `${count}.`;
  const rest = limit < most ? `--limit ${Math.min(limit * 10, most)}` : "--until with the time of the last line";
  return `${count}. There are more: try ${rest}.`;
}

/** For people: what it is, its state, its request, and each attempt. `now`: by the wall clock. */
export function detailWords(one: Detail, now: At): string {
  return [about(one, now), requests(one), showBody(one.body), timeline(one, now)].join("\n\n");
}

function about(one: Detail, now: At): string {
  const { id, state, type, messageId, userId, source, destination, acceptedAt, attempts, replayedAt } = one;
  const user = userId === null ? "" : ` of user ${userId}`;
  const lines = [
    `  event     ${type} ${messageId}${user}`,
    `  from      ${source}, accepted ${acceptedAt} (${formatDuration(Math.max(0, now - Date.parse(acceptedAt)))} ago)`,
    `  to        ${destination}`,
    ...(replayedAt ? [`  replayed  ${replayedAt}; earlier attempts do not count`] : []),
    `  attempts  ${attempts === 1 ? "1 round" : `${attempts} rounds`}`,
    ...standing(one, now),
    ...one.finals.map(({ url, reason }) => `  refused   permanently by ${url}: ${reason}`),
  ];
  return [`delivery ${printable(id)}: ${paintState(state)}`, ...lines.map(printable)].join("\n");
}

function standing(
  { state, dueAt, heldBack, settledAt, url, status, reason, troubled }: Detail,
  now: At,
): readonly string[] {
  if (state === "delivered") return [`  delivered ${settledAt} to ${url}, which answered ${status}`];
  const why = reason === null ? [] : [`  reason    ${reason}`];
  if (state !== "waiting") return [`  since     ${settledAt}`, ...why];
  const lines = troubleLines(troubled, now).map((line) => `  but       ${line}`);
  if (heldBack) lines.unshift(`  but       held back for ${heldBack.why}`);
  return [...why, `  next      ${whenDue(dueAt, now)} (${dueAt})`, ...lines];
}

function requests({ requests, destination }: Detail): string {
  if (requests.length === 0)
    return printable(`The destination ${destination} is not in the config now: nothing is sent.`);
  const blocks = requests.map(({ url, headers }) =>
    [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`)].map(printable).join("\n"),
  );
  return blocks.join("\n");
}

/** A body, laid out and indented. */
export function showBody(body: string): string {
  return layOut(body)
    .split("\n")
    .map((line) => printable(`  ${line}`))
    .join("\n");
}

function layOut(body: string): string {
  try {
    return JSON.stringify(parseExactly(body), null, 2);
  } catch {
    return body;
  }
}

/** Every stored attempt, the waits between them, and what comes next. */
function timeline(one: Detail, now: At): string {
  const { first, omitted, last } = one.log;
  const left = omitted === 0 ? [] : [`  … ${omitted} attempts are not kept …`];
  const lines = [
    ...withWaits(first),
    ...(omitted === 0 ? waitBetween(first.at(-1), last[0]) : left),
    ...withWaits(last),
  ];
  const next = one.state === "waiting" ? [`  next ${whenDue(one.dueAt, now)}`] : [];
  if (lines.length === 0 && one.attempts > 0) return ["The attempts are not known.", ...next].join("\n");
  if (lines.length === 0) return one.state === "waiting" ? "No attempt yet." : "No attempt was made.";
  return ["attempts", ...lines, ...next].join("\n");
}

function withWaits(attempts: readonly Attempt[]): readonly string[] {
  return attempts.flatMap((attempt, nth) => [...waitBetween(attempts[nth - 1], attempt), ...describe(attempt)]);
}

/** Webhooks of a round are asked at once, with no wait between them. */
function waitBetween(before: Attempt | undefined, after: Attempt | undefined): readonly string[] {
  if (!before || !after) return [];
  const wait = Date.parse(after.at) - Date.parse(before.at) - (before.duration ?? 0);
  return wait <= 0 ? [] : [`    ${formatDuration(wait)} later`];
}

function describe({ at, trigger, outcome, reason, duration, url, ...attempt }: Attempt): readonly string[] {
  const took = duration === null ? "" : ` after ${formatDuration(duration)}`;
  const line = `  ${at}  ${trigger}: ${reason}${took} (${MEANING[outcome] ?? outcome}), ${url}`;
  return [printable(line), ...answerOf({ outcome, ...attempt }).map((text) => `      | ${printable(text)}`)];
}

const MEANING: Readonly<Record<string, string>> = {
  delivered: "delivered",
  retry: "to be retried",
  final: "final",
  offline: "never left this machine",
};

function answerOf({ answer, status, outcome }: Pick<Attempt, "answer" | "status" | "outcome">): readonly string[] {
  if (answer === null) return status === null || outcome === "delivered" ? [] : ["(the answer's body came too late)"];
  return answer === "" ? [] : answer.trimEnd().split(/\r?\n/);
}

/** A line for each: since when it fails, its last answer, and when it is tried again. `now`: by the wall clock. */
export function troubleLines(troubled: readonly Troubled[], now: At): readonly string[] {
  return troubled.map((one) => printable(`${one.destination}: ${one.url} ${describeTrouble(one, now)}`));
}

const TROUBLE: Readonly<Record<string, string>> = {
  failing: "accepts nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine is offline",
};

function describeTrouble({ state, failingSince, lastFailure, nextTryAt }: Troubled, now: At): string {
  const since = failingSince === null ? "" : ` for ${formatDuration(Math.max(0, now - Date.parse(failingSince)))}`;
  const last = lastFailure === null ? "" : `, last answer: ${lastFailure.reason}`;
  return `${TROUBLE[state] ?? state}${since}${last}${nextTry(nextTryAt, now)}`;
}

function nextTry(nextTryAt: string | null, now: At): string {
  const wait = nextTryAt === null ? 0 : Date.parse(nextTryAt) - now;
  return wait < 1_000 ? "" : `, next try in ${formatDuration(wait)}`;
}
