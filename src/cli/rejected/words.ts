import { printable } from "../printable.ts";
import type { RejectedCall } from "./list.ts";

/** What was asked for, and how many could have been. */
export type Asked = {
  readonly limit: number;
  readonly most: number;
  readonly source: string | null;
  readonly code: string | null;
};

/** For a person: a block for each refused call, the newest first as in every list. */
export function toWords(calls: readonly RejectedCall[], asked: Asked): string {
  if (calls.length === 0) return nothing(asked);
  return [...calls.map(toBlock), summary(calls.length, asked)].join("\n\n");
}

function nothing({ source, code }: Asked): string {
  const whose = source === null ? "No call" : `No call of ${printable(source)}`;
  const why = code === null ? "" : ` with ${printable(code)}`;
  const memory = source === null && code === null ? "" : ", as far back as it remembers";
  return `${whose} was refused${why} since the daemon started${memory}.`;
}

function summary(shown: number, { limit, most }: Asked): string {
  const more = shown === limit && limit < most ? ` --limit ${most} may show more.` : "";
  return shown === 1 ? `The last refusal.${more}` : `The last ${shown} refusals, the newest first.${more}`;
}

function toBlock(call: RejectedCall): string {
  const { at, source, code, message } = call;
  return [
    printable(`${at} ${source ?? "unknown source"}: ${code}`),
    `  ${printable(message)}`,
    ...aboutOf(call).map((line) => `  ${printable(line)}`),
    `  ${cut(printable(senderOf(call)), MOST_COLUMNS)}`,
    ...sampleOf(call).map((line) => `    ${line}`),
  ].join("\n");
}

/** Which call it is, as far as that could be read. */
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
  const page = origin === null ? "" : `, a page of ${origin}`;
  const program = userAgent === null ? "" : `, ${userAgent}`;
  return `${request} from ${address ?? "an unknown address"}${page}${program}`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Line by line as it came, so that JSON that was laid out stays so. */
function sampleOf({ sample }: RejectedCall): readonly string[] {
  const lines = sample.trimEnd().replaceAll("\t", "  ").split(/\r?\n/).map(printable);
  return lines.length === 1 && lines[0] === "" ? ["(nothing of it was read)"] : lines;
}
