import type { Sendable } from "../../client/envelope.ts";
import { AnalyticsError } from "../../client/errors.ts";
import type { FinalAnswer } from "../../client/post.ts";
import type { Sending } from "../../client/sender.ts";
import { printable } from "../../client/show.ts";
import type { CallType, JsonObject } from "../../model/event.ts";
import { never } from "../../model/never.ts";
import { isNobodyThere, isRefusal, parseSaid, type Refusal } from "../daemon.ts";
import { paint } from "../paint.ts";
import { isFairleads, NEVER, openSender, type Requests, type SendWorld, whyNone, writeCall } from "./sender.ts";
import type { Target } from "./target.ts";

/** The result of a call, or why it is unknown. */
export type Answer =
  | { readonly kind: "accepted" | "duplicate"; readonly status: number; readonly body: Counts }
  /** Refused by the daemon: the whole request (`refused`), or this call of a batch (`rejected`). */
  | { readonly kind: "refused"; readonly status: number; readonly body: Refusal; readonly retryAfter: string | null }
  | { readonly kind: "rejected"; readonly status: number; readonly body: Refused }
  /** Refused by the client library before sending. */
  | { readonly kind: "invalid"; readonly status: null; readonly body: Refused }
  /** The answer is not from Fairlead. */
  | { readonly kind: "foreign"; readonly status: number }
  | { readonly kind: "unreachable"; readonly code: string | null; readonly reason: string };

type Counts = { readonly success: true; readonly accepted: number; readonly duplicate: number };

/** A refusal of one call. */
type Refused = Refusal & { readonly success: false };

/** The call that was sent, and its address. */
type Sent = { readonly type: CallType; readonly messageId: string; readonly base: string };

/** Reads the result of one call that was sent once. */
function readAnswer(sending: Sending<unknown>): Answer {
  if (sending.kind === "stopped") return { kind: "unreachable", code: null, reason: "interrupted" };
  if (sending.kind === "lost") return readRefusal(sending.answer);
  const { status, duplicates, rejections } = sending;
  if (!isFairleads(sending, 1)) return { kind: "foreign", status };
  const [rejection] = rejections.of.values();
  if (rejection) return { kind: "rejected", status, body: { success: false, ...rejection } };
  const body = { success: true, accepted: sending.accepted, duplicate: duplicates } as const;
  return { kind: duplicates > 0 ? "duplicate" : "accepted", status, body };
}

function readRefusal(answer: FinalAnswer): Answer {
  if (answer.kind !== "answered") return { kind: "unreachable", ...whyNone(answer) };
  const { status, retryAfter } = answer;
  const body = parseSaid(answer.body);
  if (status < 400 || !isRefusal(body)) return { kind: "foreign", status };
  return { kind: "refused", status, body, retryAfter };
}

/** For people: the answer, and what to do next. */
export function toWords(answer: Answer, { type, messageId, base }: Sent): string {
  switch (answer.kind) {
    case "accepted":
      return `${paint.good("accepted")}: ${type}, messageId ${printable(messageId)}\n${ACCEPTED}\n${explaining(messageId)}`;
    case "duplicate":
      return `${paint.warning("duplicate")}: ${type}, messageId ${printable(messageId)}\n${DUPLICATE}\n${explaining(messageId)}`;
    case "refused":
      return `${base} refused the call with ${answer.status} ${describe(answer.body)}${later(answer.retryAfter)}`;
    case "rejected":
      return `${base} refused the call: ${describe(answer.body)}`;
    case "invalid":
      return `the call was not sent: ${describe(answer.body)}\n${INVALID}`;
    case "foreign":
      return `${base} answered ${answer.status}, which is not an answer of Fairlead's ingest listener; is the address right?`;
    case "unreachable":
      return `cannot reach ${base}: ${answer.reason}${isNobodyThere(answer.code) ? "; is fairlead serve running?" : ""}`;
    default:
      return never(answer);
  }
}

const ACCEPTED = "The call is stored, and will be sent to each destination that it matches. To see what happens to it:";

const DUPLICATE = `The daemon already has this messageId, so it sends nothing again. For a new call, use another --message-id.
To see what happened to the first one:`;

/** The command that explains a call, quoted for a shell. */
function explaining(messageId: string): string {
  const shown = printable(messageId);
  const isPlain = /^[\w.:@%+,/=][\w.:@%+,/=-]*$/.test(shown);
  const quoted = isPlain ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
  return `  fairlead explain ${shown.startsWith("-") ? "-- " : ""}${quoted}`;
}

const INVALID = `A program that uses the client library gets this error when it makes the call. To get the daemon's own answer, use
--data, which sends a whole call unchanged.`;

function describe({ code, message }: Refusal): string {
  return printable(`${code}: ${message}`);
}

function later(retryAfter: string | null): string {
  return retryAfter === null ? "" : `; try again in ${printable(retryAfter)} s`;
}

/** For programs: the messageId and the daemon's answer. Without an answer, an object of the same shape. */
export function toJson(answer: Answer, sent: Sent): string {
  const { messageId } = sent;
  if ("body" in answer) return JSON.stringify({ messageId, status: answer.status, ...answer.body });
  const status = answer.kind === "foreign" ? answer.status : null;
  const code = answer.kind === "foreign" ? "not_fairlead" : answer.kind;
  return JSON.stringify({ messageId, status, success: false, code, message: toWords(answer, sent) });
}

export type OneCall = {
  readonly type: CallType;
  readonly call: JsonObject;
  /** Whether the user gave the whole call: it is sent unchanged, and the daemon judges it. */
  readonly isWhole: boolean;
};

/** Sends one call once, with the client library. Never rejects. */
export async function sendCall(one: OneCall, target: Target, world: SendWorld): Promise<Answer> {
  const { type, call, isWhole } = one;
  if (isWhole) return postCall({ text: JSON.stringify(call) }, openSender(target, world, singleCall(type)));
  try {
    return await postCall(writeCall(type, call, world), openSender(target, world));
  } catch (error) {
    if (!(error instanceof AnalyticsError)) throw error;
    const { code, message } = error;
    return { kind: "invalid", status: null, body: { success: false, code, message } };
  }
}

async function postCall(call: Sendable, sender: ReturnType<typeof openSender>): Promise<Answer> {
  return readAnswer(await sender.send([call], { signal: NEVER, again: () => false }));
}

/** A request whose body is the call itself. */
function singleCall(type: CallType): Requests {
  return { path: `/v1/${type}`, write: ([call]) => call?.text ?? "" };
}
