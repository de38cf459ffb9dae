import { type AttemptLog, NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Delivery, DeliveryState, FinalAnswer } from "../../model/delivery.ts";
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
import type { Delivered } from "./progress.ts";
import type { Repeats } from "./repeats.ts";
import { createWalkByEvent, createWalkBySettled } from "./search.ts";
import type { About } from "./segment.ts";
import { damaged, type Packed, unpackBodies } from "./segment.ts";
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
  readonly timeline: Pick<Timeline, "fromWall">;
};

export function createLookup(db: Database, world: LookupWorld): Lookup {
  const { clock } = world;
  const byEvent = createWalkByEvent(db);
  const bySettled = createWalkBySettled(db);
  const readDetail = createReadDetail(db);
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

type TriedDetail = TriedRow & { firstAttemptAt: At | null; finals: string | null; log: string | null; body: string };
type OpenSegment = Packed & { acceptedAt: At; states: string; settled: string };

/** Reads all there is to know of one delivery, wherever it is kept. */
function createReadDetail(db: Database): (place: Place) => DeliveryDetail | null {
  const readRow = db.prepare<[number, string], TriedDetail>(
    `SELECT ${LISTED}, first_attempt_at AS firstAttemptAt, finals, log, body FROM tried
     WHERE event = ? AND destination = ?`,
  );
  const readSegment = db.prepare<[number, string], OpenSegment>(
    `SELECT s.first AS segment, s.events, s.accepted_at AS acceptedAt, c.about, c.bodies, c.sum, p.states, p.settled
     FROM segments s CROSS JOIN contents c ON c.segment = s.first CROSS JOIN progress p ON p.segment = s.first
     WHERE s.first = (SELECT max(first) FROM segments WHERE first <= ?) AND p.destination = ?`,
  );

  return function readDetail({ id, destination }) {
    const row = readRow.get(id, destination);
    if (row) return ofRow(row);
    const segment = readSegment.get(id, destination);
    return segment ? ofLetter({ id, destination }, segment) : null;
  };
}

function ofRow({ firstAttemptAt, finals, log, body, ...row }: TriedDetail): DeliveryDetail {
  const listed = fromRow(row);
  const refusals: readonly FinalAnswer[] = finals === null ? [] : JSON.parse(finals);
  return {
    ...{ ...listed, body, firstAttemptAt, log: log === null ? onlyAttempt(listed) : JSON.parse(log) },
    finals: refusals.map(({ url, reason }) => ({ url: withoutQuery(url), reason })),
  };
}

function ofLetter({ id, destination }: Place, { acceptedAt, states, ...segment }: OpenSegment): DeliveryDetail | null {
  const nth = id - segment.segment;
  const letter = states[nth];
  if (letter !== "w" && letter !== "d") return null;
  const about: About | undefined = JSON.parse(segment.about)[nth];
  const body = unpackBodies(segment)[nth];
  if (about === undefined || body === undefined) throw damaged(segment.segment, `it does not say what event ${id} is`);
  const by = readSettled(segment.segment, segment.settled).get(id) ?? null;
  const listed = fromLetter({ id, destination, about, acceptedAt, by });
  return { ...listed, body, firstAttemptAt: null, finals: [], log: onlyAttempt(listed) };
}

/** One that was delivered at once has no log: what is kept of it says as much. */
function onlyAttempt({ state, attempts, settledAt: at, url, status }: ListedDelivery): AttemptLog {
  if (state !== "delivered" || attempts !== 1 || at === null || url === null) return NO_ATTEMPTS;
  return logOfFirst({ at, url, status: status ?? 0 });
}

type Segment = { first: number; events: number; acceptedAt: At; about: string };
type States = { destination: string; states: string; settled: string };

/** Reads what is kept of an event: in its segment, and in the rows that have outlived it. */
export function createReadEvent(db: Database): (id: number) => FoundEvent | null {
  const readSegment = db.prepare<[number], Segment>(
    `SELECT s.first, s.events, s.accepted_at AS acceptedAt, c.about FROM segments s
     CROSS JOIN contents c ON c.segment = s.first WHERE s.first = (SELECT max(first) FROM segments WHERE first <= ?)`,
  );
  const readStates = db.prepare<[number], States>(
    "SELECT destination, states, settled FROM progress WHERE segment = ? ORDER BY destination",
  );
  const readRows = db.prepare<[number], TriedRow>(`SELECT ${LISTED} FROM tried WHERE event = ? ORDER BY destination`);

  return function readEvent(id) {
    const rows = readRows.all(id);
    const segment = readSegment.get(id);
    if (segment && id < segment.first + segment.events) return inSegment(id, segment, rows);
    const [first] = rows;
    if (!first) return null;
    const { acceptedAt, about } = first;
    return {
      ...described(id, JSON.parse(about), acceptedAt),
      deliveries: rows.map(fromRow),
      forgotten: [],
      whole: false,
    };
  };

  function inSegment(id: number, { first, acceptedAt, about: text }: Segment, rows: readonly TriedRow[]): FoundEvent {
    const about: About | undefined = JSON.parse(text)[id - first];
    if (about === undefined) throw damaged(first, `it does not say what event ${id} is`);
    const states = readStates.all(first);
    const letters: readonly ListedDelivery[] = states.flatMap(({ destination, states, settled }) => {
      const letter = states[id - first];
      if (letter !== "w" && letter !== "d") return [];
      return [fromLetter({ id, destination, about, acceptedAt, by: readSettled(first, settled).get(id) ?? null })];
    });
    const known = new Set(rows.map(({ destination }) => destination));
    const apart = states.filter(({ states }) => states[id - first] === "t").map(({ destination }) => destination);
    return {
      ...{ ...described(id, about, acceptedAt), deliveries: [...letters, ...rows.map(fromRow)] },
      ...{ forgotten: apart.filter((destination) => !known.has(destination)), whole: true },
    };
  }
}

type Described = Omit<FoundEvent, "deliveries" | "forgotten" | "whole">;

function described(id: number, [source, type, messageId, userId, skipped = []]: About, acceptedAt: At): Described {
  return { id, source, type, messageId, userId, acceptedAt, skipped };
}

/** Columns of `tried` that a list needs; what comes behind them in a row, its body, is not read. */
export const LISTED = `event, destination, state, accepted_at AS acceptedAt, attempts, due_at AS dueAt,
  settled_at AS settledAt, replayed_at AS replayedAt, url, status, reason, about`;

export type TriedRow = {
  event: number;
  destination: string;
  state: DeliveryState;
  acceptedAt: At;
  attempts: number;
  dueAt: At | null;
  settledAt: At | null;
  replayedAt: At | null;
  url: string | null;
  status: number | null;
  reason: string | null;
  about: string;
};

export function fromRow({ event: id, about, url, ...row }: TriedRow): ListedDelivery {
  const [source, type, messageId, userId]: About = JSON.parse(about);
  const { destination, state, acceptedAt, attempts, dueAt, settledAt, replayedAt, status, reason } = row;
  return {
    ...{ id, destination, state, source, type, messageId, userId, acceptedAt, attempts, dueAt, settledAt },
    ...{ replayedAt, url: url === null ? null : withoutQuery(url), status, reason },
  };
}

/** A delivery that is a letter in its segment: it waits for its first attempt, or was delivered `by` it. */
type LetterRow = {
  readonly id: number;
  readonly destination: string;
  readonly about: About;
  readonly acceptedAt: At;
  readonly by: Delivered | null;
};

export function fromLetter({ id, destination, about, acceptedAt, by }: LetterRow): ListedDelivery {
  const [source, type, messageId, userId] = about;
  const event = { id, destination, source, type, messageId, userId, acceptedAt };
  const none = { replayedAt: null, url: null, status: null, reason: null };
  if (by === null) return { ...event, state: "waiting", attempts: 0, dueAt: acceptedAt, settledAt: null, ...none };
  const { at: settledAt, url, status } = by;
  const delivered = { ...none, url: withoutQuery(url), status };
  return { ...event, state: "delivered", attempts: 1, dueAt: null, settledAt, ...delivered };
}

/** Who took the deliveries of a row of `progress`, by the number of the event. */
export function readSettled(segment: number, settled: string): ReadonlyMap<number, Delivered> {
  const lines = settled.split("\n").filter((line) => line !== "");
  try {
    return new Map(
      lines.flatMap((line) => {
        const { events, ...by }: Delivered & { readonly events: readonly number[] } = JSON.parse(line);
        return events.map((event) => [event, by] as const);
      }),
    );
  } catch (cause) {
    throw damaged(segment, "what it says of delivered events cannot be read", cause);
  }
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
