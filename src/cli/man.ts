import type { Command } from "commander";
import { print } from "../runtime/output.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, EXIT } from "./command.ts";
import { type ArgumentRow, type CommandRow, describeCommand, listCommands, type OptionRow } from "./command-table.ts";
import { addHelp, TOPICS } from "./help.ts";

/** `fairlead man`: prints the man page, for machines that have only the binary. */
export function declareMan(program: Command, done: Done): void {
  const command = program
    .command("man")
    .summary("print the man page")
    .description("Print the man page of all commands. Packages install it.");
  addHelp(command, {
    examples: ["fairlead man | man -l -", "fairlead man > /usr/local/share/man/man1/fairlead.1"],
  }).action(() => {
    print(manPage(describeCommand(program), { version: VERSION, date: "" }).trimEnd());
    return done(EXIT.done);
  });
}

type Edition = {
  readonly version: string;
  /** The day of the release, as 2026-11-20; empty if unknown. */
  readonly date: string;
};

/** Not part of --help. */
export const ENVIRONMENT: readonly (readonly [name: string, text: string])[] = [
  ["FAIRLEAD_CONFIG", "the config file, without --config"],
  ["FAIRLEAD_ADMIN", "the address of the daemon's operator API, without --admin"],
  ["FAIRLEAD_ADMIN_TOKEN", "the token of the operator's API; without it, admin.token of the config"],
  ["FAIRLEAD_WRITE_KEY", "the write key for fairlead send --url"],
  ["FAIRLEAD_SECRET", "the shared secret for fairlead listen and fairlead verify"],
  ["NO_COLOR", "no colours, also on a terminal"],
  ["FORCE_COLOR", "colours, also in a pipe; 0 for none"],
  ["HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "the proxy for webhooks, and the hosts that are reached without it"],
  ["TMPDIR", "the folder for temporary files"],
];

export const FILES: readonly (readonly [name: string, text: string])[] = [
  ["./config.yaml, /etc/fairlead/config.yaml", "the config; fairlead schema --example prints one with every key"],
  ["/var/lib/fairlead/fairlead.db", "the outbox, with the config of the packages"],
  ["/run/fairlead/admin.sock", "the socket of the operator's API, with the config of the packages"],
];

export const EXIT_STATUS: readonly (readonly [name: string, text: string])[] = [
  ["0", "done"],
  ["1", "failed; the reason is on standard error"],
  ["2", "the command line is wrong"],
  ["78", "the config cannot be used"],
];

/** The page for man(1), in roff. */
export function manPage(program: CommandRow, { version, date }: Edition): string {
  const parts = [
    `.TH FAIRLEAD 1 "${date}" "fairlead ${version}" "User Commands"`,
    ".SH NAME",
    `fairlead ${String.raw`\-`} self-hosted event router: analytics calls in, signed webhooks out`,
    ".SH SYNOPSIS",
    ...[".B fairlead", ".I command", "[options]"],
    ".SH DESCRIPTION",
    line(program.description),
    ".SH COMMANDS",
    ...listByHeading(program),
    ...TOPICS.flatMap(({ name, text }) => [`.SH ${line(name.toUpperCase())}`, ...flowing(text)]),
    ...listCommands(program).slice(1).flatMap(section),
    ".SH EXIT STATUS",
    ...EXIT_STATUS.flatMap(term),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(term),
    ".SH FILES",
    ...FILES.flatMap(term),
    ".SH SEE ALSO",
    ...[".BR systemctl (1),", ".BR journalctl (1)"],
  ];
  return `${parts.join("\n")}\n`;
}

function listByHeading({ commands, options }: CommandRow): readonly string[] {
  const headings = [...new Set(commands.map(({ heading }) => heading))];
  const listed = headings.flatMap((heading) => [
    `.SS ${line(heading)}`,
    ...commands.filter((one) => one.heading === heading).flatMap((one) => term([one.path.join(" "), one.summary])),
  ]);
  return [...listed, ".SS Each of them", ...options.flatMap(optionTerm)];
}

/** A command's section, with the same headings as its help. */
function section(row: CommandRow): readonly string[] {
  const { path, usage, description, args, options, examples, notes, more, moreExamples } = row;
  const headings = [...new Set(options.map(({ heading }) => heading))];
  const about = [notes, more].filter((text) => text !== "").join("\n\n");
  return [
    `.SH FAIRLEAD ${line(path.join(" ").toUpperCase())}`,
    ...[`.B ${line(usage)}`, ".PP"],
    line(description),
    ...(args.length > 0 ? [".SS Arguments", ...args.flatMap(argumentTerm)] : []),
    ...headings.flatMap((heading) => [
      `.SS ${line(heading)}`,
      ...options.filter((option) => option.heading === heading).flatMap(optionTerm),
    ]),
    ...(about === "" ? [] : [".SS Notes", ...flowing(about)]),
    ...(examples.length > 0 ? [".SS Examples", ...verbatim([...examples, ...moreExamples])] : []),
  ];
}

function optionTerm({ flags, description }: OptionRow): readonly string[] {
  return term([flags, description]);
}

function argumentTerm({ name, description }: ArgumentRow): readonly string[] {
  return term([name, description]);
}

function term([name, text]: readonly [string, string]): readonly string[] {
  return [".TP", `.B ${line(name)}`, line(text)];
}

/** Paragraphs that roff fills. Indented ones keep their lines. */
function flowing(text: string): readonly string[] {
  const parts = text.split("\n\n").map((part) => (part.startsWith(" ") ? verbatim(part.split("\n")) : [line(part)]));
  return parts.flatMap((part) => [...part, ".PP"]).slice(0, -1);
}

/** Keeps line breaks, because people copy the examples. */
function verbatim(lines: readonly string[]): readonly string[] {
  return [".nf", ...lines.map(line), ".fi"];
}

/** Escapes a line for roff, so that text copied from the page works in a shell. */
function line(text: string): string {
  const escaped = text.replace(/[\\\-'`^~]|[^\0-\x7f]/g, (one) => ESCAPES[one] ?? unicode(one));
  return /^[.']/.test(escaped) ? `${String.raw`\&`}${escaped}` : escaped;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": String.raw`\e`,
  "-": String.raw`\-`,
  "'": String.raw`\(aq`,
  "`": String.raw`\(ga`,
  "^": String.raw`\(ha`,
  "~": String.raw`\(ti`,
};

function unicode(one: string): string {
  return String.raw`\[u` + (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0") + "]";
}
