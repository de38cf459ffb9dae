import type { FoundEvent, Trail } from "../../model/lookup.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import type { Database } from "./driver.ts";
import { type LookupWorld, readEvent } from "./lookup.ts";
import type { About } from "./segment.ts";

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
export function createFindTrail(db: Database, { clock, repeats, timeline, kept }: LookupWorld) {
  const scans = [createScan(db, "segments"), createScan(db, "tried")];

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
    return newest.flatMap((number) => readEvent(kept, number) ?? []).filter((event) => event.messageId === messageId);
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

/** Texts in one step: those of segments have up to 256 events each. */
const STEP = { segments: 100, tried: 1_000 };

/** Ways to look for a messageId in one of the tables that say what events are. */
type Scan = {
  /** Through what was taken in this time, the oldest first. */
  from(between: Between): Look;
  /** Through all, the newest first. */
  backwards(): Look;
};

/** From the one on, before the other. */
type Between = { readonly since: At; readonly until: At };

/** Looks at the next ones. Answers the numbers of the events that have it, and whether there are more to be looked at. */
type Look = (messageId: string) => { readonly numbers: readonly number[]; readonly more: boolean };

/** `about`: of one event in `tried`, of all its events in a segment. */
type Text = { number: number; at: At; about: string };

function createScan(db: Database, table: "segments" | "tried"): Scan {
  const [key, from] =
    table === "segments"
      ? ["first", "segments CROSS JOIN contents ON contents.segment = segments.first"]
      : ["event", "tried"];
  const columns = `${key} AS number, accepted_at AS at`;
  const upwards = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} >= ? ORDER BY ${key} LIMIT ?`,
  );
  const downwards = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} < ? ORDER BY ${key} DESC LIMIT ?`,
  );
  const nextBelow = db.prepare<[number], Omit<Text, "about">>(
    `SELECT ${columns} FROM ${table} WHERE ${key} <= ? ORDER BY ${key} DESC LIMIT 1`,
  );
  const size = STEP[table];

  return {
    from({ since, until }) {
      let next = firstSince(since);
      return (messageId) => {
        const texts = upwards.all(next, size).filter(({ at }) => at < until);
        // The rows of one event say the same: it does not matter if they lie on both sides of a step's end.
        next = (texts.at(-1)?.number ?? next) + 1;
        return { numbers: find(texts, messageId), more: texts.length === size };
      };
    },
    backwards() {
      let below = Number.MAX_SAFE_INTEGER;
      return (messageId) => {
        const texts = downwards.all(below, size);
        below = texts.at(-1)?.number ?? 0;
        return { numbers: find(texts, messageId), more: texts.length === size };
      };
    },
  };

  function find(texts: readonly Text[], messageId: string): readonly number[] {
    return texts.flatMap((text) => numbersIn(text, messageId, table));
  }

  /** Times grow with numbers, so that halving finds it. */
  function firstSince(at: At): number {
    const newest = nextBelow.get(Number.MAX_SAFE_INTEGER)?.number ?? 0;
    let [low, high] = [0, newest + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = nextBelow.get(middle);
      if (row && row.at >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function numbersIn({ number, about }: Text, messageId: string, table: "segments" | "tried"): readonly number[] {
  // Reading the JSON of all of them would take many times as long.
  if (!about.includes(JSON.stringify(messageId))) return [];
  const parsed = JSON.parse(about);
  const events: readonly About[] = table === "segments" ? parsed : [parsed];
  return events.flatMap(([, , id], nth) => (id === messageId ? [number + nth] : []));
}
