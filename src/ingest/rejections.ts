import type { Clock } from "../model/ports.ts";
import type { ForgetRejections, Refusal, Rejection, Rejections, Sender } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import type { IpPolicy } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
import { KB } from "../model/units.ts";
import { applyPolicy } from "../validate/context.ts";

/** How many are kept: what an operator reads, in at most some hundred KB. */
const MOST_KEPT = 100;
/** Of one request: a batch of bad calls must not push out all that others were refused. */
const MOST_OF_ONE = 10;

/** What is known of the request that a refused call came in. */
type Visit = {
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

type RejectionsWorld = {
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

/** In characters. */
const LONGEST = KB;
const LONGEST_KEY = 256;
/** Levels that are written out. Deep JSON would take half a second. */
const DEEPEST = 20;

/**
 * The beginning of what was refused, for the operator to recognise it by. Write keys are taken out, and of addresses what
 * must not be kept.
 */
function sampleOf(what: unknown, { policy, hide }: Hiding): string {
  const masked = typeof what === "string" ? maskText(what, policy) : maskValue(what, policy);
  // A key that begins within what is shown is looked at whole.
  return hide(masked.slice(0, LONGEST + LONGEST_KEY)).slice(0, LONGEST);
}

type Hiding = { readonly policy: IpPolicy; readonly hide: (text: string) => string };

const QUOTE = String.raw`(?:\\*["']|%22|%27)?`;
const MARK = String.raw`\s*(?:[:=]|%3A)\s*`;
const VALUE = String.raw`[^"'&,;\s}\\%]+`;
const WRITE_KEY = new RegExp(`(write_?key${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");
const IP = new RegExp(`(\\bip${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");

/** What could not be read as JSON may be anything: a key is masked however it is quoted, escaped and separated. */
function maskText(text: string, policy: IpPolicy): string {
  const masked = text.slice(0, 2 * LONGEST).replace(WRITE_KEY, "$1***");
  return policy === "keep" ? masked : masked.replace(IP, "$1***");
}

function maskValue(value: unknown, policy: IpPolicy): string {
  const depths = new Map<unknown, number>();
  // Written out this far, and no further, whatever a stranger has nested.
  function masked(this: unknown, key: string, inner: unknown): unknown {
    if (/^write_?key$/i.test(key)) return "***";
    if (typeof inner === "string") return key === "ip" ? applyPolicy(inner, policy) : inner.slice(0, LONGEST);
    if (typeof inner !== "object" || inner === null) return inner;
    const depth = (depths.get(this) ?? 0) + 1;
    if (depth > DEEPEST) return "…";
    depths.set(inner, depth);
    return inner;
  }
  return JSON.stringify(value, masked) ?? "";
}
