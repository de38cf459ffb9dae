/** What the table `contents` says of the segments in the tail (tail.ts). */
import { crc32 } from "node:zlib";
import type { Report } from "../../model/report.ts";
import type { At } from "../../model/units.ts";
import type { Draft } from "../draft.ts";
import {
  type About,
  checksum,
  countLetter,
  damaged,
  MOST_EVENTS,
  packBodies,
  parseAbout,
  statesOf,
} from "../segment.ts";
import { type Delivered, isSame } from "../takers.ts";
import { type Database, withRemedy } from "./driver.ts";
import type { Place } from "./progress.ts";

/** A delivery that its first attempt delivered. */
export type Success = { readonly place: Place; readonly by: Delivered };

/** What the column `tail` says of a segment in JSON, beside its events. It means nothing once the tail was folded. */
type Stored = {
  readonly at: At;
  readonly to: readonly (readonly [destination: string, states: string])[];
  /** Deliveries of earlier segments in the tail, by who took them. */
  readonly successes: readonly StoredSuccesses[];
};

type StoredSuccesses = readonly [destination: string, at: At, url: string, status: number, events: readonly number[]];

/** Successes that follow each other and are alike become one. */
function toStored(successes: readonly Success[]): readonly StoredSuccesses[] {
  const stored: StoredSuccesses[] = [];
  let last: Success | null = null;
  let events: number[] = [];
  for (const success of successes) {
    const { place, by } = success;
    if (last === null || last.place.destination !== place.destination || !isSame(last.by, by)) {
      events = [];
      stored.push([place.destination, by.at, by.url, by.status, events]);
    }
    events.push(place.id);
    last = success;
  }
  return stored;
}

/** The row of a new segment, with the successes since the last one. */
export function createInsertContents(db: Database): (draft: Draft, successes: readonly Success[]) => void {
  const insert = db.prepare<[number, string, string | Buffer, number, string, number]>(
    "INSERT INTO contents (segment, about, bodies, sum, tail, tail_sum) VALUES (?, ?, ?, ?, ?, ?)",
  );
  return function insertContents({ first, acceptedAt, about, bodies, routed }, successes) {
    const stored: Stored = {
      at: acceptedAt,
      to: [...routed].map(([destination, indexes]) => [destination, statesOf(indexes, bodies.length)]),
      successes: toStored(successes),
    };
    const [told, packed, tail] = [JSON.stringify(about), packBodies(bodies), JSON.stringify(stored)];
    insert.run(first, told, packed, checksum(told, packed), tail, crc32(tail));
  };
}

/** A segment as the start finds it. */
export type Loaded = {
  readonly segment: number;
  readonly events: number;
  /** Empty if it is damaged. */
  readonly about: readonly About[];
  readonly acceptedAt: At | null;
} & Omit<Stored, "at">;

type Row = { readonly about: string; readonly tail: string; readonly sum: number };

/**
 * The segments that an earlier process has not folded, the oldest first. What is damaged is reported, and costs its own segment
 * only: if its letters are, nothing of it is sent, and its events are kept like those that no destination gets.
 */
export function readTail(db: Database, report: Pick<Report, "storeFailed">): readonly Loaded[] {
  const list = db.prepare<[], number>(
    "SELECT segment FROM contents WHERE segment > (SELECT coalesce(max(first), 0) FROM segments) ORDER BY segment",
  );
  // Read one by one, so that a damaged page costs its own segment only.
  const read = db.prepare<[number], Row>("SELECT about, tail, tail_sum AS sum FROM contents WHERE segment = ?");
  let acceptedAt = newestFolded(db);
  const numbers = list.pluck().all();
  return numbers.map((segment, nth) => {
    const row = attempt(() => read.get(segment));
    const stored = attempt(() => row && parseStored(segment, row));
    const about = attempt(() => row && parseAbout(segment, row.about));
    const { to = [], successes = [] } = stored ?? {};
    acceptedAt = stored?.at ?? acceptedAt;
    // No number may be used again, so the events of a damaged segment are as many as there can be.
    const most = Math.min(MOST_EVENTS, (numbers[nth + 1] ?? Number.POSITIVE_INFINITY) - segment);
    const events = to[0]?.[1].length ?? about?.length ?? most;
    return { segment, events, about: about ?? [], acceptedAt, to, successes };
  });

  function attempt<T>(look: () => T): T | undefined {
    try {
      return look();
    } catch (error) {
      report.storeFailed("read the newest events", withRemedy(error));
      return undefined;
    }
  }
}

function parseStored(segment: number, { tail, sum }: Omit<Row, "about">): Stored {
  if (crc32(tail) !== sum) throw damaged(segment, "its destinations differ from what was written");
  return JSON.parse(tail);
}

/** When the newest event was accepted; null if there is none. */
export function newestIn(db: Database): At | null {
  return readTail(db, UNHEARD).at(-1)?.acceptedAt ?? newestFolded(db);
}

function newestFolded(db: Database): At | null {
  return db.prepare<[], At>("SELECT accepted_at FROM segments ORDER BY first DESC LIMIT 1").pluck().get() ?? null;
}

/** What the tail has that the other tables lack. */
export type TailContents = {
  readonly events: number;
  readonly newestAt: At | null;
  readonly waiting: number;
  readonly delivered: number;
};

export function contentsOfTail(db: Database): TailContents {
  const tail = readTail(db, UNHEARD);
  const letters = tail.flatMap(({ to }) => to.map(([, states]) => countLetter(states, "w")));
  const taken = tail.flatMap(({ successes }) => successes.flatMap(([, , , , ids]) => ids));
  // Those of a damaged segment are unknown.
  const known = tail.filter(({ to }) => to.length > 0);
  const isKnown = (id: number): boolean => known.some(({ segment, events }) => id >= segment && id < segment + events);
  const delivered = taken.filter(isKnown).length;
  const newestAt = tail.at(-1)?.acceptedAt ?? null;
  return { events: sum(tail.map(({ events }) => events)), newestAt, waiting: sum(letters) - delivered, delivered };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** What reads the tail again need not report damage again. */
const UNHEARD: Pick<Report, "storeFailed"> = { storeFailed() {} };
