/**
 * A token bucket bounds how many requests a destination gets: each takes a token. The bucket holds `burst` of them at most, and
 * fills at the destination's rate. What finds too few tokens waits, as it waits for a slot: it is no attempt, and no failure.
 *
 * One bucket is for all webhooks of a destination. A round asks several of them at once, so it waits until there is a token for
 * each, and the bucket has room for as many. Everything that is sent takes tokens, retries and probes too: the receiver counts
 * them as well.
 *
 * A new bucket has tokens for one round. A full one would let a daemon that is started again and again exceed the rate.
 */
import type { Destination, RateLimit } from "../model/config.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

export type Bucket = {
  /** Goes by this rule from now on, with the tokens that it has and no others. */
  setRule(rule: BucketRule, now: At): void;
  /** Whether there are tokens for a round. If not, the destination is held back from now on. */
  hasRound(now: At): boolean;
  take(requests: number, now: At): void;
  /** When there are tokens again for what was held back; may lie in the past. Null if nothing was. */
  nextAt(): At | null;
  /** Since when the destination is held back without a break; null if it is not. */
  heldSince(now: At): At | null;
};

export type BucketRule = RateLimit & {
  /** The most requests of a round. */
  readonly round: number;
  /** How many daemons share the rate. */
  readonly daemons: number;
};

/** A destination that was held back so recently still is: between two waits for a token, one is taken. */
const BREAK: Ms = SECOND;

/**
 * The level is in whole units, so that nothing is lost to rounding over any time: each millisecond adds `requests` of them, and
 * a token costs `per` × `daemons`.
 */
export function createBucket(first: BucketRule, start: At): Bucket {
  let rule = first;
  let level = Math.min(roundOf(first), capacityOf(first));
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
    take(requests, now) {
      fill(now);
      level -= requests * costOf(rule);
      if (held !== null && held.until > now) held = { since: held.since, until: now };
    },
    nextAt: () => held?.until ?? null,
    heldSince,
  };

  function heldSince(now: At): At | null {
    return held === null || now > held.until + BREAK ? null : held.since;
  }

  /** Time that goes back adds nothing, and counts from there again: otherwise the bucket would stay empty until it has caught up. */
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

type Ask = { readonly now: At; readonly daemons: number };

/** The buckets of all destinations that have a rate. */
export type Buckets = {
  hasRound(destination: Destination, ask: Ask): boolean;
  take(destination: Destination, requests: number, now: At): void;
  nextAt(destination: Destination): At | null;
  heldSince(destination: Destination, now: At): At | null;
};

export function createBuckets(): Buckets {
  const buckets = new Map<string, { readonly bucket: Bucket; entry: Destination; daemons: number }>();

  return {
    hasRound(destination, { now, daemons }) {
      const { rate } = destination;
      return rate === null || bucketOf(destination, { rate, now, daemons }).hasRound(now);
    },
    take(destination, requests, now) {
      if (destination.rate !== null) buckets.get(destination.name)?.bucket.take(requests, now);
    },
    nextAt: (destination) => (destination.rate && buckets.get(destination.name)?.bucket.nextAt()) ?? null,
    heldSince(destination, now) {
      return (destination.rate && buckets.get(destination.name)?.bucket.heldSince(now)) ?? null;
    },
  };

  /** The bucket stays over a reload, which makes another entry of the destination. */
  function bucketOf(entry: Destination, { rate, now, daemons }: Ask & { readonly rate: RateLimit }): Bucket {
    const known = buckets.get(entry.name);
    if (known?.entry === entry && known.daemons === daemons) return known.bucket;
    const rule = { ...rate, round: entry.webhooks.length, daemons };
    const bucket = known?.bucket ?? createBucket(rule, now);
    bucket.setRule(rule, now);
    buckets.set(entry.name, { bucket, entry, daemons });
    return bucket;
  }
}
