import type { Argument, Command, Help, Option } from "commander";
import { helpTextOf, TOPICS } from "./help.ts";

/** The kind of value that an option or an argument takes, for completion in shells. */
export type Value =
  | { readonly kind: "file" }
  | { readonly kind: "words"; readonly words: readonly string[] }
  /** Names in the config or in the running daemon. */
  | { readonly kind: "names"; readonly of: "destinations" | "sources" }
  | { readonly kind: "text" };

export type OptionRow = {
  /** As in --help: `-h, --help`, `--config <file>`. */
  readonly flags: string;
  readonly names: readonly string[];
  readonly description: string;
  /** Its heading in --help. */
  readonly heading: string;
  /** Null if it takes none. */
  readonly value: Value | null;
};

export type ArgumentRow = {
  readonly name: string;
  readonly description: string;
  readonly variadic: boolean;
  readonly value: Value;
};

/** A command, as --help shows it. */
export type CommandRow = {
  /** Its name, preceded by its parents', without `fairlead`; empty for the program itself. */
  readonly path: readonly string[];
  readonly usage: string;
  /** A few words, for lists. */
  readonly summary: string;
  /** Sentences. */
  readonly description: string;
  /** Its heading in the help of its parent. */
  readonly heading: string;
  readonly options: readonly OptionRow[];
  readonly args: readonly ArgumentRow[];
  readonly commands: readonly CommandRow[];
  readonly examples: readonly string[];
  /** Paragraphs that an empty line separates; indented ones keep their lines. */
  readonly notes: string;
  /** The same, and more examples: not in --help, but in the man page and the reference of commands. */
  readonly more: string;
  readonly moreExamples: readonly string[];
};

/** The content of --help as data, for the man page and completion scripts. */
export function describeCommand(command: Command, path: readonly string[] = []): CommandRow {
  const help = command.createHelp();
  const { examples, notes = "", more = "", moreExamples = [] } = helpTextOf(command);
  return {
    path,
    usage: help.commandUsage(command),
    summary: help.subcommandDescription(command),
    description: command.description(),
    heading: headingOf(command.helpGroup(), "Commands:"),
    options: help.visibleOptions(command).map((option) => describeOption(option, help)),
    args: help.visibleArguments(command).map((argument) => describeArgument(argument, { help, command })),
    commands: help.visibleCommands(command).map((one) => describeCommand(one, [...path, one.name()])),
    examples,
    notes,
    more,
    moreExamples,
  };
}

/** The command and all its subcommands, in the order of --help. */
export function listCommands(row: CommandRow): readonly CommandRow[] {
  return [row, ...row.commands.flatMap(listCommands)];
}

/** The long name of an option. */
export function longestName({ names }: OptionRow): string {
  return names.reduce((longest, name) => (name.length > longest.length ? name : longest), "");
}

function describeOption(option: Option, help: Help): OptionRow {
  const takesValue = option.required || option.optional;
  const [, placeholder = ""] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  return {
    flags: option.flags,
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: help.optionDescription(option),
    heading: headingOf(option.helpGroupHeading, "Options:"),
    value: takesValue ? guessValue(placeholder === "name" ? option.name() : placeholder, option.argChoices) : null,
  };
}

function describeArgument(argument: Argument, { help, command }: { help: Help; command: Command }): ArgumentRow {
  const ofHelp = argument.name() === "command" && command.parent;
  const words = ofHelp ? wordsOfHelp(ofHelp, help) : argument.argChoices;
  return {
    name: help.argumentTerm(argument),
    description: help.argumentDescription(argument),
    variadic: argument.variadic,
    value: guessValue(argument.name(), words),
  };
}

/** What `fairlead help` takes. */
function wordsOfHelp(program: Command, help: Help): readonly string[] {
  return ["all", ...TOPICS.map(({ name }) => name), ...help.visibleCommands(program).map((one) => one.name())];
}

function guessValue(placeholder: string, words: readonly string[] | undefined): Value {
  if (words) return { kind: "words", words };
  if (placeholder === "source") return { kind: "names", of: "sources" };
  if (DESTINATIONS.test(placeholder)) return { kind: "names", of: "destinations" };
  return placeholder === "file" ? { kind: "file" } : { kind: "text" };
}

/** Names of arguments and options that take a destination. `old` and `new` belong to `fairlead move`. */
const DESTINATIONS = /^(old|new|destination\b.*)$/;

function headingOf(heading: string | undefined, otherwise: string): string {
  return (heading || otherwise).replace(/:$/, "");
}
