/**
 * Reads deliveries as plain values wherever they are kept: as letters of their segment or as rows of `tried`. In a transaction
 * it sees what the same transaction has settled.
 */

import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { fromRow, fromSegment, LISTED, type TriedRow } from "../listed.ts";
import { type About, damaged, type Letter, type Packed, parseAbout, unpackBodies } from "../segment.ts";
import { type Delivered, readTakers } from "../takers.ts";
import type { IdSearch, IdStep } from "../trail.ts";
import type { Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Place } from "./progress.ts";
import type { Letters, Segment, SegmentRows } from "./segment-rows.ts";

/** A delivery that waits. `segment` is 0 if the segment is pruned. */
export type Waiting = Place & {
  readonly kind: "letter" | "row";
  /** Bytes of its row; 0 for a letter, which is moved without its body. */
  readonly size: number;
};

type Name = Pick<Place, "id" | "destination">;
type Only = { readonly id?: number; readonly destination?: string | null };

export type Kept = Keeper &
  Pick<SegmentRows, "segmentOf" | "segmentsDown" | "segmentsUp" | "letters"> & {
    /** Describes the events of a segment. Throws if it is damaged, as all that read a segment do. */
    about(segment: number): readonly About[];
    bodies(segment: number): readonly string[];
    /** The deliveries of a segment with one of these letters: all, or those of one event or destination. */
    listed(segment: Segment, wanted: readonly Letter[], only?: Only): readonly ListedDelivery[];
    rowsOf(event: number): readonly ListedDelivery[];
    /** Rows of `tried` after this place, by event and destination. */
    rowsUp(after: Name, upTo: number, limit: number): readonly ListedDelivery[];
    /** The same backwards, down to the event `floor`. */
    rowsDown(before: Name, floor: number, limit: number): readonly ListedDelivery[];
    /** The body of a delivery; `{}` if it is no longer kept. */
    body(place: Name): string;
    /** What a delivery that waits is about. */
    event(one: Waiting): Pick<ListedDelivery, "source" | "type" | "messageId">;
    /** Who took a delivery that its first attempt delivered. */
    deliveredBy(place: Place): Delivered | null;
    /** The waiting deliveries of an event. */
    waitingOf(event: number): readonly Waiting[];
    /** The waiting deliveries of a destination, by age; letters come before rows. */
    waitingFor(destination: string, limit: number): readonly Waiting[];
    /** The tables that say what events are, for a search by messageId. */
    readonly places: readonly IdSearch[];
    /** Drops what it remembers of a segment's contents. */
    forget(): void;
  };

export function createKept(db: Database, rows: SegmentRows): Kept {
  const sql = prepare(db);
  const { segmentOf, segmentsDown, segmentsUp, letters } = rows;
  const texts = createTexts(db, segmentOf);

  return {
    segmentOf,
    segmentsDown,
    segmentsUp,
    letters,
    about: texts.about,
    bodies: texts.bodies,
    listed({ first, acceptedAt }, wanted, { id = null, destination = null } = {}) {
      return letters(first)
        .filter((one) => destination === null || one.destination === destination)
        .filter(({ states }) => wanted.some((letter) => states.includes(letter)))
        .flatMap((one) => listLetters(one, texts.about(first), { first, acceptedAt, wanted, id }));
    },
    rowsOf: (event) => sql.rowsOf.all(event).map(fromRow),
    rowsUp: ({ id, destination }, upTo, limit) => sql.rowsUp.all(id, destination, upTo, limit).map(fromRow),
    rowsDown: ({ id, destination }, floor, limit) => sql.rowsDown.all(floor, id, destination, limit).map(fromRow),
    body({ id, destination }) {
      const row = sql.body.get(id, destination);
      if (row !== undefined) return row;
      const segment = segmentOf(id)?.first;
      return segment === undefined ? "{}" : (texts.bodies(segment)[id - segment] ?? "{}");
    },
    event({ kind, id, segment, destination }) {
      const row = kind === "row" ? sql.rowsOf.all(id).find((one) => one.destination === destination) : undefined;
      if (row) return fromRow(row);
      const about = texts.about(segment)[id - segment];
      if (about === undefined) throw damaged(segment, `it does not say what event ${id} is`);
      const [source, type, messageId] = about;
      return { source, type, messageId };
    },
    deliveredBy({ id, segment, destination }) {
      const found = letters(segment).find((one) => one.destination === destination);
      return readTakers(segment, found?.settled ?? "").get(id) ?? null;
    },
    ...createWaiting(db, rows),
    places: [createIdSearch(db, "segments"), createIdSearch(db, "tried")],
    forget: texts.forget,
    write() {},
    committed: texts.forget,
    rolledBack: texts.forget,
  };
}

