import type { IpPolicy } from "../model/config.ts";
import type { FaultCode } from "../model/fault.ts";
import type { Observer } from "../model/observer.ts";
import type { Clock } from "../model/ports.ts";
import type { ForgetRejections, Refusal, Rejection, Rejections, Sender } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import type { Timeline } from "../model/timeline.ts";
import { HOUR, KB, type Ms, SECOND } from "../model/units.ts";
import { applyPolicy } from "../validate/context.ts";

/** As many as an operator reads, in at most some hundred KB. */
const MOST_KEPT = 100;
/** Of one request, so that a batch of bad calls does not push out those of others. */
const MOST_OF_ONE = 10;
/** Refusals by the limits of a source come as a flood: one entry of each source and code stands for all of them. */
const OF_LIMITS: ReadonlySet<FaultCode> = new Set(["rate_limited", "source_full"]);
/** How often that entry shows another request, and how long it counts on after the last one. */
const REFRESHED: Ms = SECOND;
const COUNTED: Ms = HOUR;

/** The request of a refused call. */
export type Visit = {
  /** `POST /v1/track` */
  readonly request: string;
  /** What may be kept of addresses. */
  readonly policy: IpPolicy;
  /** Removes write keys from a text. */
  readonly hide: (text: string) => string;
  readonly sender: () => Sender;
};

/** A refusal, and what was refused: a parsed call, or the text of a body. */
export type Refused = Refusal & { readonly what: unknown };

/** Logs, counts and keeps refusals. */
export type RejectionLog = Rejections & {
  readonly forget: ForgetRejections;
  /** Takes the refusals of one request. */
  reject(refused: readonly Refused[], visit: Visit): void;
};

type RejectionsWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly timeline: Pick<Timeline, "toWall">;
  readonly observer: Pick<Observer, "refused">;
  readonly report: Report;
};

/** The ring of the last refusals. Each refusal is reported here, and nowhere else. */
export function createRejections({ clock, timeline, observer, report }: RejectionsWorld): RejectionLog {
  const kept: Rejection[] = [];
  return {
    reject(refused, visit) {
      for (const one of refused) {
        const { what: _, ...refusal } = one;
        report.callRejected(refusal);
        observer.refused(one);
      }
      for (const one of refused.slice(0, MOST_OF_ONE)) {
        if (OF_LIMITS.has(one.fault.code)) rememberLimit(one, visit);
        else kept.push(remember(one, visit));
      }
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

  /** The newest of them takes the place of the one before, and has the number of all. */
  function rememberLimit(one: Refused, visit: Visit): void {
    const at = kept.findIndex(({ source, fault }) => source === one.source && fault.code === one.fault.code);
    const before = kept[at];
    const now = clock.now();
    const count = (one.count ?? 1) + (before && now - before.at < COUNTED ? (before.count ?? 1) : 0);
    if (before && now - before.at < REFRESHED) {
      kept[at] = { ...before, count };
      return;
    }
    if (before) kept.splice(at, 1);
    kept.push(remember({ ...one, count }, visit));
  }

  function remember({ what, ...refusal }: Refused, { request, policy, hide, sender }: Visit): Rejection {
    const { address, userAgent, origin } = sender();
    const from = { address, userAgent: userAgent && hide(userAgent), origin: origin && hide(origin) };
    return copy({ ...refusal, at: clock.now(), from, request, sample: sampleOf(what, { policy, hide }) });
  }
}

/** The ids as a refusal may hold them: as they are, in the JSON of a sample, in a query. */
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

/** Whether the id stands there as a word. The text may be anything: too much is forgotten rather than too little. */
function mentions(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!/[\p{L}\p{N}]$/u.test(text.slice(0, at).slice(-2)) && !/^[\p{L}\p{N}]/u.test(text.slice(at + id.length))) {
      return true;
    }
  }
  return false;
}

/** A copy of its own: a substring would keep the whole body in memory. */
function copy(rejection: Rejection): Rejection {
  return JSON.parse(Buffer.from(JSON.stringify(rejection)).toString());
}

/** In characters. */
const LONGEST = KB;
const LONGEST_KEY = 256;
/** Levels that are shown. Deep JSON would take half a second. */
const DEEPEST = 20;

/**
 * The beginning of what was refused, by which the operator recognises it. Write keys are removed, and so is what must not
 * be kept of addresses.
 */
function sampleOf(what: unknown, { policy, hide }: Hiding): string {
  const masked = typeof what === "string" ? maskText(what, policy) : maskValue(what, policy);
  // A key may reach beyond what is shown, and must be found whole.
  return hide(masked.slice(0, LONGEST + LONGEST_KEY)).slice(0, LONGEST);
}

type Hiding = { readonly policy: IpPolicy; readonly hide: (text: string) => string };

const QUOTE = String.raw`(?:\\*["']|%22|%27)?`;
const MARK = String.raw`\s*(?:[:=]|%3A)\s*`;
const VALUE = String.raw`[^"'&,;\s}\\%]+`;
const WRITE_KEY = new RegExp(`(write_?key${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");
const IP = new RegExp(`(\\bip${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");

/** A text that is no JSON. A key is masked however it is quoted, escaped and separated. */
function maskText(text: string, policy: IpPolicy): string {
  const masked = text.slice(0, 2 * LONGEST).replace(WRITE_KEY, "$1***");
  return policy === "keep" ? masked : masked.replace(IP, "$1***");
}

function maskValue(value: unknown, policy: IpPolicy): string {
  const depths = new Map<unknown, number>();
  // Anybody can send deep JSON, so it is cut here.
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
