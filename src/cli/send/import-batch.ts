import type { FinalAnswer } from "../../client/post.ts";
import type { Sender, Sending } from "../../client/sender.ts";
import { printable } from "../../client/show.ts";
import type { Clock } from "../../model/ports.ts";
import { formatDuration, MINUTE, type Ms } from "../../model/units.ts";
import { isNobodyThere, isRefusal, parseSaid } from "../daemon.ts";
import type { ImportCall } from "./import-lines.ts";
import { isFairleads, NEVER, whyNone } from "./sender.ts";

export type Deliver = (calls: readonly ImportCall[]) => Promise<Taken | GivenUp>;

/** The import cannot continue, and why; null if the user stopped it. */
export type GivenUp = { readonly kind: "given-up"; readonly why: string | null };

type DeliverWorld = {
  /** The client library's, with its retry table. */
  readonly sender: Pick<Sender, "send">;
  readonly clock: Pick<Clock, "now">;
  readonly signal: AbortSignal;
  /** The daemon's address, for messages. */
  readonly base: string;
  /** Tells the user why it takes long. */
  readonly note: (text: string) => void;
};

/** The import stops after this time without success, so that the user sees what is wrong. */
const PATIENCE: Ms = 10 * MINUTE;

/**
 * Sends batches until the daemon accepts them. Retries while the daemon is down or full, but not if no daemon has ever
 * answered. If a whole request is refused because of one call, sends the halves to find that call.
 */
export function createDeliver({ sender, clock, signal, base, note }: DeliverWorld): Deliver {
  let wasThere = false;

  return deliver;

  async function deliver(calls: readonly ImportCall[]): Promise<Taken | GivenUp> {
    const verdict = await sendUntilSettled(calls);
    if (verdict.kind !== "refused") return verdict;
    const { code, message } = verdict;
    const [call] = calls;
    if (call && calls.length === 1) {
      return { kind: "taken", accepted: 0, duplicate: 0, rejected: [{ call, code, message }] };
    }
    const middle = Math.floor(calls.length / 2);
    const first = await deliver(calls.slice(0, middle));
    if (first.kind !== "taken") return first;
    const second = await deliver(calls.slice(middle));
    return second.kind === "taken" ? sumOf(first, second) : second;
  }

  async function sendUntilSettled(calls: readonly ImportCall[]): Promise<Settled | GivenUp> {
    const beganAt = clock.now();
    let noted = "";
    const again: Again = (answer) => {
      if (isForeign(answer) || (isNobody(answer) && !wasThere)) return false;
      if (clock.now() - beganAt >= PATIENCE) return false;
      const why = whyNot(answer);
      if (why !== noted) note(`${base} ${why}; retrying`);
      noted = why;
      return true;
    };
    const sending = await sender.send(calls, { signal: NEVER, stop: signal, again });
    if (sending.kind === "stopped") return { kind: "given-up", why: null };
    const verdict = readVerdict(sending, calls);
    if (verdict.kind === "fatal") return giveUp(verdict.why);
    if (verdict.kind === "unavailable") return giveUp(`${verdict.why}${verdict.nobody && !wasThere ? HINT : IN_VAIN}`);
    wasThere = true;
    if (noted !== "") note(`${base} answers again`);
    return verdict;
  }

  function giveUp(why: string): GivenUp {
    return { kind: "given-up", why: `${base} ${why}` };
  }
}

type Settled = Extract<Verdict, { kind: "taken" | "refused" }>;
type Again = NonNullable<Parameters<Sender["send"]>[1]["again"]>;

const HINT = "; is fairlead serve running?";
const IN_VAIN = `, after ${formatDuration(PATIENCE)} of retries`;

function sumOf(first: Taken, second: Taken): Taken {
  return {
    kind: "taken",
    accepted: first.accepted + second.accepted,
    duplicate: first.duplicate + second.duplicate,
    rejected: [...first.rejected, ...second.rejected],
  };
}

/** The result of calls that were sent together. */
export type Verdict =
  | Taken
  /** Nothing was accepted, and a later try may succeed. `nobody`: nothing listens there. */
  | { readonly kind: "unavailable"; readonly why: string; readonly nobody: boolean }
  /** The whole request was refused because of its content. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** No request to this address can succeed. */
  | { readonly kind: "fatal"; readonly why: string };

export type Taken = {
  readonly kind: "taken";
  readonly accepted: number;
  readonly duplicate: number;
  readonly rejected: readonly Rejected[];
};

type Rejected = { readonly call: ImportCall; readonly code: string; readonly message: string };

type Sent = Exclude<Sending<ImportCall>, { kind: "stopped" }>;

/** Reads the client library's result of sending a batch. */
export function readVerdict(sending: Sent, calls: readonly ImportCall[]): Verdict {
  if (sending.kind === "taken") {
    if (!isFairleads(sending, calls.length)) return { kind: "fatal", why: `answers ${sending.status}, ${FOREIGN}` };
    const { accepted, duplicates, rejections } = sending;
    const rejected = [...rejections.of].map(([call, why]) => ({ call, ...why }));
    return { kind: "taken", accepted, duplicate: duplicates, rejected };
  }
  const { answer, loss } = sending;
  if (isForeign(answer)) return { kind: "fatal", why: `${whyNot(answer)}, ${FOREIGN}` };
  if (loss.reason === "gave_up") return { kind: "unavailable", why: whyNot(answer), nobody: isNobody(answer) };
  return answer.kind === "answered" ? readRefusal(answer) : { kind: "fatal", why: whyNot(answer) };
}

const FOREIGN = "which is not an answer of Fairlead; is the address right?";

function readRefusal(answer: Extract<FinalAnswer, { kind: "answered" }>): Verdict {
  const { status, body } = answer;
  if (status === 413) return { kind: "refused", code: "body_too_large", message: "the request is too large" };
  const refusal = parseSaid(body);
  if (!isRefusal(refusal)) return { kind: "fatal", why: `${whyNot(answer)}, ${FOREIGN}` };
  if (status === 400) return { kind: "refused", code: refusal.code, message: refusal.message };
  return { kind: "fatal", why: whyNot(answer) };
}

/** Why a batch was not accepted, as words that follow the address. */
function whyNot(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `cannot be reached: ${whyNone(answer).reason}`;
  const refusal = parseSaid(answer.body);
  return `answers ${answer.status}${isRefusal(refusal) ? ` ${printable(`${refusal.code}: ${refusal.message}`)}` : ""}`;
}

/** Whether a success came from something other than Fairlead. */
function isForeign(answer: FinalAnswer): boolean {
  return answer.kind === "answered" && answer.status < 300;
}

/** Whether nothing listens there. */
function isNobody(answer: FinalAnswer): boolean {
  return answer.kind !== "answered" && isNobodyThere(whyNone(answer).code);
}
