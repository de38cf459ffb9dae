import type { Clock, Random } from "../../../model/ports.ts";
import { formatDuration, MINUTE, type Ms, SECOND } from "../../../model/units.ts";
import type { ImportCall } from "./call.ts";
import type { Taken, Verdict } from "./verdict.ts";

/** Sends calls together, in their order, once. Never rejects. */
export type SendBatch = (calls: readonly ImportCall[]) => Promise<Verdict>;

export type Deliver = (calls: readonly ImportCall[]) => Promise<Taken | GivenUp>;

/** Nothing more can be sent; null if it was asked to stop. */
export type GivenUp = { readonly kind: "given-up"; readonly why: string | null };

export type DeliverWorld = {
  readonly send: SendBatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Where it goes, for messages. */
  readonly base: string;
  /** Tells the user why it takes longer. */
  readonly tell: (text: string) => void;
};

/** After so long without any success it is for the user to see what is wrong; the same command goes on from here. */
const PATIENCE: Ms = 10 * MINUTE;
const SHORTEST: Ms = SECOND / 2;
const LONGEST: Ms = MINUTE;

/**
 * Sends batches until each is taken: again and again where the daemon is away or has no room, and in halves where it refuses
 * a whole request because of something in it. Who has never been there is not waited for.
 */
export function createDeliver(world: DeliverWorld): Deliver {
  const { send, clock, random, signal, base, tell } = world;
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

  async function sendUntilHeard(calls: readonly ImportCall[]): Promise<Exclude<Verdict, Later | Useless> | GivenUp> {
    const beganAt = clock.now();
    let told = "";
    for (let tries = 0; ; tries += 1) {
      const verdict = await send(calls);
      if (verdict.kind === "useless") return giveUp(verdict.why);
      if (verdict.kind !== "later") {
        wasThere = true;
        if (told !== "") tell(`${base} is there again`);
        return verdict;
      }
      if (verdict.nobody && !wasThere) return giveUp(`${verdict.why}; is \`fairlead serve\` running?`);
      if (clock.now() - beganAt >= PATIENCE) return giveUp(`${verdict.why}, for ${formatDuration(PATIENCE)} now`);
      if (verdict.why !== told) tell(`${base} ${verdict.why}; trying again until it takes them`);
      told = verdict.why;
      await clock.sleep(Math.max(verdict.wait, backoff(tries, random.fraction())), signal);
      if (signal.aborted) return { kind: "given-up", why: null };
    }
  }

  function giveUp(why: string): GivenUp {
    return { kind: "given-up", why: `${base} ${why}` };
  }
}

type Later = Extract<Verdict, { kind: "later" }>;
type Useless = Extract<Verdict, { kind: "useless" }>;

/** Doubles up to a minute, and a fifth of it is chance: several imports are not to come back at once. */
function backoff(tries: number, chance: number): Ms {
  return Math.min(LONGEST, SHORTEST * 2 ** tries) * (0.8 + 0.4 * chance);
}

function together(first: Taken, second: Taken, before: number): Taken {
  const moved = second.rejected.map((one) => ({ ...one, index: one.index + before }));
  return {
    kind: "taken",
    accepted: first.accepted + second.accepted,
    duplicate: first.duplicate + second.duplicate,
    rejected: [...first.rejected, ...moved],
  };
}
