import { type At, formatDuration } from "../../model/units.ts";
import { printable } from "../printable.ts";
import { whenDue } from "./list-words.ts";
import type { SaidAttempt, SaidDetail } from "./said.ts";

/** Every attempt that is kept, with the waits between them, and what comes next. */
export function timeline(one: SaidDetail, now: At): string {
  const { first, omitted, last } = one.log;
  const left = omitted === 0 ? [] : [`  … ${omitted} more, which are not kept …`];
  const lines = [
    ...withWaits(first),
    ...(omitted === 0 ? waitBetween(first.at(-1), last[0]) : left),
    ...withWaits(last),
  ];
  const next = one.state === "waiting" ? [`  next ${whenDue(one.dueAt, now)}`] : [];
  if (lines.length === 0 && one.attempts > 0) return ["The attempts so far are not known.", ...next].join("\n");
  if (lines.length === 0) return one.state === "waiting" ? "No attempt yet." : "No attempt was made.";
  return ["attempts", ...lines, ...next].join("\n");
}

function withWaits(attempts: readonly SaidAttempt[]): readonly string[] {
  return attempts.flatMap((attempt, nth) => [...waitBetween(attempts[nth - 1], attempt), ...describe(attempt)]);
}

/** Webhooks of a round are asked at once: between those there is none. */
function waitBetween(before: SaidAttempt | undefined, after: SaidAttempt | undefined): readonly string[] {
  if (!before || !after) return [];
  const wait = Date.parse(after.at) - Date.parse(before.at) - (before.duration ?? 0);
  return wait <= 0 ? [] : [`    ${formatDuration(wait)} later`];
}

function describe({ at, trigger, outcome, reason, duration, url, ...attempt }: SaidAttempt): readonly string[] {
  const took = duration === null ? "" : ` after ${formatDuration(duration)}`;
  const line = `  ${at}  ${trigger}: ${reason}${took} (${MEANING[outcome] ?? outcome}), ${url}`;
  return [printable(line), ...answerOf({ outcome, ...attempt }).map((text) => `      | ${printable(text)}`)];
}

const MEANING: Readonly<Record<string, string>> = {
  delivered: "delivered",
  retry: "to be retried",
  final: "final",
  offline: "never left this machine",
};

function answerOf({ answer, status, outcome }: Pick<SaidAttempt, "answer" | "status" | "outcome">): readonly string[] {
  if (answer === null) return status === null || outcome === "delivered" ? [] : ["(its text did not come in time)"];
  return answer === "" ? [] : answer.trimEnd().split(/\r?\n/);
}
