import type { FinalAnswer } from "../../../client/post.ts";
import type { Sending } from "../../../client/sender.ts";
import { isNobodyThere, isRefusal, parseSaid } from "../../daemon.ts";
import { printable } from "../../printable.ts";
import { isFairleads, whyNone } from "../library.ts";
import type { ImportCall } from "./call.ts";

/** What became of calls that were sent together. */
export type Verdict =
  | Taken
  /** Nothing was taken; it may be later. `nobody`: nothing listens there. */
  | { readonly kind: "later"; readonly why: string; readonly nobody: boolean }
  /** The request as a whole was refused because of what is in it. */
  | { readonly kind: "unfit"; readonly code: string; readonly message: string }
  /** It is of no use to send anything there. */
  | { readonly kind: "useless"; readonly why: string };

export type Taken = {
  readonly kind: "taken";
  readonly accepted: number;
  readonly duplicate: number;
  readonly rejected: readonly Rejected[];
};

/** `index`: which of the calls, counted from 0. */
export type Rejected = { readonly index: number; readonly code: string; readonly message: string };

type Settled = Exclude<Sending<ImportCall>, { kind: "stopped" }>;

/** Reads what the client library has made of a batch. */
export function readVerdict(sending: Settled, calls: readonly ImportCall[]): Verdict {
  if (sending.kind === "taken") {
    if (!isFairleads(sending, calls.length)) return { kind: "useless", why: `answers ${sending.status}, ${FOREIGN}` };
    const { accepted, duplicates, rejections } = sending;
    return { kind: "taken", accepted, duplicate: duplicates, rejected: placesOf(rejections.of, calls) };
  }
  const { answer, loss } = sending;
  if (isForeign(answer)) return { kind: "useless", why: `${whyNot(answer)}, ${FOREIGN}` };
  if (loss.reason === "gave_up") return { kind: "later", why: whyNot(answer), nobody: isNobody(answer) };
  return answer.kind === "answered" ? readRefusal(answer) : { kind: "useless", why: whyNot(answer) };
}

const FOREIGN = "and not as Fairlead does; is that its address?";

function placesOf(
  rejected: Extract<Settled, { kind: "taken" }>["rejections"]["of"],
  calls: readonly ImportCall[],
): readonly Rejected[] {
  if (rejected.size === 0) return [];
  return calls.flatMap((call, index) => {
    const rejection = rejected.get(call);
    return rejection ? [{ index, ...rejection }] : [];
  });
}

function readRefusal(answer: Extract<FinalAnswer, { kind: "answered" }>): Verdict {
  const { status, body } = answer;
  if (status === 413) return { kind: "unfit", code: "body_too_large", message: "the request is too large" };
  const said = parseSaid(body);
  if (!isRefusal(said)) return { kind: "useless", why: `${whyNot(answer)}, ${FOREIGN}` };
  if (status === 400) return { kind: "unfit", code: said.code, message: said.message };
  return { kind: "useless", why: whyNot(answer) };
}

/** What the daemon does instead of taking a batch, as words that go on after its address. */
export function whyNot(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `cannot be reached: ${whyNone(answer).reason}`;
  const said = parseSaid(answer.body);
  return `answers ${answer.status}${isRefusal(said) ? ` ${printable(`${said.code}: ${said.message}`)}` : ""}`;
}

/** Whether it has an answer for everything, and is no daemon. */
export function isForeign(answer: FinalAnswer): boolean {
  return answer.kind === "answered" && answer.status < 300;
}

/** Whether nothing listens there. */
export function isNobody(answer: FinalAnswer): boolean {
  return answer.kind !== "answered" && isNobodyThere(whyNone(answer).code);
}
