import type { CallType } from "../../model/event.ts";
import { never } from "../../model/never.ts";
import type { Exchange } from "../../runtime/request.ts";
import { isNobodyThere, isRefusal, parseSaid, type Refusal } from "../daemon/said.ts";
import { printable } from "../printable.ts";

/** What the daemon made of a call, or why nobody knows. */
export type Answer =
  | { readonly kind: "accepted" | "duplicate"; readonly status: number; readonly said: Counts }
  | { readonly kind: "refused"; readonly status: number; readonly said: Refusal; readonly retryAfter: string | null }
  /** Something answers, and it is not Fairlead. */
  | { readonly kind: "foreign"; readonly status: number }
  | { readonly kind: "unreachable"; readonly code: string | null; readonly reason: string };

type Counts = { readonly accepted: number; readonly duplicate: number };

/** The call that was sent, and to whom. */
export type Sent = { readonly type: CallType; readonly messageId: string; readonly base: string };

/** Reads what came back for one call. */
export function readAnswer(exchange: Exchange): Answer {
  if (exchange.kind === "failed") return { kind: "unreachable", code: exchange.code, reason: exchange.reason };
  const { status, headers, text } = exchange;
  const said = parseSaid(text);
  if (status === 200 && isCounts(said)) return { kind: said.duplicate > 0 ? "duplicate" : "accepted", status, said };
  if (status < 400 || !isRefusal(said)) return { kind: "foreign", status };
  return { kind: "refused", status, said, retryAfter: headers.get("retry-after") };
}

function isCounts(said: unknown): said is Counts {
  if (typeof said !== "object" || said === null) return false;
  return "accepted" in said && "duplicate" in said && typeof said.duplicate === "number";
}

/** For a person: the answer, and what to do next. */
export function toWords(answer: Answer, { type, messageId, base }: Sent): string {
  switch (answer.kind) {
    case "accepted":
      return `accepted: ${type}, messageId ${printable(messageId)}\n${ACCEPTED}`;
    case "duplicate":
      return `duplicate: ${type}, messageId ${printable(messageId)}\n${DUPLICATE}`;
    case "refused":
      return `${base} refused the call with ${answer.status} ${said(answer.said)}${later(answer.retryAfter)}`;
    case "foreign":
      return `${base} answered ${answer.status}, and not as Fairlead does; is that the address of its ingest listener?`;
    case "unreachable":
      return `cannot reach ${base}: ${answer.reason}${isNobodyThere(answer.code) ? "; is `fairlead serve` running?" : ""}`;
    default:
      return never(answer);
  }
}

const ACCEPTED = `next: it is on the daemon's disk. Every destination that takes it gets a webhook with this messageId; if none
      comes, the daemon's log says why.`;

const DUPLICATE = `next: this messageId came before, within 24 hours, so nothing goes out again. For a new call choose another
      --message-id, or none.`;

function said({ code, message }: Refusal): string {
  return printable(`${code}: ${message}`);
}

function later(retryAfter: string | null): string {
  return retryAfter === null ? "" : `; try again in ${printable(retryAfter)} s`;
}

/** For a program: what the daemon said, and the messageId. Without an answer of a daemon, the same in its shape. */
export function toJson(answer: Answer, sent: Sent): string {
  const { messageId } = sent;
  if ("said" in answer) return JSON.stringify({ messageId, status: answer.status, ...answer.said });
  const status = answer.kind === "foreign" ? answer.status : null;
  const code = answer.kind === "foreign" ? "not_fairlead" : answer.kind;
  return JSON.stringify({ messageId, status, success: false, code, message: toWords(answer, sent) });
}
