import { type Command, InvalidArgumentError } from "commander";
import { printable } from "../client/show.ts";
import { suggest } from "../config/suggest.ts";
import { FAULT_STATUS } from "../model/fault.ts";
import { rejectionList } from "../wire/deliveries.ts";
import { MOST_LISTED, type Received } from "../wire/fields.ts";
import type { Done, ExitCode } from "./command.ts";
import { addDaemonOptions, type PrintOptions, printAnswer } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { upTo } from "./options.ts";
import { paint } from "./paint.ts";

const MOST = MOST_LISTED.rejected;

export type RejectedCall = Received<typeof rejectionList>["rejected"][number];

/** `fairlead rejected`: shows calls that the daemon has recently refused. */
export function declareRejected(program: Command, done: Done): void {
  const command = program
    .command("rejected")
    .summary("list recently refused calls, and why")
    .description("List recently refused calls: when, from whom, why, and how each begins.")
    .option("--limit <count>", `how many to list, up to ${MOST}`, upTo(MOST), 20)
    .option("--source <name>", "only those with the write key of this source")
    .option("--code <code>", "only those refused with this code, such as missing_event", toCode)
    .option("--json", "print them as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: RejectedOptions) => done(rejected(options)));
}

const HELP: HelpText = {
  examples: ["fairlead rejected", "fairlead rejected --source website --code missing_event"],
  notes: "The daemon keeps the latest refusals in memory until it stops.",
  moreExamples: ["fairlead rejected --code unknown_write_key --json"],
};

function toCode(text: string): string {
  if (Object.hasOwn(FAULT_STATUS, text)) return text;
  const meant = suggest(text, Object.keys(FAULT_STATUS));
  throw new InvalidArgumentError(meant === null ? "There is no such code." : `Did you mean ${meant}?`);
}

type RejectedOptions = PrintOptions & { readonly limit: number; readonly source?: string; readonly code?: string };

function rejected(options: RejectedOptions): Promise<ExitCode> {
  const { limit, source, code } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(source && { source }), ...(code && { code }) });
  const asked = { limit, most: MOST, source: source ?? null, code: code ?? null };
  const question = { path: `/api/rejected?${query}`, answer: rejectionList };
  return printAnswer(options, question, { words: ({ rejected }) => toWords(rejected, asked) });
}

/** The request, and the limit of the answer. */
export type Asked = {
  readonly limit: number;
  readonly most: number;
  readonly source: string | null;
  readonly code: string | null;
};

/** For people: a block for each refused call, newest first. */
export function toWords(calls: readonly RejectedCall[], asked: Asked): string {
  if (calls.length === 0) return nothing(asked);
  return [...calls.map(toBlock), summary(calls.length, asked)].join("\n\n");
}

function nothing({ source, code }: Asked): string {
  const whose = source === null ? "No call" : `No call of ${printable(source)}`;
  const why = code === null ? "" : ` with ${printable(code)}`;
  const memory = source === null && code === null ? "" : ", as far as the daemon remembers";
  return `${whose} was refused${why} since the daemon started${memory}.`;
}

function summary(shown: number, { limit, most }: Asked): string {
  const more = shown === limit && limit < most ? ` There may be more: try --limit ${most}.` : "";
  return shown === 1 ? `1 refused call.${more}` : `${shown} refused calls, the newest first.${more}`;
}

function toBlock(call: RejectedCall): string {
  const { at, source, code, message } = call;
  return [
    `${printable(`${at} ${source ?? "unknown source"}`)}: ${paint.bad(printable(code))}`,
    `  ${printable(message)}`,
    ...aboutOf(call).map((line) => `  ${printable(line)}`),
    `  ${cut(printable(senderOf(call)), MOST_COLUMNS)}`,
    ...sampleOf(call).map((line) => paint.faint(`    ${line}`)),
  ].join("\n");
}

/** The call's identity, as far as it could be read. */
function aboutOf({ type, messageId, count }: RejectedCall): readonly string[] {
  const parts = [
    ...(count > 1 ? [`${count} calls`] : []),
    ...(type === null ? [] : [type]),
    ...(messageId === null ? [] : [`messageId ${messageId}`]),
  ];
  return parts.length === 0 ? [] : [parts.join(", ")];
}

/** Long enough to tell a browser from a library. */
const MOST_COLUMNS = 100;

function senderOf({ request, from: { address, userAgent, origin } }: RejectedCall): string {
  const page = origin === null ? "" : `, on a page of ${origin}`;
  const program = userAgent === null ? "" : `, ${userAgent}`;
  return `${request} from ${address ?? "an unknown address"}${page}${program}`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Line by line as received, so that formatted JSON stays formatted. */
function sampleOf({ sample }: RejectedCall): readonly string[] {
  const lines = sample.trimEnd().replaceAll("\t", "  ").split(/\r?\n/).map(printable);
  return lines.length === 1 && lines[0] === "" ? ["(nothing was read)"] : lines;
}
