import type { Command } from "commander";
import { print } from "../runtime/output.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, EXIT, examples } from "./command.ts";
import { type ArgumentRow, type CommandRow, describeCommand, listCommands, type OptionRow } from "./command-table.ts";

/** `fairlead man`: prints the man page, for machines that have only the binary. */
export function declareMan(program: Command, done: Done): void {
  program
    .command("man")
    .description("print the man page of all commands and options; packages install it")
    .addHelpText("after", examples("fairlead man | man -l -"))
    .action(() => {
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
  ["FAIRLEAD_CONFIG", "the config file, unless --config names one"],
  ["FAIRLEAD_ADMIN", "where the operator's API of the daemon is, unless --admin says so"],
  ["FAIRLEAD_ADMIN_TOKEN", "the token that it wants; else admin.token of the config"],
  ["FAIRLEAD_WRITE_KEY", "the write key of fairlead send --url"],
  ["FAIRLEAD_SECRET", "the shared secret of fairlead listen and fairlead verify"],
  ["HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "the proxy that webhooks go through, and to whom they do not"],
  ["TMPDIR", "where temporary files go"],
];

export const FILES: readonly (readonly [name: string, text: string])[] = [
  ["./config.yaml, /etc/fairlead/config.yaml", "the config; fairlead schema --example prints one with every key"],
  ["/var/lib/fairlead/fairlead.db", "the outbox, where the packaged config has it"],
  ["/run/fairlead/admin.sock", "the operator's API, where the packaged config has it"],
];

export const EXIT_STATUS: readonly (readonly [name: string, text: string])[] = [
  ["0", "done"],
  ["1", "failed; the reason is on standard error"],
  ["2", "the command line was wrong"],
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
    ...commands.filter((one) => one.heading === heading).flatMap((one) => term([one.path.join(" "), one.description])),
  ]);
  return [...listed, ".SS Each of them", ...options.flatMap(optionTerm)];
}

/** A command's section, with the same headings as its help. */
function section({ path, usage, description, args, options, after }: CommandRow): readonly string[] {
  const headings = [...new Set(options.map(({ heading }) => heading))];
  return [
    `.SH FAIRLEAD ${line(path.join(" ").toUpperCase())}`,
    ...[`.B ${line(usage)}`, ".PP"],
    line(`${description.charAt(0).toUpperCase()}${description.slice(1)}.`),
    ...(args.length > 0 ? [".SS Arguments", ...args.flatMap(argumentTerm)] : []),
    ...headings.flatMap((heading) => [
      `.SS ${line(heading)}`,
      ...options.filter((option) => option.heading === heading).flatMap(optionTerm),
    ]),
    ...verbatim(after),
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

/** Keeps line breaks, because people copy the examples. */
function verbatim(text: string): readonly string[] {
  return text === "" ? [] : [".SS Notes", ".nf", ...text.split("\n").map(line), ".fi"];
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
