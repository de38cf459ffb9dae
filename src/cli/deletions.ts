import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { deletionList, deletionReceipt, erasing, salt, unsuppressed } from "../wire/deletions.ts";
import { MOST_LISTED, type Received } from "../wire/fields.ts";
import { complain, type Done, EXIT, type ExitCode, table } from "./command.ts";
import { addDaemonOptions, askDaemon, type PrintOptions, printAnswer } from "./daemon.ts";
import { inParts, readUsers, type UsersOptions, usersOf } from "./delete-user.ts";
import { addHelp, type HelpText } from "./help.ts";
import { upTo } from "./options.ts";
import { paint } from "./paint.ts";
import { openCounter } from "./progress.ts";
import { format } from "./waiting.ts";

type List = Received<typeof deletionList>;
type Deletion = List["deletions"][number];
type Receipt = Received<typeof deletionReceipt>;

/** `fairlead deletions`: lists deletion requests; `show` prints one in full. */
export function declareDeletions(program: Command, done: Done): void {
  const command = program
    .command("deletions")
    .summary("list deletion requests and their progress")
    .description("List deletion requests and their progress, the newest first.")
    .option("--user <userId>", "only those of this user, erased or not")
    .option("--limit <count>", `how many to list, up to ${MOST_LISTED.deletions}`, upTo(MOST_LISTED.deletions), 20)
    .option("--json", "print them as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: ListOptions) => done(deletions(options)));
  declareShow(command, done);
  declareUnsuppress(command, done);
  declareErase(command, done);
  declareSalt(command, done);
}

const HELP: HelpText = {
  examples: ["fairlead deletions --user u-1234", "fairlead deletions show del-01a1fab66cf4-ec51cfdfc017"],
  notes: `A request is finished when every notification is delivered, and failed if one was given up; fairlead replay sends that again. Requests are kept.`,
};

type ListOptions = PrintOptions & { readonly user?: string; readonly limit: number };

function deletions(options: ListOptions): Promise<ExitCode> {
  const { limit, user } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(user && { user }) });
  return printAnswer(options, { path: `/api/deletions?${query}`, answer: deletionList }, { words: toList });
}

function declareShow(deletions: Command, done: Done): void {
  const command = deletions
    .command("show")
    .summary("show one request in full")
    .description("Show one request: its notifications by source and destination, its users, and what was erased.")
    .argument("<id>", "as fairlead deletions lists it")
    .option("--json", "print it as JSON");
  const one = "fairlead deletions show del-01a1fab66cf4-ec51cfdfc017";
  addHelp(addDaemonOptions(command), { examples: [one, `${one} --json`] }).action((id: string, options: PrintOptions) =>
    done(show(id, options)),
  );
}

function show(id: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: `/api/deletions/${encodeURIComponent(id)}`, answer: deletionReceipt };
  return printAnswer(options, question, { words: toShown });
}

/** The salt is not part of `show`: someone who is shown a receipt could otherwise try userIds. */
function declareSalt(deletions: Command, done: Done): void {
  const command = deletions
    .command("salt")
    .summary("print the salt of the hashes of erased users")
    .description("Print the salt of the hashes of erased users, and the command that computes such a hash.")
    .option("--json", "print it as JSON");
  addHelp(addDaemonOptions(command), {
    examples: ["fairlead deletions salt", "fairlead deletions salt --json"],
  }).action((options: PrintOptions) => done(showSalt(options)));
}

function showSalt(options: PrintOptions): Promise<ExitCode> {
  const question = { path: "/api/deletions/salt", answer: salt };
  const words = ({ salt }: Received<typeof question.answer>) => `${salt}\nprintf '%s' '${salt}:USER_ID' | sha256sum`;
  return printAnswer(options, question, { words });
}

/** `fairlead deletions unsuppress`: accepts calls of these users again. */
function declareUnsuppress(deletions: Command, done: Done): void {
  const command = deletions
    .command("unsuppress")
    .summary("accept calls of suppressed users again")
    .description("Accept calls again from users that were deleted with --suppress.")
    .argument("[userId...]", "the users; or use --from")
    .option("--from <file>", "a file with a userId on each line; - for standard input")
    .option("--json", "print how many were suppressed as JSON");
  addHelp(addDaemonOptions(command), {
    examples: ["fairlead deletions unsuppress u-1234", "fairlead deletions unsuppress --from users.txt"],
  }).action((ids: readonly string[], options: UnsuppressOptions) => done(unsuppress(ids, options)));
}

type UnsuppressOptions = PrintOptions & UsersOptions;

async function unsuppress(ids: readonly string[], options: UnsuppressOptions): Promise<ExitCode> {
  const users = await readUsers(ids, options);
  if ("code" in users) return complain(users);
  const bar = openCounter(createClock());
  let [count, done] = [0, 0];
  for (const userIds of inParts(users)) {
    const ask = { path: "/api/deletions/unsuppress", body: { userIds }, answer: unsuppressed };
    const answer = await askDaemon(options, ask);
    if ("code" in answer) bar.clear();
    if ("code" in answer) return complain(answer);
    count += answer.value.unsuppressed;
    done += userIds.length;
    bar.show(done, users.length);
  }
  bar.clear();
  if (options.json) print(JSON.stringify({ unsuppressed: count }));
  else {
    const were = count === 1 ? "was" : "were";
    print(`${format(count)} of ${usersOf(users.length)} ${were} suppressed. Their calls are accepted now.`);
  }
  return EXIT.done;
}

