import { type AttemptLog, NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type {
  DeliveryDetail,
  FoundEvent,
  ListedDelivery,
  ListedPage,
  Lookup,
  PageAsk,
  Search,
} from "../../model/lookup.ts";
import type { Clock } from "../../model/ports.ts";
import type { Timeline } from "../../model/timeline.ts";
import type { At } from "../../model/units.ts";
import { withoutQuery } from "../../model/url.ts";
import type { Database } from "./driver.ts";
import { fromRow, type Kept, LISTED, type Segment, type TriedRow } from "./kept.ts";
import type { Repeats } from "./repeats.ts";
import { createWalkByEvent, createWalkBySettled } from "./search.ts";
import { damaged } from "./segment.ts";
import { logOfFirst } from "./settle.ts";
import { createFindTrail } from "./trail.ts";

/** Steps of one page. The daemon takes and delivers others in between. */
const MOST_STEPS = 50;

/** A way through the deliveries, from the newest on, in steps of which each touches about 1,000 rows. */
export type Walk = {
  /** In cursors: one of another way means nothing here. */
  readonly name: string;
  step(search: Search, after: Position | null): Step;
};

/** Where a walk goes on: behind the delivery that has these. */
export type Position = readonly [number, string | number];
export type Hit = { readonly delivery: ListedDelivery; readonly position: Position };
/** `next`: null at the end. */
type Step = { readonly hits: readonly Hit[]; readonly next: Position | null };

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
      const after = ask.cursor === null ? null : parseCursor(ask.cursor, walk);
      if (after === "bad_cursor") return after;
      return readPage(search, { ...ask, after }, { walk, clock });
    },
    delivery: async (place) => readDetail(place),
    event: findTrail,
  };
}

type From = Pick<PageAsk, "limit"> & { readonly after: Position | null };
type Way = { readonly walk: Walk; readonly clock: Pick<Clock, "nextTurn"> };

async function readPage(search: Search, { limit, after }: From, { walk, clock }: Way): Promise<ListedPage> {
  const hits: Hit[] = [];
  let next = after;
  for (let steps = 0; steps < MOST_STEPS && hits.length < limit; steps += 1) {
    if (steps > 0) await clock.nextTurn();
    const step = walk.step(search, next);
    for (const hit of step.hits) hits.push(hit);
    next = step.next;
    if (next === null) break;
  }
  const shown = hits.slice(0, limit);
  const last = hits.length > limit ? (shown.at(-1)?.position ?? null) : next;
  return { deliveries: shown.map(({ delivery }) => delivery), cursor: last && formatCursor(last, walk) };
}

function formatCursor(position: Position, { name }: Walk): string {
  return Buffer.from(JSON.stringify([name, ...position])).toString("base64url");
}

function parseCursor(cursor: string, { name }: Walk): Position | "bad_cursor" {
  try {
    const [walk, first, second]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (walk !== name || !Number.isSafeInteger(first)) return "bad_cursor";
    return typeof second === "string" || Number.isSafeInteger(second)
      ? [Number(first), second as string | number]
      : "bad_cursor";
  } catch {
    return "bad_cursor";
  }
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

/** Whether a delivery is what is searched for. */
export function isWanted(one: ListedDelivery, search: Search): boolean {
  const { state, destination, source, type, user, since, until } = search;
  if (state !== null && one.state !== state) return false;
  if (destination !== null && one.destination !== destination) return false;
  if (source !== null && one.source !== source) return false;
  if (type !== null && one.type !== type) return false;
  if (user !== null && one.userId !== user) return false;
  const at = one.settledAt ?? one.acceptedAt;
  return (since === null || at >= since) && (until === null || at < until);
}
