import { type AttemptLog, NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { DeliveryDetail, FoundEvent, ListedDelivery, Lookup } from "../../model/lookup.ts";
import type { Clock } from "../../model/ports.ts";
import type { Timeline } from "../../model/timeline.ts";
import type { At } from "../../model/units.ts";
import { withoutQuery } from "../../model/url.ts";
import { readPage } from "../listing.ts";
import type { Database } from "./driver.ts";
import { fromRow, type Kept, LISTED, type Segment, type TriedRow } from "./kept.ts";
import type { Repeats } from "./repeats.ts";
import { createWalkByEvent, createWalkBySettled } from "./search.ts";
import { damaged } from "./segment.ts";
import { logOfFirst } from "./settle.ts";
import { createFindTrail } from "./trail.ts";

export type LookupWorld = {
  readonly clock: Pick<Clock, "nextTurn">;
  readonly repeats: Pick<Repeats, "seenAt">;
  readonly kept: Kept;
  readonly timeline: Pick<Timeline, "fromWall">;
};

export function createLookup(db: Database, world: LookupWorld): Lookup {
  const { clock, kept } = world;
  const byEvent = createWalkByEvent(kept);
  const bySettled = createWalkBySettled(db);
  const readDetail = createReadDetail(db, kept);
  const findTrail = createFindTrail(db, world);
  return {
    async deliveries(search, ask) {
      const walk = search.state === "failed" || search.state === "expired" ? bySettled : byEvent;
      return readPage(search, ask, { walk, clock });
    },
    delivery: async (place) => readDetail(place),
    event: findTrail,
  };
}

type Place = Pick<Delivery, "id" | "destination">;

type DetailRow = TriedRow & { firstAttemptAt: At | null; finals: string | null; log: string | null; body: string };

/** Reads all there is to know of one delivery, wherever it is kept. */
function createReadDetail(db: Database, kept: Kept): (place: Place) => DeliveryDetail | null {
  const readRow = db.prepare<[number, string], DetailRow>(
    `SELECT ${LISTED}, first_attempt_at AS firstAttemptAt, finals, log, body FROM tried
     WHERE event = ? AND destination = ?`,
  );

  return function readDetail({ id, destination }) {
    const row = readRow.get(id, destination);
    if (row) return ofRow(row);
    const segment = kept.segmentOf(id);
    const found = segment && kept.listed(segment, ["w", "d"], { id, destination }).at(0);
    if (!found) return null;
    return { ...found, body: kept.body(found), firstAttemptAt: null, finals: [], log: onlyAttempt(found) };
  };
}

function ofRow({ firstAttemptAt, finals, log, body, ...row }: DetailRow): DeliveryDetail {
  const listed = fromRow(row);
  const refusals: readonly FinalAnswer[] = finals === null ? [] : JSON.parse(finals);
  return {
    ...listed,
    body,
    firstAttemptAt,
    log: log === null ? onlyAttempt(listed) : JSON.parse(log),
    finals: refusals.map(({ url, reason }) => ({ url: withoutQuery(url), reason })),
  };
}

/** A delivery that its first attempt delivered has no log of its own. */
function onlyAttempt({ state, attempts, settledAt: at, url, status }: ListedDelivery): AttemptLog {
  if (state !== "delivered" || attempts !== 1 || at === null || url === null) return NO_ATTEMPTS;
  return logOfFirst({ at, url, status: status ?? 0 });
}

/** Reads what is kept of an event: in its segment, and in the rows that have outlived it. */
export function readEvent(kept: Kept, id: number): FoundEvent | null {
  const rows = kept.rowsOf(id);
  const segment = kept.segmentOf(id);
  if (segment) return readInSegment(kept, segment, { id, rows });
  const [first] = rows;
  if (!first) return null;
  const { source, type, messageId, userId, acceptedAt } = first;
  const event = { id, source, type, messageId, userId, acceptedAt, skipped: [] };
  return { ...event, deliveries: rows, forgotten: [], whole: false };
}

type Read = { readonly id: number; readonly rows: readonly ListedDelivery[] };

function readInSegment(kept: Kept, segment: Segment, { id, rows }: Read): FoundEvent {
  const { first, acceptedAt } = segment;
  const about = kept.about(first)[id - first];
  if (about === undefined) throw damaged(first, `it does not say what event ${id} is`);
  const [source, type, messageId, userId, skipped = []] = about;
  const letters = kept.listed(segment, ["w", "d"], { id });
  const known = new Set(rows.map(({ destination }) => destination));
  const tried = kept.letters(first).filter(({ states }) => states[id - first] === "t");
  const forgotten = tried.map(({ destination }) => destination).filter((destination) => !known.has(destination));
  const event = { id, source, type, messageId, userId, acceptedAt, skipped };
  return { ...event, deliveries: [...letters, ...rows], forgotten, whole: true };
}