type Wanted = Pick<Segment, "first" | "acceptedAt"> & {
  readonly wanted: readonly Letter[];
  readonly id: number | null;
};

function listLetters(
  { destination, states, settled }: Letters,
  about: readonly About[],
  { first, acceptedAt, wanted, id }: Wanted,
): readonly ListedDelivery[] {
  const by = readTakers(first, settled);
  return about.flatMap((event, nth) => {
    const name = { id: first + nth, destination };
    if (id !== null && id !== name.id) return [];
    if (!wanted.some((letter) => letter === states[nth])) return [];
    return [fromSegment(name, event, { acceptedAt, by: by.get(name.id) ?? null })];
  });
}

type Texts = Pick<Kept, "about" | "bodies" | "forget">;
type Opened = { readonly segment: number; about: readonly About[] | null; bodies: readonly string[] | null };

/** Callers read a segment's events in turn, so the last segment is cached until the next commit. */
function createTexts(db: Database, segmentOf: SegmentRows["segmentOf"]): Texts {
  const readAbout = db.prepare<[number], string>("SELECT about FROM contents WHERE segment = ?").pluck();
  const read = db.prepare<[number], Omit<Packed, "events">>(
    "SELECT segment, about, bodies, sum FROM contents WHERE segment = ?",
  );
  let last: Opened | null = null;

  return {
    about(segment) {
      const opened = open(segment);
      opened.about ??= parseAbout(segment, readAbout.get(segment));
      return opened.about;
    },
    bodies(segment) {
      const opened = open(segment);
      if (opened.bodies) return opened.bodies;
      const packed = read.get(segment);
      if (!packed) throw damaged(segment, "it has no contents");
      opened.bodies = unpackBodies({ ...packed, events: segmentOf(segment)?.events ?? 0 });
      return opened.bodies;
    },
    forget() {
      last = null;
    },
  };

  function open(segment: number): Opened {
    if (last?.segment !== segment) last = { segment, about: null, bodies: null };
    return last;
  }
}

/** Finds waiting deliveries, by indexes that hold nothing else. */
function createWaiting(db: Database, { segmentOf, letters, waitingUp }: SegmentRows) {
  const rowsFor = db.prepare<[string, number], { id: number; size: number }>(
    `SELECT event AS id, octet_length(body) AS size FROM tried WHERE destination = ? AND state = 'waiting'
     ORDER BY coalesce(replayed_at, accepted_at), event LIMIT ?`,
  );
  const rowsOf = db.prepare<[number], { destination: string; size: number }>(
    "SELECT destination, octet_length(body) AS size FROM tried WHERE event = ? AND state = 'waiting'",
  );

  return {
    waitingOf(id: number): readonly Waiting[] {
      const segment = segmentOf(id)?.first ?? 0;
      const waits = segment === 0 ? [] : letters(segment).filter(({ states }) => states[id - segment] === "w");
      return [
        ...waits.map(({ destination }) => ({ kind: "letter", id, segment, destination, size: 0 }) as const),
        ...rowsOf.all(id).map((row) => ({ kind: "row", id, segment, ...row }) as const),
      ];
    },
    waitingFor(destination: string, limit: number): readonly Waiting[] {
      const found: Waiting[] = [];
      for (const { segment, states } of waitingUp(destination, 0)) {
        for (let at = states.indexOf("w"); at >= 0; at = states.indexOf("w", at + 1)) {
          found.push({ kind: "letter", id: segment + at, segment, destination, size: 0 });
          if (found.length === limit) return found;
        }
      }
      for (const { id, size } of rowsFor.all(destination, limit - found.length)) {
        found.push({ kind: "row", id, segment: segmentOf(id)?.first ?? 0, destination, size });
      }
      return found;
    },
  };
}

