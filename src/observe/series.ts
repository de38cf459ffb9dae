import type { Names } from "../model/daemon.ts";
import { StoreAway } from "../model/fault.ts";
import type { Observer } from "../model/observer.ts";
import type { Backlog, Clock, DeliveryCount } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Gauge, Series, Subject } from "../model/series.ts";
import { judge } from "../settle/judge.ts";
import { createPoints, type Points } from "./points.ts";
import { createTrack, GAUGES, STEPS, type Track } from "./track.ts";

export type SeriesWorld = {
  readonly backlog: Pick<Backlog, "counts">;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly report: Pick<Report, "storeFailed">;
};

export type SeriesRecorder = Series &
  Omit<Observer, "givenUp"> & {
    /** The names of the config in force: others have no series. */
    declare(names: Pick<Names, Named>): void;
    /** Records until the signal is aborted. */
    start(signal: AbortSignal): void;
  };

type Named = "destinations" | "sources";

/**
 * Records the charts of the operator, in rings of fixed size. A name gets its rings when it is first active, unless there are
 * too many, and loses them when it leaves the config.
 */
export function createSeries(world: SeriesWorld): SeriesRecorder {
  const tracks: AllTracks = {
    daemon: createTrack("daemon"),
    destinations: createTracks("destinations"),
    sources: createTracks("sources"),
  };
  const { daemon, destinations, sources } = tracks;
  const waiting = createWaiting(world, tracks, {
    changed: () => points.wake(),
    last: () => points.closed("1h").end - 1,
  });
  const points = createPoints({
    clock: world.clock,
    isQuiet: () => Object.values(daemon.counts).every((count) => count === 0),
    close(ending) {
      for (const track of allOf(tracks)) track.close(ending);
    },
    // It never rejects. It is not awaited: a store that is away delays no point.
    ended: (signal) => void waiting.count(signal),
  });

  return {
    start: points.start,
    declare(names) {
      destinations.declare(names.destinations);
      sources.declare(names.sources);
    },
    ...countInto(tracks, points),
    read(span, of) {
      const { first, end, at } = points.closed(span);
      const { track, gauges, omitted } = find(of);
      const series: { [G in Gauge]?: (number | null)[] } = {};
      for (const gauge of gauges)
        series[gauge] = Array.from({ length: end - first }, (_, nth) => track?.get(span, gauge, first + nth) ?? null);
      return { since: at(first), until: at(end), step: STEPS[span], omitted, series };
    },
  };

  function find(of: Subject) {
    if (of.kind === "daemon")
      return { track: daemon, gauges: GAUGES.daemon, omitted: destinations.omitted() + sources.omitted() };
    const kind = of.kind === "destination" ? "destinations" : "sources";
    return { track: tracks[kind].all.get(of.name), gauges: GAUGES[kind], omitted: tracks[kind].omitted() };
  }
}

/** The hot path: a few numbers for each event. */
function countInto(
  { daemon, destinations, sources }: AllTracks,
  { wake }: Pick<Points, "wake">,
): Omit<Observer, "givenUp"> {
  return {
    accepted(source, { count }) {
      if (count === 0) return;
      wake();
      daemon.counts.accepted += count;
      const own = sources.of(source);
      if (own) own.counts.accepted += count;
    },
    refused({ source, count = 1 }) {
      wake();
      daemon.counts.refused += count;
      const own = source === null ? null : sources.of(source);
      if (own) own.counts.refused += count;
    },
    attempted({ destination }, outcome) {
      const judgement = judge(outcome);
      if (judgement === "unknown") return;
      wake();
      const result = judgement === "delivered" ? "delivered" : "failed";
      daemon.counts[result] += 1;
      const own = destinations.of(destination);
      if (!own) return;
      own.counts[result] += 1;
      // Others have reached no receiver.
      if (outcome.kind === "answered" || outcome.kind === "timeout") own.timings?.add(outcome.duration);
    },
  };
}

/** Destinations that have series, and sources: with so many of both, all rings together take less than 4 MB. */
const MOST_NAMES = 64;

type Tracks = {
  readonly all: ReadonlyMap<string, Track>;
  /** The track of a name, which gets one now if it can; else null. */
  of(name: string): Track | null;
  declare(names: readonly string[]): void;
  omitted(): number;
};

/** The tracks of all destinations, or of all sources. */
function createTracks(kind: Named): Tracks {
  const all = new Map<string, Track>();
  let configured: ReadonlySet<string> = new Set();
  return {
    all,
    of(name) {
      const known = all.get(name);
      if (known) return known;
      if (all.size === MOST_NAMES || !configured.has(name)) return null;
      const track = createTrack(kind);
      all.set(name, track);
      return track;
    },
    declare(names) {
      configured = new Set(names);
      for (const name of all.keys()) if (!configured.has(name)) all.delete(name);
    },
    omitted: () => (all.size < MOST_NAMES ? 0 : configured.size - all.size),
  };
}

type AllTracks = { readonly daemon: Track } & Readonly<Record<Named, Tracks>>;

function allOf({ daemon, destinations, sources }: AllTracks): readonly Track[] {
  return [daemon, ...destinations.all.values(), ...sources.all.values()];
}

type Waiting = {
  /** Counts the waiting deliveries, and notes the count with the last point. Never rejects. */
  count(signal: AbortSignal): Promise<void>;
};

type Counted = {
  /** The number of waiting deliveries has changed. */
  readonly changed: () => void;
  /** The last point of five seconds. */
  readonly last: () => number;
};

/** Counts the waiting deliveries. While the store cannot count them, the points stay empty. */
function createWaiting(
  { backlog, report }: SeriesWorld,
  { daemon, destinations }: AllTracks,
  { changed, last }: Counted,
): Waiting {
  let isCounting = false;
  let total: number | null = null;

  return {
    async count(signal) {
      // It has not answered since the last point.
      if (isCounting) return note(null);
      isCounting = true;
      try {
        note(await backlog.counts());
      } catch (error) {
        note(null);
        if (!(error instanceof StoreAway) && !signal.aborted)
          report.storeFailed("count waiting deliveries for the charts", error);
      }
      isCounting = false;
    },
  };

  function note(counts: readonly DeliveryCount[] | null): void {
    const rows = (counts ?? []).filter(({ state, count }) => state === "waiting" && count > 0);
    const before = total;
    total = counts && rows.reduce((sum, { count }) => sum + count, 0);
    if (total !== before) changed();
    const point = last();
    daemon.setWaiting(total, point);
    const byName = new Map(rows.map(({ destination, count }) => [destination, count]));
    for (const name of byName.keys()) destinations.of(name);
    for (const [name, track] of destinations.all) track.setWaiting(counts && (byName.get(name) ?? 0), point);
  }
}
