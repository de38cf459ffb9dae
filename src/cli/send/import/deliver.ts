import type { Sender } from "../../../client/sender.ts";
import type { Clock } from "../../../model/ports.ts";
import { formatDuration, MINUTE, type Ms } from "../../../model/units.ts";
import { NEVER } from "../library.ts";
import type { ImportCall } from "./call.ts";
import { isForeign, isNobody, readVerdict, type Taken, type Verdict, whyNot } from "./verdict.ts";

export type Deliver = (calls: readonly ImportCall[]) => Promise<Taken | GivenUp>;

/** Nothing more can be sent; null if it was asked to stop. */
export type GivenUp = { readonly kind: "given-up"; readonly why: string | null };

export type DeliverWorld = {
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
