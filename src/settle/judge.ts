import { never } from "../model/never.ts";
import type { Answer } from "../model/outcome.ts";

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