/** Texts in one step of a search: one of a segment has up to 256 events. */
const SEARCH_STEP = { segments: 100, tried: 1_000 };

/** A damaged one says nothing. */
const TIME_IN_TAIL = "iif(json_valid(tail), tail ->> 'at', 0)";

/** `about`: of one event in `tried`, of all its events in a segment. */
type Text = { number: number; at: At; about: string };

function createIdSearch(db: Database, table: "segments" | "tried"): IdSearch {
  // Segments in the tail have contents only. The times before them suffice to find the first one.
  const [key, from, at] =
    table === "segments"
      ? ["segment", "contents LEFT JOIN segments ON first = segment", `coalesce(accepted_at, ${TIME_IN_TAIL})`]
      : ["event", "tried", "accepted_at"];
  const columns = `${key} AS number, ${at} AS at`;
  const textsUp = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} >= ? ORDER BY ${key} LIMIT ?`,
  );
  const textsDown = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} < ? ORDER BY ${key} DESC LIMIT ?`,
  );
  const first = table === "segments" ? "first" : key;
  const lastUpTo = db.prepare<[number], Omit<Text, "about">>(
    `SELECT ${first} AS number, accepted_at AS at FROM ${table} WHERE ${first} <= ? ORDER BY ${first} DESC LIMIT 1`,
  );
  const size = SEARCH_STEP[table];

  return {
    firstSince(at) {
      // Times grow with numbers, so halving finds it.
      const newest = lastUpTo.get(Number.MAX_SAFE_INTEGER)?.number ?? 0;
      let [low, high] = [0, newest + 1];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        const row = lastUpTo.get(middle);
        if (row && row.at >= at) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    findUp(messageId, start, until) {
      const texts = textsUp.all(start, size).filter(({ at }) => at < until);
      // All rows of one event have the same text, so a step may end between them.
      return find(texts, messageId, 1);
    },
    findDown(messageId, below) {
      return find(textsDown.all(below, size), messageId, 0);
    },
  };

  function find(texts: readonly Text[], messageId: string, behindLast: number): IdStep {
    const last = texts.length === size ? texts.at(-1) : undefined;
    const numbers = texts.flatMap((text) => numbersIn(text, messageId));
    return { numbers, next: last ? last.number + behindLast : null };
  }

  function numbersIn({ number, about }: Text, messageId: string): readonly number[] {
    // Parsing the JSON of all texts would take many times as long.
    if (!about.includes(JSON.stringify(messageId))) return [];
    const parsed = JSON.parse(about);
    const events: readonly About[] = table === "segments" ? parsed : [parsed];
    return events.flatMap(([, , id], nth) => (id === messageId ? [number + nth] : []));
  }
}

function prepare(db: Database) {
  return {
    rowsOf: db.prepare<[number], TriedRow>(`SELECT ${LISTED} FROM tried WHERE event = ? ORDER BY destination`),
    rowsUp: db.prepare<[number, string, number, number], TriedRow>(
      `SELECT ${LISTED} FROM tried WHERE (event, destination) > (?, ?) AND event <= ?
       ORDER BY event, destination LIMIT ?`,
    ),
    rowsDown: db.prepare<[number, number, string, number], TriedRow>(
      `SELECT ${LISTED} FROM tried WHERE event >= ? AND (event, destination) < (?, ?)
       ORDER BY event DESC, destination DESC LIMIT ?`,
    ),
    body: db.prepare<[number, string], string>("SELECT body FROM tried WHERE event = ? AND destination = ?").pluck(),
  };
}
