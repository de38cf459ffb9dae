import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { ComputationClass } from "../model/audience.ts";
import { computationDetail, computationList, synced } from "../wire/computations.ts";
import type { Received } from "../wire/fields.ts";
import type { ExitCode } from "./command.ts";
import { complain, type Done } from "./command.ts";
import { LIST_TYPES, listPathOf, pathOf, type SyncOptions, syncList, toList, toOne, toResult } from "./computations.ts";
import { confirm } from "./confirm.ts";
import { addDaemonOptions, askDaemon, type PrintOptions, printAnswer } from "./daemon.ts";
import { addHelp } from "./help.ts";
import { format } from "./waiting.ts";

/** `fairlead audience sync | list | show | delete`. */
export function declareAudience(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "audience",
    command: "audience",
    summary: "sync lists of users, and notify destinations of changes",
    description:
      "Keep audiences in sync with lists of their members. Destinations get a call for each user who enters or leaves.",
    sync: "Sync an audience with the list of all its members. Destinations get a call for each user who enters or leaves.",
    remove: "Delete an audience. Destinations get a call for each member, with the value false.",
    name: "big-spenders",
    file: "members.csv",
    help: AUDIENCE_HELP,
  });
}

const AUDIENCE_HELP = `The list is CSV with a header (userId), JSON lines, or a JSON array; its elements are user ids, or objects with a userId. It may be compressed (.gz).

The list must be complete: users who are not in it have left. A list that would remove more than half of at least 100 members needs --allow-shrink.`;

/** `fairlead traits sync | list | show | delete`. */
export function declareTraits(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "trait",
    command: "traits",
    summary: "sync computed values of users, and notify destinations",
    description: "Give users values that were computed for them. Destinations get a call for each change.",
    sync: "Sync a trait with a list of users and values. Destinations get a call for each value that changes.",
    remove: "Delete a trait. Destinations get a call for each of its users, with the value null.",
    name: "lifetime-value",
    file: "values.jsonl",
    help: TRAITS_HELP,
  });
}

const TRAITS_HELP = `The list is JSON lines or a JSON array of {"userId": …, "value": …} or [userId, value], or CSV with a header (userId and value; the values are text). It may be compressed (.gz). A value is a string, a number, true or false; null removes it.

Users who are not in the list keep their value.`;

/** What differs between `fairlead audience` and `fairlead traits`. */
type Words = {
  readonly kind: ComputationClass;
  readonly command: string;
  readonly summary: string;
  readonly description: string;
  readonly sync: string;
  readonly remove: string;
  readonly name: string;
  readonly file: string;
  /** About the list. */
  readonly help: string;
};

type PlaceOptions = PrintOptions & { readonly source: string };

/** Declares `fairlead audience` or `fairlead traits` with its commands. */
function declareComputations(program: Command, done: Done, words: Words): void {
  const { command, summary, description, name, file } = words;
  const group = program.command(command).summary(summary).description(description).helpCommand(false);
  const sync = `fairlead ${command} sync ${name} ${file} --source website`;
  addHelp(group, { examples: [sync, `fairlead ${command} list`] });
  declareSync(group, done, words);
  declareList(group, done, words);
  declareShow(group, done, words);
  declareRemove(group, done, words);
}

function declareSync(group: Command, done: Done, { kind, command, sync, name, file, help }: Words): void {
  const declared = group
    .command("sync")
    .summary(`sync ${kind === "audience" ? "an audience" : "a trait"} with a list`)
    .description(sync)
    .argument("<name>", `the ${kind}; in snake_case, the name of the trait that destinations get`)
    .argument("<file>", "the list; - for standard input")
    .requiredOption("--source <name>", "the source that the users belong to")
    .option("--format <format>", `${Object.keys(LIST_TYPES).join(", ")} (default: from the file's name)`)
    .option("--dry-run", "only print what would change")
    .option("--allow-shrink", "allow the loss of more than half of the users")
    .option("--json", "print what was done as JSON");
  const lines = [
    `fairlead ${command} sync ${name} ${file} --source website`,
    `fairlead ${command} sync ${name} ${file} --source website --dry-run`,
  ];
  const format = file.replace(/.*\./, "");
  addHelp(addDaemonOptions(declared), {
    examples: lines,
    notes: help,
    more: "Ctrl-C during the upload changes nothing. Once the upload is complete, the daemon finishes the sync.",
    moreExamples: [`cat ${file} | fairlead ${command} sync ${name} - --source website --format ${format}`],
  }).action((name: string, path: string, options: SyncOptions) => done(syncList({ kind, name }, path, options)));
}

