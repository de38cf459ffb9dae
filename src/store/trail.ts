import type { FoundEvent, Trail } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import type { Awaitable } from "./lookup.ts";

/** What an engine reads for trails. */
export type TrailReads = {
  event(id: number): Awaitable<FoundEvent | null>;
  /** From which of these sources the messageId was seen in the last 24 hours, and when. */
  seen(messageId: string, sources: readonly string[]): Awaitable<Trail["seen"]>;
  /** The tables that say what events are, for a search by messageId. */
  readonly places: readonly IdSearch[];
};

/** Searches one of these tables for a messageId, in steps. */
export type IdSearch = {
  /** The number of the first event that was accepted at this time or later. */
  firstSince(at: At): Awaitable<number>;
  /** Searches from this number on, in what was accepted before `until`, the oldest first. */
  findUp(messageId: string, from: number, until: At): Awaitable<IdStep>;
  /** Searches below this number, the newest first. */
  findDown(messageId: string, below: number): Awaitable<IdStep>;
};

/** The numbers of events that have the messageId, and where the next step begins; null at the end. */
export type IdStep = { readonly numbers: readonly number[]; readonly next: number | null };

/** Steps of the search through everything: over a million events, or 50,000 rows of `tried`. */
const MOST_STEPS = 50;

/** Ids that this server chooses begin with the time (`ingest/receive.ts`, `deletion/request.ts`). */
const OWN_ID = /^(?:fl|delete)-([0-9a-f]{12})-/;

/**
 * How far from a known time the event may be stored. A commit takes a while. Ids have the time of the wall clock, which can
 * step; the store's time never does.
 */
const AROUND_COMMIT = { before: 0, after: 10 * SECOND };
const AROUND_ID = { before: 2 * SECOND, after: 30 * SECOND };

/** From the one on, before the other. */
type Between = { readonly since: At; readonly until: At };
type TrailParts = { readonly reads: TrailReads; readonly clock: Clock; readonly timeline: Timeline };
type Searched = { readonly numbers: readonly number[]; readonly complete: boolean };

/**
 * Finds the events with a messageId, which has no index, by their time. The time of a client's id is known for 24 hours; an id
 * of this server begins with it. For the others, the newest events are searched.
 */
export function createFindTrail({ reads, clock, timeline }: TrailParts) {
  return async function findTrail(messageId: string, sources: readonly string[]): Promise<Trail> {
    const seen = await reads.seen(messageId, sources);
    const times = seen.map(({ at }) => around(at, AROUND_COMMIT));
    const [, time] = OWN_ID.exec(messageId) ?? [];
    if (time !== undefined) times.push(around(timeline.fromWall(Number.parseInt(time, 16)), AROUND_ID));
    const nearby: Searched[] = [];
    for (const { since, until } of times) {
      for (const place of reads.places) {
        nearby.push(await search(await place.firstSince(since), (from) => place.findUp(messageId, from, until)));
      }
    }
    const near = await readAll(nearby, messageId);
    if (near.length > 0) return { events: near, seen, complete: true };
    const searched: Searched[] = [];
    for (const place of reads.places) {
      searched.push(await search(Number.MAX_SAFE_INTEGER, (below) => place.findDown(messageId, below)));
    }
    const events = await readAll(searched, messageId);
    return { events, seen, complete: events.length > 0 || searched.every(({ complete }) => complete) };
  };

  /** The newest first. */
  async function readAll(searched: readonly Searched[], messageId: string): Promise<readonly FoundEvent[]> {
    const numbers = new Set(searched.flatMap((one) => one.numbers));
    const events: FoundEvent[] = [];
    for (const number of [...numbers].sort((one, other) => other - one)) {
      const event = await reads.event(number);
      if (event?.messageId === messageId) events.push(event);
    }
    return events;
  }

  /** Step by step, with a turn of the event loop between them, until something is found. */
  async function search(start: number, step: (at: number) => Awaitable<IdStep>): Promise<Searched> {
    let at = start;
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      if (steps > 0) await clock.nextTurn();
      const { numbers, next } = await step(at);
      if (numbers.length > 0 || next === null) return { numbers, complete: true };
      at = next;
    }
    return { numbers: [], complete: false };
  }
}

function around(at: At, { before, after }: { readonly before: Ms; readonly after: Ms }): Between {
  return { since: at - before, until: at + after };
}
