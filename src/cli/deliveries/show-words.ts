import { parseExactly } from "../../model/exact-json.ts";
import { type At, formatDuration } from "../../model/units.ts";
import { printable } from "../printable.ts";
import { toLines } from "../trouble.ts";
import { whenDue } from "./list-words.ts";
import type { SaidDetail } from "./said.ts";
import { timeline } from "./timeline.ts";

/** For a person: what it is, how it stands, what is sent, and each attempt. `now`: by the wall clock. */
export function toWords(one: SaidDetail, now: At): string {
  return [about(one, now), requests(one), body(one), timeline(one, now)].join("\n\n");
}

function about(one: SaidDetail, now: At): string {
  const { id, state, type, messageId, userId, source, destination, acceptedAt, attempts, replayedAt } = one;
  const user = userId === null ? "" : ` of user ${userId}`;
  return [
    `delivery ${id}: ${state}`,
    `  event     ${type} ${messageId}${user}`,
    `  from      ${source}, taken ${acceptedAt} (${formatDuration(Math.max(0, now - Date.parse(acceptedAt)))} ago)`,
    `  to        ${destination}`,
    ...(replayedAt ? [`  replayed  ${replayedAt}: what came before does not count`] : []),
    `  attempts  ${attempts === 1 ? "1 round" : `${attempts} rounds`}`,
    ...standing(one, now),
    ...one.finals.map(({ url, reason }) => `  refused   by ${url} for good: ${reason}`),
  ]
    .map(printable)
    .join("\n");
}

function standing({ state, dueAt, settledAt, url, status, reason, troubled }: SaidDetail, now: At): readonly string[] {
  if (state === "delivered") return [`  delivered ${settledAt} to ${url}, which answered ${status}`];
  const why = reason === null ? [] : [`  reason    ${reason}`];
  if (state !== "waiting") return [`  since     ${settledAt}`, ...why];
  const lines = toLines(troubled, now).map((line) => `  but       ${line}`);
  return [...why, `  next      ${whenDue(dueAt, now)} (${dueAt})`, ...lines];
}

function requests({ requests, destination }: SaidDetail): string {
  if (requests.length === 0) return printable(`The config has no destination ${destination} now: nothing is sent.`);
  const blocks = requests.map(({ url, headers }) =>
    [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`)].map(printable).join("\n"),
  );
  return blocks.join("\n");
}

function body({ body }: SaidDetail): string {
  return layOut(body)
    .split("\n")
    .map((line) => printable(`  ${line}`))
    .join("\n");
}

function layOut(body: string): string {
  try {
    return JSON.stringify(parseExactly(body), null, 2);
  } catch {
    return body;
  }
}
