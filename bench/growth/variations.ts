/** What growth is measured with: which calls, to how many destinations, in requests of how many. */
import type { RequestKind } from "../requests.ts";

export const SERIES = ["ids", "destinations", "batch"] as const;
export type Series = (typeof SERIES)[number];

/**
 * What is measured while the store holds so many rows. A row is what becomes of one event at one destination.
 *
 * `taken`: calls, while the rows wait because their receiver is away.
 * `drained`: deliveries, while the other rows wait.
 * `kept`: calls and their deliveries, beside rows that were delivered and are kept.
 */
export const MEASURES = ["taken", "drained", "kept"] as const;
export type MeasureName = (typeof MEASURES)[number];

export type Variation = RequestKind & {
  readonly series: readonly Series[];
  readonly label: string;
  readonly destinations: number;
  /** Enough for the server to have a group to commit always, and too few to hold a good part of what is measured. */
  readonly connections: number;
  /** How much more an event may cost than with the fewest rows. */
  readonly most: number;
  readonly measures: readonly MeasureName[];
};

export function variationsOf(series: readonly Series[]): readonly Variation[] {
  return VARIATIONS.filter((variation) => variation.series.some((one) => series.includes(one)));
}

const FLAT = 1.25;
const FLAT_FOR_RANDOM = 1.5;
/** As many as client libraries put into a request if nobody tells them otherwise. */
const USUAL = { ids: "none", destinations: 1, eventsPerRequest: 20, connections: 16 } as const;
const OF_IDS = { ...USUAL, series: ["ids"], measures: MEASURES } as const;
const OF_DESTINATIONS = { ...USUAL, series: ["destinations"], most: FLAT, measures: MEASURES } as const;
/** A batch is one at the door only: what is behind it does not know of requests. */
const OF_BATCH = { ...USUAL, series: ["batch"], small: true, most: FLAT, measures: ["taken"] } as const;

const VARIATIONS: readonly Variation[] = [
  // Each of the two compares the others with it.
  { ...OF_IDS, series: ["ids", "destinations"], label: "ids of the server", most: FLAT },
  { ...OF_IDS, label: "time-ordered ids", ids: "ordered", most: FLAT },
  { ...OF_IDS, label: "random ids", ids: "random", most: FLAT_FOR_RANDOM },
  { ...OF_DESTINATIONS, label: "10 destinations", destinations: 10, connections: 8 },
  { ...OF_DESTINATIONS, label: "100 destinations", destinations: 100, connections: 2 },
  { ...OF_BATCH, label: "requests of 1", eventsPerRequest: 1, connections: 64 },
  { ...OF_BATCH, label: "requests of 20" },
  { ...OF_BATCH, label: "requests of 2,500", eventsPerRequest: 2_500, connections: 2 },
];
