/**
 * The limits of a source: `rate`, how many calls are accepted in a time, and `maxWaiting`, how much of it may wait for delivery.
 * The key of a web page is public, so anybody can send any number of calls with it.
 *
 * A request is refused or accepted whole, as client libraries send a batch again whole. It is accepted when there is a token for
 * one call, and takes tokens for all of its calls; what it lacks is a debt, and the next request waits until that is paid. So
 * no batch is too large to be ever accepted, and in any time there are no more calls than the rate and the burst allow, and
 * one batch.
 */
import { type Bucket, type BucketRule, createBucket } from "../model/bucket.ts";
import type { Source } from "../model/config.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { LimitStatuses, Refusing } from "../model/status.ts";
import { formatPortion, formatRate, formatSize, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How long a client is asked to wait while too much waits. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** Below this share of `maxWaiting` calls are accepted again: otherwise each delivery would let one in. */
const REOPENED = 0.9;
/** Refusals with less than this between them are one spell. */
const SPELL: Ms = MINUTE;

export type Limits = LimitStatuses & {
  /** Why requests of the source are refused at this moment; null if they are not. */
  refusal(source: Source): Fault | null;
  /** The same, and if they are not, the source uses up so many calls of its rate. */
  take(source: Source, calls: number): Fault | null;
  /** These were not accepted after all. */
  giveBack(source: Source, calls: number): void;
};

type LimitsWorld = {
  readonly clock: Pick<Clock, "now">;
  /** How many daemons share the limits. */
  readonly daemons: () => number;
  /** Bytes of a source that wait for delivery; null while they are counted. */
  readonly waitingBytes: (source: string) => number | null;
  /** A source is full by this count: it should be made sure of. */
  readonly countAnew: () => void;
};

export function createLimits({ clock, daemons, waitingBytes, countAnew }: LimitsWorld): Limits {
  const bucketOf = createBuckets({ clock, daemons });
  const spells = createSpells(clock);
  /** The sources that are full, until enough of them is delivered. */
  const full = new Set<string>();

  return {
    refusal,
    take(source, calls) {
      const refused = refusal(source);
      if (refused === null && source.rate !== null && calls > 0) bucketOf(source)?.take(calls, clock.now());
      return refused;
    },
    giveBack: (source, calls) => bucketOf(source)?.take(-calls, clock.now()),
    of(source) {
      const { name, rate } = source;
      const max = mostWaiting(source);
      if (rate === null && max === null) return null;
      const waiting = max === null ? null : { bytes: waitingBytes(name), max };
      return { waiting, refusing: inForce(spells.current(name), source) };
    },
    refusals: spells.all,
  };

  function refusal(source: Source): Fault | null {
    if (source.rate === null && source.maxWaiting === null) return null;
    const refused = fullness(source) ?? excess(source);
    if (refused) spells.note(source.name, refused.code);
    return refused;
  }

  function fullness(source: Source): LimitFault | null {
    const { name } = source;
    const most = mostWaiting(source);
    const bytes = most === null ? null : waitingBytes(name);
    if (most === null || bytes === null) return null;
    if (bytes < most * (full.has(name) ? REOPENED : 1)) {
      full.delete(name);
      return null;
    }
    full.add(name);
    countAnew();
    return { ...fault("source_full", tooMuchWaits(source, { bytes, most }), RETRY_AFTER), code: "source_full" };
  }

  /** This daemon's part. */
  function mostWaiting({ maxWaiting }: Source): number | null {
    return maxWaiting && Math.floor(maxWaiting.bytes / daemons());
  }

  function excess(source: Source): LimitFault | null {
    const now = clock.now();
    const bucket = bucketOf(source);
    if (bucket === null || bucket.hasRound(now)) return null;
    const wait = Math.max(1, (bucket.nextAt() ?? now) - now);
    return { ...fault("rate_limited", tooFast(source), wait), code: "rate_limited" };
  }
}

type LimitFault = Fault & { readonly code: Refusing["code"] };

/** The buckets of all sources that have a rate. One stays over a reload, which makes another entry of its source. */
function createBuckets({ clock, daemons }: Pick<LimitsWorld, "clock" | "daemons">): (entry: Source) => Bucket | null {
  const buckets = new Map<string, { readonly bucket: Bucket; readonly entry: Source; readonly daemons: number }>();
  return function bucketOf(entry) {
    if (entry.rate === null) return null;
    const sharing = daemons();
    const known = buckets.get(entry.name);
    if (known?.entry === entry && known.daemons === sharing) return known.bucket;
    const now = clock.now();
    const rule: BucketRule = { ...entry.rate, round: 1, daemons: sharing };
    // A full one: it protects this daemon, which has had nothing yet.
    const bucket = known?.bucket ?? createBucket(rule, now, rule.burst);
    bucket.setRule(rule, now);
    buckets.set(entry.name, { bucket, entry, daemons: sharing });
    return bucket;
  };
}

type Spells = {
  note(source: string, code: Refusing["code"]): void;
  /** Null if nothing was refused for a minute. */
  current(source: string): Refusing | null;
  all: LimitStatuses["refusals"];
};

function createSpells(clock: LimitsWorld["clock"]): Spells {
  const spells = new Map<string, Refusing>();
  return {
    note(source, code) {
      const now = clock.now();
      const { since, requests } = current(source) ?? { since: now, requests: 0 };
      spells.set(source, { code, since, lastAt: now, requests: requests + 1 });
    },
    current,
    all: () => [...spells].map(([source, spell]) => ({ source, ...spell })),
  };

  function current(source: string): Refusing | null {
    const spell = spells.get(source);
    return spell && clock.now() - spell.lastAt < SPELL ? spell : null;
  }
}

/** A reload may have taken away the limit. */
function inForce(refusing: Refusing | null, { rate, maxWaiting }: Source): Refusing | null {
  const limit = refusing?.code === "rate_limited" ? rate : maxWaiting;
  return limit === null ? null : refusing;
}

function tooFast({ name, rate }: Source): string {
  const limit = rate && formatRate(rate.requests, rate.per);
  return `the source ${name} sends more than ${limit} (sources.${name}.rate); try again after the time in Retry-After`;
}

function tooMuchWaits(
  { name, maxWaiting }: Source,
  { bytes, most }: { readonly bytes: number; readonly most: number },
) {
  const share = maxWaiting?.share == null ? "" : `, ${formatPortion(maxWaiting)} of the outbox`;
  return (
    `too many calls of the source ${name} are waiting for delivery: ${formatSize(bytes)} of ${formatSize(most)}` +
    `${share} (sources.${name}.maxWaiting); try again later`
  );
}
