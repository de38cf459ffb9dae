import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { MB } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { deletionRequested, MOST_USERS } from "../wire/deletions.ts";
import type { Received } from "../wire/fields.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { confirm, type Plan } from "./confirm.ts";
import { addDaemonOptions, askDaemon, type DaemonOptions } from "./daemon.ts";
import { untoldLines } from "./deletions.ts";
import { addHelp, type HelpText } from "./help.ts";
import { readTyped } from "./input.ts";
import { openCounter } from "./progress.ts";
import { format } from "./waiting.ts";

/** `fairlead delete-user`: asks every destination to delete these users. */
export function declareDeleteUser(program: Command, done: Done): void {
  const command = program
    .command("delete-user")
    .summary("have every destination delete a user")
    .description("Notify every destination to delete these users, and end their waiting deliveries.")
    .argument("[userId...]", "the users; or use --from")
    .option("--from <file>", "a file with a userId on each line; - for standard input")
    .option("--source <name>", "only as users of this source; can be repeated (default: all)", collect)
    .option("--erase", "also erase Fairlead's own data about them, once all are notified")
    .option("--suppress", "also refuse their later calls, until fairlead deletions unsuppress")
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option("--json", "print what was started as JSON");
  addHelp(addDaemonOptions(command), HELP).action((ids: readonly string[], options: DeleteOptions) =>
    done(deleteUsers(ids, options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead delete-user u-1234 --erase", "fairlead delete-user --from leavers.txt --erase --suppress"],
  notes: `Other users of this machine can see the arguments of a command, but not the content of a file. --erase does not reach backups, logs and receivers: see docs/deletions.md.`,
  moreExamples: ["fairlead delete-user u-1234 u-5678 --source website --erase --yes"],
};

function collect(name: string, before: readonly string[] = []): readonly string[] {
  return [...before, name];
}

type DeleteOptions = DaemonOptions & UsersOptions & Wishes & { readonly yes?: boolean; readonly json?: boolean };

async function deleteUsers(ids: readonly string[], options: DeleteOptions): Promise<ExitCode> {
  const users = await readUsers(ids, options);
  if ("code" in users) return complain(users);
  const refusal = options.yes ? null : await confirm(toPlan(users, options));
  if (refusal !== null) return complain(refusal);
  const requested: Requested[] = [];
  const failed = await requestAll(users, options, (one) => requested.push(one));
  if (options.json) print(printable(JSON.stringify({ requested })));
  else if (requested.length > 0) print(toWords(requested));
  if (failed === null) return EXIT.done;
  const count = requested.reduce((sum, one) => sum + one.users, 0);
  const before =
    count === 0 ? "" : `; the deletion of the first ${usersOf(count)} was requested, that of the others was not`;
  return complain({ ...failed, message: `${failed.message}${before}` });
}

/** Sends one request for each part. Answers why it ended early, or null. */
async function requestAll(
  users: readonly string[],
  options: DeleteOptions,
  took: (requested: Requested) => void,
): Promise<Complaint | null> {
  const { source: sources, erase = false, suppress = false } = options;
  const bar = openCounter(createClock());
  let done = 0;
  for (const userIds of inParts(users)) {
    const body = { userIds, erase, suppress, ...(sources && { sources }) };
    const answer = await askDaemon(options, { path: "/api/deletions", body, answer: deletionRequested });
    if ("code" in answer) {
      bar.clear();
      return answer;
    }
    const { id, status, notifications, sources: affected, untold } = answer.value;
    took({ id, status, notifications, sources: affected, untold, users: userIds.length });
    done += userIds.length;
    bar.show(done, users.length);
  }
  bar.clear();
  return null;
}

/** The options of the requests. */
type Wishes = { readonly source?: readonly string[]; readonly erase?: boolean; readonly suppress?: boolean };

export function usersOf(count: number): string {
  return count === 1 ? "1 user" : `${format(count)} users`;
}

/** The question before it is done. */
function toPlan(users: readonly string[], { source, erase, suppress }: Wishes): Plan {
  const [one, ...others] = users;
  const who = others.length === 0 ? `user ${printable(one ?? "")}` : usersOf(users.length);
  const where = source ? `of ${source.map(printable).join(", ")}` : "of all sources";
  const more = [
    ...(erase ? ["Fairlead's own data about them will be erased"] : []),
    ...(suppress ? ["their later calls will be refused"] : []),
  ];
  const about = `Every destination that gets events ${where} will be notified to delete ${who}${more.map((text) => `; ${text}`).join("")}`;
  return { about, question: "Continue?" };
}

/** The answer to one part. */
type Requested = Omit<Received<typeof deletionRequested>, "success"> & { readonly users: number };

function toWords(requested: readonly Requested[]): string {
  const lines = requested.flatMap(({ id, users, notifications, untold }) => [
    `${printable(id)}: ${usersOf(users)}, ${notifications === 1 ? "1 notification" : `${format(notifications)} notifications`}`,
    ...(notifications === 0 ? ["  no destination gets events of these sources, so there is none to notify"] : []),
    ...untoldLines(untold).map(printable),
  ]);
  const [one] = requested;
  const next = one ? [`To follow the progress: fairlead deletions show ${printable(one.id)}`] : [];
  return [...lines, ...next].join("\n");
}

/** Enough for more than a million users. */
const MOST_BYTES = 64 * MB;

export type UsersOptions = { readonly from?: string };

/** The users named as arguments and in a file with one on each line; `-` is standard input. Duplicates are removed. */
export async function readUsers(
  ids: readonly string[],
  { from }: UsersOptions,
): Promise<readonly string[] | Complaint> {
  const lines = from === undefined ? [] : await readLines(from);
  if ("code" in lines) return lines;
  const users = [...new Set([...ids, ...lines])];
  const whence =
    from === undefined
      ? "name the users, as fairlead delete-user u-1234, or use --from FILE"
      : `${from} contains no userId`;
  if (users.length === 0) return { code: EXIT.usage, message: whence };
  return users.includes("") ? { code: EXIT.usage, message: "a userId must not be empty" } : users;
}

async function readLines(from: string): Promise<readonly string[] | Complaint> {
  const input = await readTyped(from === "-" ? null : from, {
    what: "the userIds, one per line",
    most: MOST_BYTES,
  });
  if (!input.ok) return { code: EXIT.failed, message: `cannot read ${from}: ${input.why}` };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(input.bytes);
    return text.split(/\r?\n/).filter((line) => line !== "");
  } catch {
    return { code: EXIT.failed, message: `cannot read ${from}: it is not UTF-8` };
  }
}

/** The limit of one request, in characters of the userIds as JSON. */
const MOST_TEXT = 100_000;

/** Splits a list into parts that each fit into one request. */
export function inParts(users: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let size = 0;
  for (const user of users) {
    const length = JSON.stringify(user).length;
    const last = parts.at(-1);
    if (last && last.length < MOST_USERS && size + length <= MOST_TEXT) {
      last.push(user);
      size += length;
    } else {
      parts.push([user]);
      size = length;
    }
  }
  return parts;
}
