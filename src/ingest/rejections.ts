import type { Clock } from "../model/ports.ts";
import type { Refusal, Rejection, Rejections, Sender } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import type { IpPolicy } from "../model/source.ts";
import { sampleOf } from "./sample.ts";

/** How many are kept: what an operator reads, in at most some hundred KB. */
const MOST_KEPT = 100;
/** Of one request: a batch of bad calls must not push out all that others were refused. */
const MOST_OF_ONE = 10;

/** What is known of the request that a refused call came in. */
export type Visit = {
  /** `POST /v1/track` */
  readonly request: string;
  /** What may be kept of addresses. */
  readonly policy: IpPolicy;
  readonly sender: () => Sender;
};

/** A refusal, and the thing that was refused: a parsed call, or the text of a body. */
export type Refused = Refusal & { readonly what: unknown };

/** Tells, counts and remembers what was not taken. */
export type Rejecting = Rejections & {
  /** All that was refused of one request. */
  reject(refused: readonly Refused[], visit: Visit): void;
};

/** The ring of the last refusals. An event that was not taken is never invisible: this is the one place to say so. */
export function createRejections({ clock, report }: { readonly clock: Clock; readonly report: Report }): Rejecting {
  const kept: Rejection[] = [];
  return {
    reject(refused, visit) {
      for (const { what, ...refusal } of refused) report.callRejected(refusal);
      for (const one of refused.slice(0, MOST_OF_ONE)) kept.push(remember(one, visit));
      kept.splice(0, Math.max(0, kept.length - MOST_KEPT));
    },
    newest: (limit) => kept.slice(-limit).reverse(),
  };

  function remember({ what, ...refusal }: Refused, { request, policy, sender }: Visit): Rejection {
    return copy({ ...refusal, at: clock.wall(), from: sender(), request, sample: sampleOf(what, policy) });
  }
}

/** A piece of a text keeps all of it in memory: what is remembered of a body must not hold the body. */
function copy(rejection: Rejection): Rejection {
  return JSON.parse(Buffer.from(JSON.stringify(rejection)).toString());
}
