import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { parseExactly } from "../model/json.ts";
import { type At, formatDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { deliveryDetail, deliveryList, STATES } from "../wire/deliveries.ts";
import { MOST_LISTED as MOST_IN_PAGE, type Received } from "../wire/fields.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, examples, table } from "./command.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions, type PrintOptions, printAnswer } from "./daemon.ts";
import { addFilterOptions, type Filter, filterOf, oneOf, upTo } from "./options.ts";

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
    .description("list deliveries (waiting, delivered, failed or expired) with the reason; or show one of them")
    .option("--state <state>", "waiting, delivered, failed or expired", oneOf(STATES));
  addFilterOptions(command)
    .option("--limit <count>", `how many, up to ${MOST_LISTED}`, upTo(MOST_LISTED), LISTED_BY_DEFAULT)
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

type ListOptions = DaemonOptions & Filter & { readonly limit: number; readonly json?: boolean };

async function deliveries(options: ListOptions): Promise<ExitCode> {
  const { limit, json } = options;
  const list = await readList(options);
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
    .argument("<id>", "as `fairlead deliveries` lists it: the number of the event and the destination, 42-crm")
    .description("show one delivery: its request, without secrets, its body, and its attempts as a timeline")
    .option("--json", "print it as JSON");
  addDaemonOptions(command)
    .addHelpText("after", SHOW_HELP)
    .action((id: string, options: PrintOptions) => done(show(id, options)));
}

const SHOW_HELP = `${examples("fairlead deliveries show 42-crm", "fairlead deliveries show 42-crm --json | jq -r .body")}

The headers are those that the config gives now. Of many attempts the first
five and the last five are kept.`;

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
    printable(one.state),
    one.settledAt ?? one.replayedAt ?? one.acceptedAt,
    String(one.attempts),
    printable(one.source),
    printable(one.type),
    cut(printable(one.userId ?? "-"), MOST_OF_USER),
    cut(printable(whyOf(one, asked.now)), MOST_OF_REASON),
  ]);
  const head = ["id", "state", "since", "attempts", "source", "type", "user", "why"];
  const trouble = troubleLines(asked.troubled ?? [], asked.now);
  return [table([head, ...rows]), "", ...trouble, summary(deliveries.length, asked)].join("\n");
}

const NONE =
  "There is no such delivery, or it was pruned: outbox.keepDelivered and outbox.keepFailed set how long they are kept.";

/** In columns: a line should fit on a screen. */
const MOST_OF_USER = 24;
const MOST_OF_REASON = 80;

function whyOf({ state, dueAt, heldBack, attempts, replayedAt, reason, status, url }: Delivery, now: At): string {
  if (state === "delivered") return `${status} from ${url}`;
  if (state !== "waiting") return reason ?? "";
  if (heldBack) return `waits for ${heldBack.why}${reason === null ? "" : `; last: ${reason}`}`;
  if (attempts === 0 && reason === null) return replayedAt ? "it is sent again" : "its first attempt is due";
  return `next ${whenDue(dueAt, now)}: ${reason ?? "no attempt yet"}`;
}

function whenDue(dueAt: string | null, now: At): string {
  const wait = dueAt === null ? 0 : Date.parse(dueAt) - now;
  return wait > 0 ? `in ${formatDuration(wait)}` : "when its turn comes";
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function summary(shown: number, { limit, most, more }: Asked): string {
  const count = shown === 1 ? "One delivery" : `${shown} deliveries, the newest first`;
  if (!more) return `${count}.`;
  const rest =
    limit < most ? `--limit ${Math.min(limit * 10, most)} shows more` : "--until the time of the last line shows more";
  return `${count}. There are others: ${rest}.`;
}

/** For people: what it is, its state, its request, and each attempt. `now`: by the wall clock. */
export function detailWords(one: Detail, now: At): string {
  return [about(one, now), requests(one), showBody(one.body), timeline(one, now)].join("\n\n");
}

function about(one: Detail, now: At): string {
  const { id, state, type, messageId, userId, source, destination, acceptedAt, attempts, replayedAt } = one;
  const user = userId === null ? "" : ` of user ${userId}`;
  return [
    `delivery ${id}: ${state}`,
    `  event     ${type} ${messageId}${user}`,
    `  from      ${source}, taken ${acceptedAt} (${formatDuration(Math.max(0, now - Date.parse(acceptedAt)))} ago)`,
    `  to        ${destination}`,
    ...(replayedAt ? [`  replayed  ${replayedAt}: what came before does not count`] : []),
    `  attempts  ${attempts === 1 ? "1 round" : `${attempts} rounds`}`,
    ...standing(one, now),
    ...one.finals.map(({ url, reason }) => `  refused   by ${url} for good: ${reason}`),
  ]
    .map(printable)
    .join("\n");
}

function standing(
  { state, dueAt, heldBack, settledAt, url, status, reason, troubled }: Detail,
  now: At,
): readonly string[] {
  if (state === "delivered") return [`  delivered ${settledAt} to ${url}, which answered ${status}`];
  const why = reason === null ? [] : [`  reason    ${reason}`];
  if (state !== "waiting") return [`  since     ${settledAt}`, ...why];
  const lines = troubleLines(troubled, now).map((line) => `  but       ${line}`);
  if (heldBack) lines.unshift(`  but       it waits for ${heldBack.why}`);
  return [...why, `  next      ${whenDue(dueAt, now)} (${dueAt})`, ...lines];
}

function requests({ requests, destination }: Detail): string {
  if (requests.length === 0) return printable(`The config has no destination ${destination} now: nothing is sent.`);
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
  const left = omitted === 0 ? [] : [`  … ${omitted} more, which are not kept …`];
  const lines = [
    ...withWaits(first),
    ...(omitted === 0 ? waitBetween(first.at(-1), last[0]) : left),
    ...withWaits(last),
  ];
  const next = one.state === "waiting" ? [`  next ${whenDue(one.dueAt, now)}`] : [];
  if (lines.length === 0 && one.attempts > 0) return ["The attempts so far are not known.", ...next].join("\n");
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
  if (answer === null) return status === null || outcome === "delivered" ? [] : ["(its text did not come in time)"];
  return answer === "" ? [] : answer.trimEnd().split(/\r?\n/);
}

/** A line for each: since when it fails, its last answer, and when it is tried again. `now`: by the wall clock. */
export function troubleLines(troubled: readonly Troubled[], now: At): readonly string[] {
  return troubled.map((one) => printable(`${one.destination}: ${one.url} ${describeTrouble(one, now)}`));
}

const TROUBLE: Readonly<Record<string, string>> = {
  failing: "takes nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine has no network",
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
