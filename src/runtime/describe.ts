import { never } from "../model/never.ts";
import type { Answer } from "../model/outcome.ts";
import { formatDuration } from "../model/units.ts";
import type { Fields } from "./log.ts";

/** By hundreds of the status. */
const STATUS_OUTCOMES = ["status_0xx", "status_1xx", "delivered", "status_3xx", "status_4xx", "status_5xx"];

/** What became of an attempt, in one of a few words: a label in metrics, and a field in the log. */
export function outcomeOf(answer: Answer): string {
  if (answer.kind !== "answered") return answer.kind;
  return STATUS_OUTCOMES[Math.floor(answer.status / 100)] ?? "status_other";
}

/** Why an attempt failed, as the fields of a log line. */
export function describeAnswer(answer: Answer): Fields {
  switch (answer.kind) {
    case "answered":
      return {
        location: answer.location,
        retryAfter: answer.retryAfter === null ? null : { ms: answer.retryAfter },
      };
    case "timeout":
      return { reason: `no answer within ${formatDuration(answer.after)}` };
    case "unreachable":
    case "offline":
      return { code: answer.code, reason: answer.message };
    case "untrusted":
      return { code: answer.code, reason: `certificate refused, nothing was sent: ${answer.message}` };
    case "released":
      return {};
    default:
      return never(answer);
  }
}

/** The message of an error, and of what caused it. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === "" ? error.name : error.message;
  return error.cause === undefined ? message : `${message}: ${describeError(error.cause)}`;
}

/** Where an error was thrown, on one line; null for what is no error. */
export function oneLineStack(error: unknown): string | null {
  if (!(error instanceof Error) || !error.stack) return null;
  return error.stack.replace(/\s*\n\s*/g, " | ");
}
