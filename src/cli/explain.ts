import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { reasonOf } from "../model/rules.ts";
import { type At, DAY, formatDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { trail } from "../wire/deliveries.ts";
import type { Received } from "../wire/fields.ts";
import { complain, type Done, EXIT, type ExitCode, examples } from "./command.ts";
import { addDaemonOptions, askDaemon, type PrintOptions } from "./daemon.ts";
import { type Delivery, troubleLines } from "./deliveries.ts";

/** `fairlead explain MESSAGE_ID`: reports what happened to a call. */
export function declareExplain(program: Command, done: Done): void {
  const command = program
    .command("explain")
    .argument("<messageId>", "of the call, as in its client's log or the daemon's answer")
    .description("show what happened to a call (refused, repeated, skipped, waiting, delivered, given up), and why")
    .option("--json", "print what is known as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((messageId: string, options: PrintOptions) => done(explain(messageId, options)));
}

const HELP = `${examples("fairlead explain order-4711", "fairlead explain --json order-4711 | jq .events")}

Exits with 1 if nothing is known of it.`;

type Trail = Received<typeof trail>;
type Event = Trail["events"][number];

async function explain(messageId: string, options: PrintOptions): Promise<ExitCode> {
  const answer = await askDaemon(options, { path: `/api/events/${encodeURIComponent(messageId)}`, answer: trail });
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
    ...trail.rejected.map((one) => [refused(one, now)]),
    ...trail.events.map((event) => eventLines(event, now)),
    ...gone(trail, now),
    ...(trail.troubled.length > 0 ? [troubleLines(trail.troubled, now)] : []),
  ];
  return parts.map((lines) => lines.map(printable).join("\n")).join("\n\n");
}

function refused({ at, source, type, code, message, request, from }: Trail["rejected"][number], now: At): string {
  const what = type === null ? "A call" : `A ${type} call`;
  const whose = source === null ? "of an unknown source" : `of ${source}`;
  const way = `${request} from ${from.address ?? "an unknown address"}`;
  return `${what} ${whose} was refused at the door ${when(at, now)}: ${code}: ${message} It came as ${way}.`;
}

/** The event, and a line for each destination. */
function eventLines(event: Event, now: At): readonly string[] {
  const { type, source, userId, acceptedAt, deliveries, skipped, forgotten } = event;
  const user = userId === null ? "" : ` of user ${userId}`;
  const fates = [
    ...deliveries.map((one) => `  ${one.destination}: ${fate(one, event, now)}`),
    ...skipped.map(({ destination, rule }) => `  ${destination}: does not get it, because ${reasonOf(rule)}.`),
    ...forgotten.map((name) => `  ${name}: ${FORGOTTEN}`),
  ];
  return [
    `A ${type} call${user} from ${source} was taken ${when(acceptedAt, now)}, as event ${event.event}.`,
    ...(isOwn(event) ? [] : [`  ${repeats(event, now)}`]),
    ...(fates.length > 0 ? fates : [event.whole ? "  There was no destination for it." : ""]),
    ...(event.whole ? [] : [`  ${NOT_WHOLE}`]),
  ].filter((line) => line !== "");
}

const FORGOTTEN =
  "its first attempt did not deliver it; what became of it then is not known any more (outbox.keepDelivered, outbox.keepFailed).";
const NOT_WHOLE =
  "Other destinations may have got it: what was delivered at once is kept for outbox.keepDelivered only.";

/** Whether this server chose the id, so that no other call can have it. */
function isOwn({ messageId }: Event): boolean {
  return /^(fl|delete)-[0-9a-f]{12}-/.test(messageId);
}

function repeats({ source, acceptedAt }: Event, now: At): string {
  const until = Date.parse(acceptedAt) + DAY;
  const one = `another call from ${source} with this messageId`;
  if (until > now)
    return `Until ${iso(until)}, ${one} is a repeat of it: acknowledged, counted, and not delivered again.`;
  return `For 24 hours, until ${iso(until)}, ${one} was a repeat of it. Whether there was any is only counted.`;
}

function fate(one: Delivery & { readonly served: string }, { acceptedAt }: Event, now: At): string {
  const { state, settledAt, url, status, reason } = one;
  if (state === "waiting") return waiting(one, now);
  const at = settledAt ?? acceptedAt;
  const from = one.replayedAt ?? acceptedAt;
  const after = `${formatDuration(Math.max(0, Date.parse(at) - Date.parse(from)))} after it ${one.replayedAt ? "was sent again by command" : "came"}`;
  if (state === "delivered") return `delivered ${at}, ${after}, ${rounds(one)}, by ${url}, which answered ${status}.`;
  return `${state} ${at}, ${after}, ${rounds(one)}: ${reason}. See \`fairlead deliveries show ${one.id}\`.`;
}

function rounds({ attempts }: Delivery): string {
  if (attempts === 0) return "without an attempt";
  return attempts === 1 ? "by its first attempt" : `after ${attempts} rounds of attempts`;
}

function waiting(one: Delivery & { readonly served: string }, now: At): string {
  const { id, attempts, dueAt, heldBack, reason, served, replayedAt } = one;
  const gone = served === "yes" ? "" : ` Nothing is delivered to it now: the destination is ${served}.`;
  if (reason === null) {
    const what = heldBack?.why ?? "its first attempt";
    return `${replayedAt ? "is being sent again by command, and waits" : "waits"} for ${what}.${gone}`;
  }
  const due = heldBack
    ? `for ${heldBack.why}`
    : dueAt === null || Date.parse(dueAt) <= now
      ? "for its turn"
      : `until ${dueAt}`;
  const so = attempts === 0 ? "" : `, after ${attempts === 1 ? "one round" : `${attempts} rounds`} of attempts`;
  return `waits ${due}${so}; the last one: ${reason}. See \`fairlead deliveries show ${id}\`.${gone}`;
}

/** Calls that were accepted, according to their remembered ids, and of which nothing else is known. */
function gone({ seen, events, complete }: Trail, now: At): readonly (readonly string[])[] {
  const missing = seen.filter(({ source }) => !events.some((event) => event.source === source));
  const why = complete ? NOT_KEPT : "Its event was not found among the newest; older ones were not looked through.";
  return missing.map(({ source, at }) => [`A call from ${source} was taken ${when(at, now)}.`, `  ${why}`]);
}

const NOT_KEPT =
  "Its event is no longer stored, so none of its deliveries is waiting: settled ones are kept for outbox.keepDelivered and outbox.keepFailed.";

function unknown({ messageId, rejectedSince, complete, limited }: Trail): string {
  const searched = complete
    ? "No event that is kept has it, and no source of the config has sent it in the last 24 hours."
    : "None of the newest events has it, and no source of the config has sent it in the last 24 hours; older ones were not looked through.";
  return [
    `Nothing is known of ${printable(messageId)}.`,
    `  ${searched}`,
    `  It is not among the last refusals, which are remembered since ${printable(rejectedSince)}: \`fairlead rejected\` shows them.`,
    ...limited.map(limits),
    "  It may never have come; or it was delivered, or given up, longer ago than outbox.keepDelivered or outbox.keepFailed.",
  ].join("\n");
}

function limits({ source, code, since, until, requests }: Trail["limited"][number]): string {
  const refused = `${requests} ${requests === 1 ? "request" : "requests"} of ${source}`;
  return printable(`  From ${since} to ${until}, ${refused} got ${code}, of which only the last one is shown there.`);
}

function when(time: string, now: At): string {
  return `${time} (${formatDuration(Math.max(0, now - Date.parse(time)))} ago)`;
}

function iso(at: At): string {
  return new Date(at).toISOString();
}
