import type { Clock } from "../model/ports.ts";
import type { ForgetRejections, Refusal, Rejection, Rejections, Sender } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import type { IpPolicy } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
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
  /** Takes write keys out of what is kept. */
  readonly hide: (text: string) => string;
  readonly sender: () => Sender;
};

/** A refusal, and the thing that was refused: a parsed call, or the text of a body. */
export type Refused = Refusal & { readonly what: unknown };

/** Tells, counts and remembers what was not taken. */
export type Rejecting = Rejections & {
  readonly forget: ForgetRejections;
  /** All that was refused of one request. */
  reject(refused: readonly Refused[], visit: Visit): void;
};

export type RejectionsWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly timeline: Pick<Timeline, "toWall">;
  readonly report: Report;
};

/** The ring of the last refusals. An event that was not taken is never invisible: this is the one place to say so. */
export function createRejections({ clock, timeline, report }: RejectionsWorld): Rejecting {
  const kept: Rejection[] = [];
  return {
    reject(refused, visit) {
      for (const { what, ...refusal } of refused) report.callRejected(refusal);
      for (const one of refused.slice(0, MOST_OF_ONE)) kept.push(remember(one, visit));
      kept.splice(0, Math.max(0, kept.length - MOST_KEPT));
    },
    newest: (limit) =>
      kept
        .slice(-limit)
        .reverse()
        .map((one) => ({ ...one, at: timeline.toWall(one.at) })),
    forget(userIds, sources) {
      const names = spellingsOf(userIds);
      const isTheirs = (one: Rejection): boolean =>
        (one.source === null || sources === null || sources.includes(one.source)) && isAbout(one, names);
      kept.splice(0, kept.length, ...kept.filter((one) => !isTheirs(one)));
    },
  };

  function remember({ what, ...refusal }: Refused, { request, policy, hide, sender }: Visit): Rejection {
    const { address, userAgent, origin } = sender();
    const from = { address, userAgent: userAgent && hide(userAgent), origin: origin && hide(origin) };
    return copy({ ...refusal, at: clock.now(), from, request, sample: sampleOf(what, { policy, hide }) });
  }
}

/** The ids as they may be written in a refusal: as they are, in the JSON of a sample, in a query. */
function spellingsOf(userIds: readonly string[]): readonly string[] {
  const spelled = userIds.flatMap((id) => {
    const inJson = JSON.stringify(id).slice(1, -1);
    return [inJson, JSON.stringify(inJson).slice(1, -1), id.isWellFormed() ? encodeURIComponent(id) : inJson];
  });
  return [...new Set(spelled)];
}

function isAbout(rejection: Rejection, names: readonly string[]): boolean {
  const text = JSON.stringify(rejection);
  return names.some((name) => mentions(text, name));
}

/** Whether it stands there by itself. What was refused may be anything: rather too much is forgotten than too little. */
function mentions(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!/[\p{L}\p{N}]$/u.test(text.slice(0, at).slice(-2)) && !/^[\p{L}\p{N}]/u.test(text.slice(at + id.length))) {
      return true;
    }
  }
  return false;
}

/** A piece of a text keeps all of it in memory: what is remembered of a body must not hold the body. */
function copy(rejection: Rejection): Rejection {
  return JSON.parse(Buffer.from(JSON.stringify(rejection)).toString());
}
