import type { Answer } from "../model/delivery.ts";
import { never } from "../model/never.ts";
import { formatDuration } from "../model/units.ts";

/** What an answer means for its delivery. */
export type Judgement =
  /** The receiver has it. */
  | "delivered"
  /** The webhook, or the way to it, failed: tried again later. */
  | "retry"
  /** The webhook refuses this event, and would do so again: not retried. */
  | "final"
  /** The attempt never left this machine, so it says nothing about the webhook. */
  | "offline"
  /** The daemon stopped during the attempt: the result is not known. */
  | "unknown";

/**
 * Statuses about the moment (too early, too many, locked, took too long), and statuses about the webhook and not the
 * event: a rotated token, a deploy in progress, a path that will be back.
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
  // A status below 200 is not a final answer, so the receiver is broken.
  if (status >= 500 || status < 200 || RETRIED_4XX.has(status)) return "retry";
  return "final";
}

/** What an answer says about the webhook, whatever the result for the delivery. */
export type Sign =
  /** It processes events: it has accepted this one, or refused it finally. */
  | "taken"
  /** It answers, but did not take this event. */
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

/** A receiver's answer in a few words, or why there is none: `503`, `no answer within 5s`, `connection refused`. */
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
