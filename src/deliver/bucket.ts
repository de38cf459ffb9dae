/**
 * A destination's rate bounds how many requests it gets: each takes a token. What finds too few tokens waits, as it waits for a
 * slot: it is no attempt, and no failure.
 *
 * One bucket is for all webhooks of a destination. A round asks several of them at once, so it waits until there is a token for
 * each, and the bucket has room for as many. Everything that is sent takes tokens, retries and probes too: the receiver counts
 * them as well.
 *
 * A new bucket has tokens for one round. A full one would let a daemon that is started again and again exceed the rate.
 */
import { type Bucket, createBucket } from "../model/bucket.ts";
import type { Destination, RateLimit } from "../model/config.ts";
import type { At } from "../model/units.ts";

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
