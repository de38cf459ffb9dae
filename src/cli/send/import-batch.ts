import type { FinalAnswer } from "../../client/post.ts";
import type { Sender, Sending } from "../../client/sender.ts";
import type { Clock } from "../../model/ports.ts";
import { formatDuration, MINUTE, type Ms } from "../../model/units.ts";
import { isNobodyThere, isRefusal, parseSaid } from "../daemon/said.ts";
import { printable } from "../printable.ts";
import type { ImportCall } from "./import-lines.ts";
import { isFairleads, NEVER, whyNone } from "./sender.ts";

export type Deliver = (calls: readonly ImportCall[]) => Promise<Taken | GivenUp>;

/** Nothing more can be sent; null if it was asked to stop. */
export type GivenUp = { readonly kind: "given-up"; readonly why: string | null };

type DeliverWorld = {
  /** The client library's, which tries again by its retry table. */
  readonly sender: Pick<Sender, "send">;
  readonly clock: Pick<Clock, "now">;
  readonly signal: AbortSignal;
  /** Where it goes, for messages. */
  readonly base: string;
  /** Tells the user why it takes longer. */
  readonly tell: (text: string) => void;
};

/** After so long without any success it is for the user to see what is wrong; the same command goes on from here. */
const PATIENCE: Ms = 10 * MINUTE;

/**
 * Sends batches until each is taken: again and again where the daemon is away or has no room, and in halves where it refuses
 * a whole request because of something in it. Who has never been there is not waited for.
 */
export function createDeliver({ sender, clock, signal, base, tell }: DeliverWorld): Deliver {
  let wasThere = false;

  return deliver;

  async function deliver(calls: readonly ImportCall[]): Promise<Taken | GivenUp> {
    const verdict = await sendUntilHeard(calls);
    if (verdict.kind !== "unfit") return verdict;
    const { code, message } = verdict;
    if (calls.length === 1)
      return { kind: "taken", accepted: 0, duplicate: 0, rejected: [{ index: 0, code, message }] };
    const middle = Math.floor(calls.length / 2);
    const first = await deliver(calls.slice(0, middle));
    if (first.kind !== "taken") return first;
    const second = await deliver(calls.slice(middle));
    return second.kind === "taken" ? together(first, second, middle) : second;
  }

  async function sendUntilHeard(calls: readonly ImportCall[]): Promise<Heard | GivenUp> {
    const beganAt = clock.now();
    let told = "";
    const again: Again = (answer) => {
      if (isForeign(answer) || (isNobody(answer) && !wasThere)) return false;
      if (clock.now() - beganAt >= PATIENCE) return false;
      const why = whyNot(answer);
      if (why !== told) tell(`${base} ${why}; trying again until it takes them`);
      told = why;
      return true;
    };
    const sending = await sender.send(calls, { signal: NEVER, stop: signal, again });
    if (sending.kind === "stopped") return { kind: "given-up", why: null };
    const verdict = readVerdict(sending, calls);
    if (verdict.kind === "useless") return giveUp(verdict.why);
    if (verdict.kind === "later") return giveUp(`${verdict.why}${verdict.nobody && !wasThere ? HINT : IN_VAIN}`);
    wasThere = true;
    if (told !== "") tell(`${base} is there again`);
    return verdict;
  }

  function giveUp(why: string): GivenUp {
    return { kind: "given-up", why: `${base} ${why}` };
  }
}

type Heard = Extract<Verdict, { kind: "taken" | "unfit" }>;
type Again = NonNullable<Parameters<Sender["send"]>[1]["again"]>;

const HINT = "; is `fairlead serve` running?";
const IN_VAIN = `, for ${formatDuration(PATIENCE)} now`;

function together(first: Taken, second: Taken, before: number): Taken {
  const moved = second.rejected.map((one) => ({ ...one, index: one.index + before }));
  return {
    kind: "taken",
    accepted: first.accepted + second.accepted,
    duplicate: first.duplicate + second.duplicate,
    rejected: [...first.rejected, ...moved],
  };
}

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
type Rejected = { readonly index: number; readonly code: string; readonly message: string };

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
function whyNot(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `cannot be reached: ${whyNone(answer).reason}`;
  const said = parseSaid(answer.body);
  return `answers ${answer.status}${isRefusal(said) ? ` ${printable(`${said.code}: ${said.message}`)}` : ""}`;
}

/** Whether it has an answer for everything, and is no daemon. */
function isForeign(answer: FinalAnswer): boolean {
  return answer.kind === "answered" && answer.status < 300;
}

/** Whether nothing listens there. */
function isNobody(answer: FinalAnswer): boolean {
  return answer.kind !== "answered" && isNobodyThere(whyNone(answer).code);
}
