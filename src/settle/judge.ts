import { never } from "../model/never.ts";
import type { Answer } from "../model/outcome.ts";
import { formatDuration } from "../model/units.ts";

/** What an answer means for its delivery. */
export type Judgement =
  /** The receiver has it. */
  | "delivered"
  /** About the webhook or the way to it: asked again later. */
  | "retry"
  /** About this event: the webhook would answer the same again, and is not asked again. */
  | "final"
  /** The attempt never left this machine, so it says nothing about the webhook. */
  | "offline"
  /** The daemon stopped meanwhile: nothing is known. */
  | "unknown";

/**
 * Too early, too many, locked, took too long; and the ones that speak of the webhook and not of the event: a rotated
 * token, a deploy in progress, a path that will be there again.
 */
const RETRIED_4XX: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 423, 425, 429]);

/** Judges one answer (SPEC.md 4.1, 7). */
export function judge(answer: Answer): Judgement {
  switch (answer.kind) {
    case "answered":
      return judgeStatus(answer.status);
    case "timeout":
    case "unreachable":
    case "untrusted":
      return "retry";
    case "offline":
      return "offline";
    case "released":
      return "unknown";
    default:
      return never(answer);
  }
}

function judgeStatus(status: number): Judgement {
  if (status >= 200 && status < 300) return "delivered";
  // Below 200 there is no final answer: a receiver that says so has lost its way.
  if (status >= 500 || status < 200 || RETRIED_4XX.has(status)) return "retry";
  return "final";
}

/** What an answer says about the webhook itself, whatever becomes of the delivery. */
export type Sign =
  /** It takes events; one that it refuses for good was looked at, too. */
  | "taken"
  /** It answers, and did not take this one. */
  | "refused"
  /** It answers that it is overloaded. */
  | "overloaded"
  /** It answers that there are too many requests. */
  | "crowded"
  /** It does not answer. */
  | "silent"
  /** This machine has no network. */
  | "offline"
  /** Nothing is known. */
  | "unknown";

const OVERLOADED: ReadonlySet<number> = new Set([502, 503, 504]);

export function signOf(answer: Answer): Sign {
  const judgement = judge(answer);
  if (judgement === "delivered" || judgement === "final") return "taken";
  if (judgement === "offline" || judgement === "unknown") return judgement;
  if (answer.kind !== "answered") return "silent";
  if (answer.status === 429) return "crowded";
  return OVERLOADED.has(answer.status) ? "overloaded" : "refused";
}

/** Says in a few words what a receiver answered, or why it did not: `503`, `no answer within 5s`, `connection refused`. */
export function describeAnswer(answer: Answer): string {
  switch (answer.kind) {
    case "answered":
      return describeStatus(answer.status, answer.location);
    case "timeout":
      return `no answer within ${formatDuration(answer.after)}`;
    case "unreachable":
    case "offline":
      return answer.message;
    case "untrusted":
      return `certificate refused, nothing was sent: ${answer.message}`;
    case "released":
      return "released: the daemon stopped";
    default:
      return never(answer);
  }
}

function describeStatus(status: number, location: string | null): string {
  const redirect = status >= 300 && status < 400;
  if (!redirect) return String(status);
  return location === null ? `${status} without a Location` : `${status}: set url to ${location}`;
}
