/**
 * A token bucket bounds how much happens in any time: what happens takes tokens. The bucket holds `burst` of them at most, and fills
 * at its rate.
 */
import type { RateLimit } from "./config.ts";
import { type At, type Ms, SECOND } from "./units.ts";

export type Bucket = {
  /** Goes by this rule from now on, with the tokens that it has and no others. */
  setRule(rule: BucketRule, now: At): void;
  /** Whether there are tokens for a round. If not, who asks is held back from now on. */
  hasRound(now: At): boolean;
  /** May take more than there are, and so put it into debt; fewer than none are given back. */
  take(tokens: number, now: At): void;
  /** When there are tokens again for what was held back; may lie in the past. Null if nothing was. */
  nextAt(): At | null;
  /** Since when it holds back without a break; null if it does not. */
  heldSince(now: At): At | null;
};

export type BucketRule = RateLimit & {
  /** The tokens that have to be there before any is taken. */
  readonly round: number;
  /** How many daemons share the rate. */
  readonly daemons: number;
};

/** What was held back so recently still is: between two waits for a token, one is taken. */
const BREAK: Ms = SECOND;

/**
 * The level is in whole units, so that nothing is lost to rounding over any time: each millisecond adds `requests` of them, and
 * a token costs `per` × `daemons`. `tokens`: those that it begins with.
 */
export function createBucket(first: BucketRule, start: At, tokens = first.round): Bucket {
  let rule = first;
  let level = Math.min(tokens * costOf(first), capacityOf(first));
  let at = start;
  let held: { readonly since: At; readonly until: At } | null = null;

  return {
    setRule(next, now) {
      fill(now);
      level = Math.min(Math.floor((level / costOf(rule)) * costOf(next)), capacityOf(next));
      rule = next;
    },
    hasRound(now) {
      fill(now);
      const missing = roundOf(rule) - level;
      if (missing <= 0) return true;
      held = { since: heldSince(now) ?? now, until: now + Math.ceil(missing / rule.requests) };
      return false;
    },
    take(tokens, now) {
      fill(now);
      level = Math.min(level - tokens * costOf(rule), capacityOf(rule));
      if (held !== null && held.until > now) held = { since: held.since, until: now };
    },
    nextAt: () => held?.until ?? null,
    heldSince,
  };

  function heldSince(now: At): At | null {
    return held === null || now > held.until + BREAK ? null : held.since;
  }

  /** Time that goes back adds nothing, and counts on from there: otherwise the bucket would stay empty until it has caught up. */
  function fill(now: At): void {
    if (now > at) level = Math.min(capacityOf(rule), level + (now - at) * rule.requests);
    at = now;
  }
}

function costOf({ per, daemons }: BucketRule): number {
  return per * daemons;
}

function roundOf(rule: BucketRule): number {
  return rule.round * costOf(rule);
}

/** This daemon's part of the burst, and a round at least. */
function capacityOf(rule: BucketRule): number {
  return Math.max(rule.burst * rule.per, roundOf(rule));
}
