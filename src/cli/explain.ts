import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { reasonOf } from "../model/rules.ts";
import { type At, DAY, formatDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { trail } from "../wire/deliveries.ts";
import type { Received } from "../wire/fields.ts";
import { complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { ASKING, addDaemonOptions, askDaemon, type PrintOptions } from "./daemon.ts";
import { type Delivery, troubleLines } from "./deliveries.ts";
import { addHelp, type HelpText } from "./help.ts";
import { type Painter, paint } from "./paint.ts";
import { showWhile } from "./progress.ts";

/** `fairlead explain MESSAGE_ID`: reports what happened to a call. */
export function declareExplain(program: Command, done: Done): void {
  const command = program
    .command("explain")
    .summary("explain what happened to a call, and why")
    .description(
      "Explain what happened to a call, and why: refused, a repeat, skipped, waiting, delivered or given up.",
    )
    .argument("<messageId>", "the call's messageId, from the client's log or the daemon's answer")
    .option("--json", "print what is known as JSON");
  addHelp(addDaemonOptions(command), HELP).action((messageId: string, options: PrintOptions) =>
    done(explain(messageId, options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead explain order-4711", "fairlead explain order-4711 --json | jq .events"],
  notes: "The exit code is 1 if nothing is known of the call.",
};

type Trail = Received<typeof trail>;
type Event = Trail["events"][number];

async function explain(messageId: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: `/api/events/${encodeURIComponent(messageId)}`, answer: trail };
  const answer = await showWhile(ASKING, askDaemon(options, question));
  if ("code" in answer) return complain(answer);
  print(options.json ? printable(JSON.stringify(answer.value)) : toWords(answer.value, createClock().wall()));
  return isKnown(answer.value) ? EXIT.done : EXIT.failed;
}

function isKnown({ rejected, events, seen }: Trail): boolean {
  return rejected.length + events.length + seen.length > 0;
}

/** For people, in sentences: what happened to a call. `now`: by the wall clock. */
export function toWords(trail: Trail, now: At): string {
  if (!isKnown(trail)) return unknown(trail);
  const parts = [
    ...trail.rejected.map((one) => [paint.bad(printable(refused(one, now)))]),
    ...trail.events.map((event) => eventLines(event, now)),
    ...gone(trail, now).map((lines) => lines.map(printable)),
    ...(trail.troubled.length > 0 ? [troubleLines(trail.troubled, now)] : []),
  ];
  return parts.map((lines) => lines.join("\n")).join("\n\n");
}

function refused({ at, source, type, code, message, request, from }: Trail["rejected"][number], now: At): string {
  const what = type === null ? "A call" : `A ${type} call`;
  const whose = source === null ? "of an unknown source" : `of ${source}`;
  const way = `${request} from ${from.address ?? "an unknown address"}`;
  return `${what} ${whose} was refused ${when(at, now)}: ${code}: ${message} It came as ${way}.`;
}

/** The event, and a line for each destination. */
function eventLines(event: Event, now: At): readonly string[] {
  const { type, source, userId, acceptedAt, deliveries, skipped, forgotten } = event;
  const user = userId === null ? "" : ` of user ${userId}`;
  const fates = [
    ...deliveries.map((one) => paintFate(one.state)(printable(`  ${one.destination}: ${fate(one, event, now)}`))),
    ...skipped.map(({ destination, rule }) =>
      printable(`  ${destination}: does not get it, because ${reasonOf(rule)}.`),
    ),
    ...forgotten.map((name) => printable(`  ${name}: ${FORGOTTEN}`)),
  ];
  const head = `A ${type} call${user} from ${source} was accepted ${when(acceptedAt, now)}, as event ${event.event}.`;
  return [
    printable(head),
    ...(isOwn(event) ? [] : [printable(`  ${repeats(event, now)}`)]),
    ...(fates.length > 0 ? fates : [event.whole ? "  No destination was configured." : ""]),
    ...(event.whole ? [] : [`  ${NOT_WHOLE}`]),
  ].filter((line) => line !== "");
}

function paintFate(state: string): Painter {
  if (state === "failed" || state === "expired") return paint.bad;
  return state === "delivered" ? paint.good : (text) => text;
}

const FORGOTTEN =
  "the first attempt failed; its later result has been removed (outbox.keepDelivered, outbox.keepFailed).";
const NOT_WHOLE =
  "Other destinations may have got it: deliveries that succeed at once are kept only for outbox.keepDelivered.";

/** Whether this server chose the id, so that no other call can have it. */
function isOwn({ messageId }: Event): boolean {
  return /^(fl|delete)-[0-9a-f]{12}-/.test(messageId);
}

function repeats({ source, acceptedAt }: Event, now: At): string {
  const until = Date.parse(acceptedAt) + DAY;
  const one = `another call from ${source} with this messageId`;
  if (until > now) return `Until ${iso(until)}, ${one} is a repeat: acknowledged, counted, and not delivered.`;
  return `Until ${iso(until)}, ${one} was a repeat. Repeats are counted, not stored.`;
}

function fate(one: Delivery & { readonly served: string }, { acceptedAt }: Event, now: At): string {
  const { state, settledAt, url, status, reason } = one;
  if (state === "waiting") return waiting(one, now);
  const at = settledAt ?? acceptedAt;
  const from = one.replayedAt ?? acceptedAt;
  const after = `${formatDuration(Math.max(0, Date.parse(at) - Date.parse(from)))} after ${one.replayedAt ? "its replay" : "acceptance"}`;
  if (state === "delivered") return `delivered ${at}, ${after}, ${rounds(one)}: ${url} answered ${status}.`;
  return `${state} ${at}, ${after}, ${rounds(one)}: ${reason}. See \`fairlead deliveries show ${one.id}\`.`;
}

function rounds({ attempts }: Delivery): string {
  if (attempts === 0) return "without an attempt";
  return attempts === 1 ? "at the first attempt" : `after ${attempts} rounds of attempts`;
}

function waiting(one: Delivery & { readonly served: string }, now: At): string {
  const { id, attempts, dueAt, heldBack, reason, served, replayedAt } = one;
  const gone = served === "yes" ? "" : ` Nothing is delivered to it now: the destination is ${served}.`;
  if (reason === null) {
    const what = heldBack?.why ?? "its first attempt";
    return `${replayedAt ? "was replayed, and waits" : "waits"} for ${what}.${gone}`;
  }
  const due = heldBack
    ? `for ${heldBack.why}`
    : dueAt === null || Date.parse(dueAt) <= now
      ? "for a free slot"
      : `until ${dueAt}`;
  const so = attempts === 0 ? "" : `, after ${attempts === 1 ? "1 round" : `${attempts} rounds`} of attempts`;
  return `waits ${due}${so}; last result: ${reason}. See \`fairlead deliveries show ${id}\`.${gone}`;
}

/** Calls that were accepted, by their remembered ids, and of which nothing else is known. */
function gone({ seen, events, complete }: Trail, now: At): readonly (readonly string[])[] {
  const missing = seen.filter(({ source }) => !events.some((event) => event.source === source));
  const why = complete ? NOT_KEPT : "Its event is not among the newest ones; older ones were not searched.";
  return missing.map(({ source, at }) => [`A call from ${source} was accepted ${when(at, now)}.`, `  ${why}`]);
}

const NOT_KEPT =
  "Its event is no longer stored, so none of its deliveries is waiting: outbox.keepDelivered and outbox.keepFailed say how long settled ones are kept.";

function unknown({ messageId, rejectedSince, complete, limited }: Trail): string {
  const searched = complete
    ? "No stored event has this messageId, and no source of the config has sent it in the last 24 hours."
    : "None of the newest events has this messageId, and no source of the config has sent it in the last 24 hours. Older events were not searched.";
  return [
    `Nothing is known of ${printable(messageId)}.`,
    `  ${searched}`,
    `  It is not among the refused calls since ${printable(rejectedSince)}: \`fairlead rejected\` lists them.`,
    ...limited.map(limits),
    "  Either it never came, or it was settled so long ago that it was removed (outbox.keepDelivered, outbox.keepFailed).",
  ].join("\n");
}

function limits({ source, code, since, until, requests }: Trail["limited"][number]): string {
  const refused = `${requests} ${requests === 1 ? "request" : "requests"} of ${source}`;
  return printable(`  From ${since} to ${until}, ${refused} got ${code}. Only the last of them is listed there.`);
}

function when(time: string, now: At): string {
  return `${time} (${formatDuration(Math.max(0, now - Date.parse(time)))} ago)`;
}

function iso(at: At): string {
  return new Date(at).toISOString();
}
