import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { ComputationClass } from "../model/audience.ts";
import { computationDetail, computationList, synced } from "../wire/computations.ts";
import type { Received } from "../wire/fields.ts";
import type { ExitCode } from "./command.ts";
import { complain, type Done, examples } from "./command.ts";
import { LIST_TYPES, listPathOf, pathOf, type SyncOptions, syncList, toList, toOne, toResult } from "./computations.ts";
import { confirm } from "./confirm.ts";
import { addDaemonOptions, askDaemon, type PrintOptions, printAnswer } from "./daemon.ts";
import { format } from "./waiting.ts";

/** `fairlead audience sync | list | show | delete`. */
export function declareAudience(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "audience",
    command: "audience",
    description:
      "keep audiences in step with lists of their members; receivers are notified of each user who enters or leaves",
    sync: "compare an audience with the list of all its members, and send a call for each who enters or leaves",
    remove: "delete an audience; its members get false",
    name: "big-spenders",
    file: "members.csv",
    help: AUDIENCE_HELP,
  });
}

const AUDIENCE_HELP = `The list is CSV with a header (userId), JSON lines or a JSON array of user ids,
or of objects with a userId; it may end in .gz. It has to be the whole of it:
users who are missing have left. One that would remove more than half of at least
100 members is refused unless --allow-shrink says that it is meant. Ctrl-C ends
the upload, and nothing is changed; what has begun by then, the daemon finishes.`;

/** `fairlead traits sync | list | show | delete`. */
export function declareTraits(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "trait",
    command: "traits",
    description: "give users the values that were computed for them; receivers are notified of each change",
    sync: "compare a trait with a list of users and values; a call goes out for each whose value is another one",
    remove: "delete a trait; its users get null",
    name: "lifetime-value",
    file: "values.jsonl",
    help: TRAITS_HELP,
  });
}

const TRAITS_HELP = `The list is JSON lines or a JSON array of {"userId": …, "value": …} or of
[userId, value], or CSV with a header (userId and value, all of it text); it may
end in .gz. A value is a string, a number, true or false; null takes it away.
Users who are not in the list keep what they have.`;

/** What differs between `fairlead audience` and `fairlead traits`. */
type Words = {
  readonly kind: ComputationClass;
  readonly command: string;
  readonly description: string;
  readonly sync: string;
  readonly remove: string;
  readonly name: string;
  readonly file: string;
  readonly help: string;
};

type PlaceOptions = PrintOptions & { readonly source: string };

/** Declares `fairlead audience` or `fairlead traits` with its commands. */
function declareComputations(program: Command, done: Done, words: Words): void {
  const group = program.command(words.command).description(words.description).helpCommand(false);
  group.addHelpText("after", examples(`fairlead ${words.command} sync ${words.name} ${words.file} --source website`));
  declareSync(group, done, words);
  declareList(group, done, words);
  declareShow(group, done, words);
  declareRemove(group, done, words);
}

function declareSync(group: Command, done: Done, { kind, command, sync, name, file, help }: Words): void {
  const declared = group
    .command("sync")
    .description(sync)
    .argument("<name>", `the ${kind}; its name in snake_case is the trait that receivers get`)
    .argument("<file>", "the list; - is standard input")
    .requiredOption("--source <name>", "whose users they are")
    .option("--format <format>", `${Object.keys(LIST_TYPES).join(", ")} (default: by the end of the file's name)`)
    .option("--dry-run", "only print what would change")
    .option("--allow-shrink", "allow it to lose more than half of its users")
    .option("--json", "print what was done as JSON");
  const lines = [
    `fairlead ${command} sync ${name} ${file} --source website`,
    `fairlead ${command} sync ${name} ${file} --source website --dry-run`,
    `cat ${file} | fairlead ${command} sync ${name} - --source website --format ${file.replace(/.*\./, "")}`,
  ];
  addDaemonOptions(declared)
    .addHelpText("after", `${examples(...lines)}\n\n${help}`)
    .action((name: string, path: string, options: SyncOptions) => done(syncList({ kind, name }, path, options)));
}

type ListOptions = PrintOptions & { readonly source?: string };

function declareList(group: Command, done: Done, { kind, command }: Words): void {
  const declared = group
    .command("list")
    .description(`list the ${kind}s, the newest first, with their size and their last sync`)
    .option("--source <name>", "only those of this source")
    .option("--json", "print them as JSON, the newest first");
  addDaemonOptions(declared)
    .addHelpText("after", examples(`fairlead ${command} list`, `fairlead ${command} list --source website --json`))
    .action((options: ListOptions) => done(list(kind, options)));
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
    .description(`show one ${kind}, and what its last syncs changed`)
    .argument("<name>", "which one")
    .requiredOption("--source <name>", "whose it is")
    .option("--json", "print it as JSON");
  addDaemonOptions(declared)
    .addHelpText("after", examples(`fairlead ${command} show ${name} --source website`))
    .action((name: string, options: PlaceOptions) => done(show(kind, name, options)));
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
    .description(remove)
    .argument("<name>", "which one")
    .requiredOption("--source <name>", "whose it is")
    .option("--silent", "do not notify receivers")
    .option("--yes", "do not ask; needed without a terminal")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(declared)
    .addHelpText("after", examples(`fairlead ${command} delete ${name} --source website --yes`))
    .action((name: string, options: RemoveOptions) => done(removeOne(kind, name, options)));
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
