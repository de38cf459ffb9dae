import type { FoundEvent, Trail } from "../../../model/lookup.ts";
import { type At, type Ms, SECOND } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import { createReadEvent } from "./event.ts";
import type { LookupWorld } from "./lookup.ts";
import { type Between, createScan, type Look } from "./scan.ts";

/** Steps of the search through all that is kept: over a million events, or 50,000 rows of `tried`. */
const MOST_STEPS = 50;

/** The ids that this server chooses begin with the time (`ingest/receive.ts`, `deletion/request.ts`). */
const OWN_ID = /^(?:fl|delete)-([0-9a-f]{12})-/;

/**
 * When it must have been taken. A commit takes a while; and ids have the time of the wall's clock, which steps, where
 * events go by one that never does.
 */
const AROUND_COMMIT = { before: 0, after: 10 * SECOND };
const AROUND_ID = { before: 2 * SECOND, after: 30 * SECOND };

/**
 * Finds the events with a messageId, without an index of these. When it was taken leads there: a client's id is known by
 * its key for 24 hours, with the time, and an id of this server begins with it. For the rest, the newest are looked through.
 */
export function createFindTrail(db: Database, { clock, repeats, timeline }: LookupWorld) {
  const scans = [createScan(db, "segments"), createScan(db, "tried")];
  const readEvent = createReadEvent(db);

  return async function findTrail(messageId: string, sources: readonly string[]): Promise<Trail> {
    const seen = sources.flatMap((source) => {
      const at = repeats.seenAt(source, messageId);
      return at === null ? [] : [{ source, at }];
    });
    const times = [...seen.map(({ at }) => around(at, AROUND_COMMIT)), ...timesIn(messageId, timeline)];
    const nearby: Searched[] = [];
    for (const between of times) for (const scan of scans) nearby.push(await search(scan.from(between), messageId));
    const near = readAll(nearby, messageId);
    if (near.length > 0) return { events: near, seen, complete: true };
    const ended: Searched[] = [];
    for (const scan of scans) ended.push(await search(scan.backwards(), messageId));
    const events = readAll(ended, messageId);
    return { events, seen, complete: events.length > 0 || ended.every(({ complete }) => complete) };
  };

  /** The newest first. */
  function readAll(searched: readonly Searched[], messageId: string): readonly FoundEvent[] {
    const numbers = new Set(searched.flatMap(({ numbers }) => numbers));
    const newest = [...numbers].sort((one, other) => other - one);
    return newest.flatMap((number) => readEvent(number) ?? []).filter((event) => event.messageId === messageId);
  }

  /** Step by step, until it is found. */
  async function search(look: Look, messageId: string): Promise<Searched> {
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      if (steps > 0) await clock.nextTurn();
      const { numbers, more } = look(messageId);
      if (numbers.length > 0 || !more) return { numbers, complete: true };
    }
    return { numbers: [], complete: false };
  }
}

type Searched = { readonly numbers: readonly number[]; readonly complete: boolean };

function around(at: At, { before, after }: { readonly before: Ms; readonly after: Ms }): Between {
  return { since: at - before, until: at + after };
}

function timesIn(messageId: string, { fromWall }: LookupWorld["timeline"]): readonly Between[] {
  const [, time] = OWN_ID.exec(messageId) ?? [];
  return time === undefined ? [] : [around(fromWall(Number.parseInt(time, 16)), AROUND_ID)];
}
