import { type CommandRow, describeCommand, listCommands, type OptionRow } from "../../src/cli/command-table.ts";
import { TOPICS } from "../../src/cli/help.ts";
import { ENVIRONMENT, EXIT_STATUS, FILES } from "../../src/cli/man.ts";
import { createProgram } from "../../src/cli/program.ts";
import { anchorOf, block, code, contents, escaped, page, prose, sentence, table } from "./markdown.ts";

const SOURCE = "the commands in src/cli/";

/** The pages of docs/reference/: cli.md, and one in cli/ for each group of commands. */
export async function cliPages(): Promise<ReadonlyMap<string, string>> {
  const program = describeCommand(await createProgram(async () => {}));
  const groups = [...Map.groupBy(program.commands, ({ heading }) => heading)];
  return new Map([
    ["cli.md", overview(program, groups)],
    ...groups.map(([heading, commands]) => [fileOf(heading), groupPage(heading, commands)] as const),
  ]);
}

type Group = readonly [heading: string, commands: readonly CommandRow[]];

function fileOf(heading: string): string {
  return `cli/${anchorOf(heading)}.md`;
}

function overview(program: CommandRow, groups: readonly Group[]): string {
  return page(
    SOURCE,
    "# Commands",
    prose(`\`fairlead COMMAND --help\` shows the same on a terminal, \`fairlead man\` as a man page. Completion for bash, zsh and
      fish comes with the packages.`),
    contents([
      "All commands",
      "Options of every command",
      "Reaching the daemon",
      "Environment",
      "Files",
      "Exit codes",
      "JSON",
    ]),
    "## All commands",
    ...groups.flatMap(([heading, commands]) => [
      `### ${heading}`,
      table(
        ["command", "what it does"],
        commands.map(({ path, summary }) => {
          const name = path.join(" ");
          return [`[\`${name}\`](${fileOf(heading)}#fairlead-${anchorOf(name)})`, escaped(summary)];
        }),
      ),
    ]),
    "## Options of every command",
    optionTable(program.options),
    "## Reaching the daemon",
    ...TOPICS.filter(({ name }) => name === "connection").flatMap(({ text }) => flowing(text)),
    "## Environment",
    table(
      ["variable", "what it sets"],
      ENVIRONMENT.map(([name, text]) => [code(name), escaped(text)]),
    ),
    "## Files",
    table(
      ["file", "what it holds"],
      FILES.map(([name, text]) => [code(name), escaped(text)]),
    ),
    "## Exit codes",
    table(
      ["code", "what it says"],
      EXIT_STATUS.map(([name, text]) => [name, escaped(text)]),
    ),
    "## JSON",
    prose(`Commands with \`--json\` print one JSON object on standard output. A list is an object too, as
      \`{"deliveries": […], "cursor": null}\`, and every list begins with the newest.`),
    prose(`A failure is one line of JSON on standard error, with the keys of a refusal. The exit code is the same as without
      \`--json\`:`),
    block(
      `{"success":false,"code":"unknown_destination","message":"there is no destination \\"cmr\\"; did you mean crm?"}`,
    ),
    prose(`Codes are stable, words are not: [all codes](codes.md). Three commands print their verdict on standard output,
      whatever it is: \`check\` (\`valid\`), \`verify\`, and \`send\`, which prints what the daemon answered.`),
  );
}

/** Under this heading stand the options of all commands that ask the daemon. */
const CONNECTION = /connection|daemon/i;

function groupPage(heading: string, commands: readonly CommandRow[]): string {
  const all = commands.flatMap(listCommands);
  const names = all.map(({ path }) => `fairlead ${path.join(" ")}`);
  return page(
    SOURCE,
    `# Commands: ${heading}`,
    ...(all.length > 4 ? [contents(names)] : []),
    ...all.flatMap(commandParts),
  );
}

function commandParts(row: CommandRow): readonly string[] {
  const { path, usage, description, args, options, examples, notes, more, moreExamples } = row;
  // What every command has, and what every command that asks the daemon has, stands in cli.md once.
  const own = options.filter(({ names, heading }) => !names.includes("--help") && !CONNECTION.test(heading));
  const asks = options.some(({ heading }) => CONNECTION.test(heading));
  return [
    `## fairlead ${path.join(" ")}`,
    sentence(escaped(description)),
    block(usage),
    ...(args.length > 0
      ? [
          table(
            ["argument", ""],
            args.map((one) => [code(one.name), escaped(one.description)]),
          ),
        ]
      : []),
    ...(own.length > 0 ? [optionTable(own)] : []),
    ...(asks ? ["It asks the running daemon ([how it finds that](../cli.md#reaching-the-daemon))."] : []),
    ...[examples, moreExamples].filter((lines) => lines.length > 0).map((lines) => block(lines.join("\n"))),
    ...[notes, more].filter((text) => text !== "").flatMap(flowing),
  ];
}

/** Paragraphs, as help has them; indented ones keep their lines. */
function flowing(text: string): readonly string[] {
  return text.split("\n\n").map((part) => (part.startsWith("  ") ? block(part.replace(/^ {2}/gm, "")) : escaped(part)));
}

function optionTable(options: readonly OptionRow[]): string {
  return table(
    ["option", ""],
    options.map(({ flags, description }) => [code(flags), escaped(description)]),
  );
}