/** `fairlead deletions erase ID`: erases without waiting for the replay of notifications that were given up. */
function declareErase(deletions: Command, done: Done): void {
  const command = deletions
    .command("erase")
    .summary("erase without the notifications that failed")
    .description(
      "Erase the users of a request now, although some notifications failed. Those are erased too, and are not sent.",
    )
    .argument("<id>", "a request with --erase, as fairlead deletions lists it")
    .option("--json", "print the request as JSON");
  const one = "fairlead deletions erase del-01a1fab66cf4-ec51cfdfc017";
  addHelp(addDaemonOptions(command), { examples: [one, `${one} --json`] }).action((id: string, options: PrintOptions) =>
    done(erase(id, options)),
  );
}

function erase(id: string, options: PrintOptions): Promise<ExitCode> {
  const question = { path: `/api/deletions/${encodeURIComponent(id)}/erase`, body: {}, answer: erasing };
  return printAnswer(options, question, {
    words: ({ deletion: { id } }) => printable(`${id}: ${ERASED_SOON}`),
    json: ({ deletion }) => deletion,
  });
}

const ERASED_SOON = "its users are erased as soon as no notification is being sent.";

/** For people: a line for each request, newest first. */
function toList({ deletions, cursor }: List): string {
  if (deletions.length === 0) return "There are no deletion requests.";
  const head = ["id", "status", "requested", "users", "sent", "waiting", "failed", "options"];
  const rows = deletions.map((one) => {
    const { sent, waiting, givenUp } = sumOf(one);
    const counts = [one.users, sent, waiting, givenUp].map(String);
    const [users = "", ...others] = counts;
    return [one.id, one.requestedAt, users, ...others, wishesOf(one)].map(printable).toSpliced(1, 0, paintStatus(one));
  });
  const last = cursor !== null ? "\n\nThere are more: try --limit." : "";
  return `${table(head, rows)}${last}`;
}

/** For people: everything known about one request. */
function toShown(one: Receipt): string {
  const { id, requestedAt, endedAt, users, scope, sources, notices, erased, untold } = one;
  const from = scope === null ? "all sources" : scope.join(", ");
  const lines = [
    `${id}: ${statusOf(one)}${endedAt === null ? "" : ` since ${endedAt}`}`,
    `  requested ${requestedAt}: ${users === 1 ? "1 user" : `${format(users)} users`} of ${from}${wishesIn(one)}`,
    ...(sources.length === 0 ? ["  No destination gets events of these sources, so there was none to notify."] : []),
    ...notices.map((notice) => `  ${notice.source} to ${notice.destination}: ${countsOf(notice)}`),
    ...untoldLines(untold),
    ...(erased ? [`  erased: ${format(erased.events)} events and ${format(erased.deliveries)} deliveries`] : []),
    ...hintsOf(one),
    "",
    ...one.people.map((person) => `  ${personOf(person)}`),
    ...(one.people.some(({ userId }) => userId === null) ? ["", `  ${RECOGNISE}`] : []),
  ];
  return lines.map(printable).join("\n");
}

function hintsOf({ status, stage, erase, id }: Deletion): readonly string[] {
  if (status !== "failed" || stage !== "settling") return [];
  return [
    "  To list them: fairlead deliveries --type delete --state failed (or expired). To send one again: fairlead replay ID.",
    ...(erase
      ? [`  Nothing is erased until they are delivered. To erase without them: fairlead deletions erase ${id}`]
      : []),
  ];
}

function paintStatus(one: Deletion): string {
  const text = printable(statusOf(one));
  if (one.status === "failed") return paint.bad(text);
  return one.status === "finished" ? paint.good(text) : text;
}

/** The current step, if it is more than waiting for answers. */
function statusOf({ status, stage }: Deletion): string {
  return status === "running" && stage === "erasing" ? "running (erasing)" : status;
}

function wishesOf({ erase, suppress }: Deletion): string {
  return [...(erase ? ["erase"] : []), ...(suppress ? ["suppress"] : [])].join(", ");
}

function wishesIn(one: Deletion): string {
  const wishes = wishesOf(one);
  return wishes === "" ? "" : `, with ${wishes}`;
}

function countsOf(notice: Deletion["notices"][number]): string {
  const counts = (["delivered", "waiting", "failed", "expired", "forgotten"] as const).flatMap((state) =>
    notice[state] > 0 ? [`${format(notice[state])} ${state}`] : [],
  );
  return counts.join(", ");
}

function personOf({ userId, hash, suppressed }: Receipt["people"][number]): string {
  return `${userId ?? `erased, SHA-256 ${hash}`}${suppressed ? " (suppressed)" : ""}`;
}

const RECOGNISE =
  "To find the requests of a user: fairlead deletions --user USER_ID. To compare a hash: fairlead deletions salt";

/** The destinations that are not notified and must be asked by other means. */
export function untoldLines(untold: readonly string[]): readonly string[] {
  return untold.map((name) => `  not notified: ${name}, which received events and is no longer in the config`);
}

function sumOf({ notices }: Deletion) {
  const sum = (count: (one: Deletion["notices"][number]) => number): number =>
    notices.reduce((total, one) => total + count(one), 0);
  return {
    sent: sum(({ delivered, forgotten }) => delivered + forgotten),
    waiting: sum(({ waiting }) => waiting),
    givenUp: sum(({ failed, expired }) => failed + expired),
  };
}