type ListOptions = PrintOptions & { readonly source?: string };

function declareList(group: Command, done: Done, { kind, command }: Words): void {
  const declared = group
    .command("list")
    .summary(`list the ${kind}s`)
    .description(`List the ${kind}s, the newest first, each with its size and its last sync.`)
    .option("--source <name>", "only those of this source")
    .option("--json", "print them as JSON");
  addHelp(addDaemonOptions(declared), {
    examples: [`fairlead ${command} list`, `fairlead ${command} list --source website --json`],
  }).action((options: ListOptions) => done(list(kind, options)));
}

function list(kind: ComputationClass, options: ListOptions): Promise<ExitCode> {
  const question = { path: listPathOf(kind, options.source), answer: computationList[kind] };
  return printAnswer(options, question, {
    words: (value, now) => toList(kind, "audiences" in value ? value.audiences : value.traits, now),
  });
}

function declareShow(group: Command, done: Done, { kind, command, name }: Words): void {
  const declared = group
    .command("show")
    .summary(`show one ${kind} and its last syncs`)
    .description(`Show one ${kind}, and what its last syncs changed.`)
    .argument("<name>", `the ${kind}`)
    .requiredOption("--source <name>", `the source that the ${kind} belongs to`)
    .option("--json", "print it as JSON");
  const one = `fairlead ${command} show ${name} --source website`;
  addHelp(addDaemonOptions(declared), { examples: [one, `${one} --json`] }).action(
    (name: string, options: PlaceOptions) => done(show(kind, name, options)),
  );
}

function show(kind: ComputationClass, name: string, options: PlaceOptions): Promise<ExitCode> {
  const question = { path: pathOf(kind, options.source, name), answer: computationDetail[kind] };
  return printAnswer(options, question, {
    words: (value, now) => toOne("audience" in value ? value.audience : value.trait, value.syncs, now),
  });
}

type RemoveOptions = PlaceOptions & { readonly silent?: boolean; readonly yes?: boolean };

function declareRemove(group: Command, done: Done, { kind, command, remove, name }: Words): void {
  const declared = group
    .command("delete")
    .summary(`delete one ${kind}`)
    .description(remove)
    .argument("<name>", `the ${kind}`)
    .requiredOption("--source <name>", `the source that the ${kind} belongs to`)
    .option("--silent", "do not notify destinations")
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option("--json", "print what was done as JSON");
  const one = `fairlead ${command} delete ${name} --source website`;
  addHelp(addDaemonOptions(declared), { examples: [one, `${one} --silent --yes`] }).action(
    (name: string, options: RemoveOptions) => done(removeOne(kind, name, options)),
  );
}

async function removeOne(kind: ComputationClass, name: string, options: RemoveOptions): Promise<ExitCode> {
  const path = pathOf(kind, options.source, name);
  const found = await askDaemon(options, { path, answer: computationDetail[kind] });
  if ("code" in found) return complain(found);
  const { size } = "audience" in found.value ? found.value.audience : found.value.trait;
  const about = `the ${kind} ${printable(name)} has ${format(size)} ${size === 1 ? "user" : "users"}`;
  const refusal = options.yes ? null : await confirm({ about, question: "Delete it?" });
  if (refusal !== null) return complain(refusal);
  const by = { method: "DELETE" };
  const query = options.silent ? "?silent=1" : "";
  const words = (done: Received<typeof synced>): string => toResult(kind, name, done);
  return printAnswer(options, { path: path + query, by, answer: synced }, { words });
}
