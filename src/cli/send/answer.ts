import type { FinalAnswer } from "../../client/post.ts";
import type { Sending } from "../../client/sender.ts";
import type { CallType } from "../../model/event.ts";
import { never } from "../../model/never.ts";
import { isNobodyThere, isRefusal, parseSaid, type Refusal } from "../daemon.ts";
import { printable } from "../printable.ts";
import { isFairleads, whyNone } from "./library.ts";

/** What became of a call, or why nobody knows. */
export type Answer =
  | { readonly kind: "accepted" | "duplicate"; readonly status: number; readonly said: Counts }
  /** By the daemon: with the status of its answer; or as a call of a batch that was taken. */
  | { readonly kind: "refused"; readonly status: number; readonly said: Refusal; readonly retryAfter: string | null }
  | { readonly kind: "rejected"; readonly status: number; readonly said: Refused }
  /** By the client library: it was not sent. */
  | { readonly kind: "invalid"; readonly status: null; readonly said: Refused }
  /** Something answers, and it is not Fairlead. */
  | { readonly kind: "foreign"; readonly status: number }
  | { readonly kind: "unreachable"; readonly code: string | null; readonly reason: string };

type Counts = { readonly success: true; readonly accepted: number; readonly duplicate: number };

/** A refusal that is of one call alone. */
type Refused = Refusal & { readonly success: false };

/** The call that was sent, and to whom. */
export type Sent = { readonly type: CallType; readonly messageId: string; readonly base: string };

/** Reads what became of one call that was sent once. */
export function readAnswer(sending: Sending<unknown>): Answer {
  if (sending.kind === "stopped") return { kind: "unreachable", code: null, reason: "it was told to stop" };
  if (sending.kind === "lost") return readRefusal(sending.answer);
  const { status, duplicates, rejections } = sending;
  if (!isFairleads(sending, 1)) return { kind: "foreign", status };
  const [rejection] = rejections.of.values();
  if (rejection) return { kind: "rejected", status, said: { success: false, ...rejection } };
  const said = { success: true, accepted: sending.accepted, duplicate: duplicates } as const;
  return { kind: duplicates > 0 ? "duplicate" : "accepted", status, said };
}

function readRefusal(answer: FinalAnswer): Answer {
  if (answer.kind !== "answered") return { kind: "unreachable", ...whyNone(answer) };
  const { status, body, retryAfter } = answer;
  const said = parseSaid(body);
  if (status < 400 || !isRefusal(said)) return { kind: "foreign", status };
  return { kind: "refused", status, said, retryAfter };
}

/** For a person: the answer, and what to do next. */
export function toWords(answer: Answer, { type, messageId, base }: Sent): string {
  switch (answer.kind) {
    case "accepted":
      return `accepted: ${type}, messageId ${printable(messageId)}\n${ACCEPTED}\n${explaining(messageId)}`;
    case "duplicate":
      return `duplicate: ${type}, messageId ${printable(messageId)}\n${DUPLICATE}\n${explaining(messageId)}`;
    case "refused":
      return `${base} refused the call with ${answer.status} ${said(answer.said)}${later(answer.retryAfter)}`;
    case "rejected":
      return `${base} refused the call: ${said(answer.said)}`;
    case "invalid":
      return `the call was not sent: ${said(answer.said)}\n${INVALID}`;
    case "foreign":
      return `${base} answered ${answer.status}, and not as Fairlead does; is that the address of its ingest listener?`;
    case "unreachable":
      return `cannot reach ${base}: ${answer.reason}${isNobodyThere(answer.code) ? "; is `fairlead serve` running?" : ""}`;
    default:
      return never(answer);
  }
}

const ACCEPTED = "It is on the daemon's disk, and goes to each destination that takes it. What becomes of it:";

const DUPLICATE = `This messageId came before, within 24 hours, so nothing goes out again. For a new call choose another --message-id,
or none. What became of the first one:`;

/** The command that says what becomes of a call, as a shell takes it. */
function explaining(messageId: string): string {
  const shown = printable(messageId);
  const isPlain = /^[\w.:@%+,/=][\w.:@%+,/=-]*$/.test(shown);
  const quoted = isPlain ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
  return `  fairlead explain ${shown.startsWith("-") ? "-- " : ""}${quoted}`;
}

const INVALID = `next: a program that uses the client library gets this error at the call. For the daemon's own answer give the whole
      call with --data, which sends it as it stands.`;

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
