import type { Command, Help } from "commander";
import { VERSION } from "../runtime/version.ts";
import { paint } from "./paint.ts";

/** What the help of a command says after its options. Texts are paragraphs without line breaks; indented lines stay as they are. */
export type HelpText = {
  /** Two, as a rule: what most people want, and one more. */
  readonly examples: readonly string[];
  /** What one has to know before using it. */
  readonly notes?: string;
  /** Only in the man page and in the reference of commands. */
  readonly more?: string;
  readonly moreExamples?: readonly string[];
};

const texts = new WeakMap<Command, HelpText>();

/** Adds examples and notes to the help of a command. */
export function addHelp(command: Command, text: HelpText): Command {
  texts.set(command, text);
  return command.addHelpText("after", () => afterOptions(command, text));
}

export function helpTextOf(command: Command): HelpText {
  return texts.get(command) ?? { examples: [] };
}

/** The help fits such a terminal; on a wider one, lines would be hard to read. */
const WIDTH = 80;

function afterOptions(command: Command, { examples, notes = "" }: HelpText): string {
  const lines = examples.map((line) => `  ${line}`);
  const title = examples.length === 1 ? "Example:" : "Examples:";
  const shown = lines.length === 0 ? [] : [[paint.strong(title), ...lines].join("\n")];
  const parts = [...shown, ...paragraphs(notes, command.createHelp())];
  return `\n${parts.join("\n\n")}`;
}

/** Wraps paragraphs, which an empty line separates. */
function paragraphs(text: string, help: Help): readonly string[] {
  if (text === "") return [];
  return text.split("\n\n").map((part) => (part.startsWith(" ") ? part : help.boxWrap(part, WIDTH)));
}

export type Topic = { readonly name: string; readonly summary: string; readonly text: string };

/** What `fairlead help NAME` explains besides commands. */
export const TOPICS: readonly Topic[] = [
  {
    name: "connection",
    summary: "how commands find the daemon and its token",
    text: `Commands such as status and deliveries ask the running daemon, at its operator's API. On the daemon's own machine they find it without options.

The address is the first of these that is set:

  --admin <url>           http://host:port, https://host or unix:/path
  $FAIRLEAD_ADMIN         the same
  admin.listen            in the config

The config file is the first of these:

  --config <file>
  $FAIRLEAD_CONFIG
  ./config.yaml
  /etc/fairlead/config.yaml

A daemon with admin.token requires that token. Commands take the first of these that is set:

  $FAIRLEAD_ADMIN_TOKEN
  admin.token             in the config

An address from --admin or $FAIRLEAD_ADMIN gets the token of a config only if --config names that config. There is no option for the token: every user of the machine can see the options of a process.

Examples:

  fairlead status --admin unix:/run/fairlead/admin.sock
  FAIRLEAD_ADMIN_TOKEN=… fairlead status --admin https://fairlead.example.com`,
  },
];

/** A topic as it is printed. */
export function topicText({ text }: Topic, help: Help): string {
  return paragraphs(text, help).join("\n\n");
}

/** The commands of daily use. */
export const DAILY = ["serve", "check", "status", "deliveries", "explain", "send", "reload", "doctor"] as const;

/** What `fairlead` alone prints: the commands of daily use, and where the others are. */
export function startScreen(program: Command): string {
  const daily = DAILY.flatMap((name) => program.commands.filter((one) => one.name() === name));
  const count = program.createHelp().visibleCommands(program).length;
  const rows = daily.map((one) => `  ${paint.strong(one.name().padEnd(12), "err")}${one.summary()}`);
  return [
    `fairlead ${VERSION}`,
    program.description(),
    "",
    "Usage: fairlead <command> [options]",
    "",
    ...rows,
    "",
    `fairlead help all             all ${count} commands`,
    "fairlead help <command>       how a command is used",
    `fairlead help connection      ${TOPICS[0]?.summary}`,
  ].join("\n");
}
