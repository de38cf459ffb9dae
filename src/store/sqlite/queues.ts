import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { Backlog, QueueAsk, QueuePage, QueuePosition, ReadQueue } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { type At, MB } from "../../model/units.ts";
import { untried } from "../draft.ts";
import {
  type About,
  checksum,
  countLetter,
  damaged,
  damagedRow,
  MOST_EVENTS,
  type Packed,
  parseAbout,
  unpackBodies,
} from "../segment.ts";
import type { Counts } from "./counts.ts";
import { type Database, withRemedy } from "./driver.ts";
import { refOf } from "./progress.ts";
import type { SegmentRows, WaitingLetters } from "./segment-rows.ts";

/** Characters of bodies in one page, which bounds memory: bodies may be large, and destinations many. */
const MOST_BODY = 2 * MB;

/**
 * Reads the waiting deliveries of a destination, in the order in which they must be sent. Damaged ones are reported and
 * skipped: they must not be sent, and must not block the others.
 */
export function createReadQueue(db: Database, { report, rows, open, aboutOf }: ReadQueueParts): ReadQueue {
  const first = createReadFirst({ report, rows, open });
  const search = createSearch({ report, rows, open, aboutOf });
  const retries = createReadRetries(db, report);
  return async function readQueue(ask) {
    try {
      if (ask.queue === "retry") return retries(ask);
      return ask.notOf ? search(ask, ask.notOf) : first(ask);
    } catch (error) {
      throw withRemedy(error);
    }
  };
}

type StoreReport = Pick<Report, "storeFailed">;

type ReadQueueParts = {
  readonly report: StoreReport;
  readonly rows: Pick<SegmentRows, "waitingUp" | "waitingDown">;
  readonly open: OpenSegments["open"];
  readonly aboutOf: OpenSegments["aboutOf"];
};

/** Reads whole segments, so that none is decompressed twice: a page may exceed `limit` by less than a segment. */
function createReadFirst({ report, rows, open }: Omit<ReadQueueParts, "aboutOf">): (ask: QueueAsk) => QueuePage {
  return function readFirst({ destination, after, limit, newestFirst }) {
    const next = newestFirst ? 0 : (after?.id ?? 0) + 1;
    const deliveries: Delivery[] = [];
    let [body, opened] = [0, 0];
    const segments = newestFirst ? rows.waitingDown(destination) : rows.waitingUp(destination, next);
    for (const segment of segments) {
      const read = () => waitingIn(segment, { destination, next, open });
      const waiting = skipDamaged(destination, report, read) ?? [];
      for (const delivery of newestFirst ? waiting.reverse() : waiting) {
        deliveries.push(delivery);
        body += delivery.body.length;
      }
      opened += segment.states.length;
      const isFull = deliveries.length >= limit || body >= MOST_BODY;
      if (isFull || (opened >= MOST_OPENED && deliveries.length > 0)) return { deliveries, more: true };
    }
    return { deliveries, more: false };
  };
}

/** Segments that a search looks at for one page, and their events: some milliseconds. */
const MOST_SEARCHED = 256;
const MOST_EVENTS_SEARCHED = 32 * MOST_EVENTS;

/** Reads what the events of each segment are, and the bodies only where it finds one that is not of these sources. */
function createSearch({ report, rows, open, aboutOf }: ReadQueueParts) {
  return function search({ destination, after, limit }: QueueAsk, notOf: ReadonlySet<string>): QueuePage {
    const next = (after?.id ?? 0) + 1;
    const deliveries: Delivery[] = [];
    const passedOver = new Set<string>();
    let [segments, events, body] = [0, 0, 0];
    for (const segment of rows.waitingUp(destination, next)) {
      const found = skipDamaged(destination, report, () => {
        const sources = sourcesIn(segment, next, aboutOf(segment.segment));
        for (const source of sources) if (notOf.has(source)) passedOver.add(source);
        if (sources.isSubsetOf(notOf)) return [];
        return waitingIn(segment, { destination, next, open }).filter(({ source }) => !notOf.has(source));
      });
      deliveries.push(...(found ?? []));
      for (const delivery of found ?? []) body += delivery.body.length;
      [segments, events] = [segments + 1, events + segment.states.length];
      const isLong = segments >= MOST_SEARCHED || events >= MOST_EVENTS_SEARCHED;
      if (!isLong && deliveries.length < limit && body < MOST_BODY) continue;
      const upTo = { dueAt: segment.acceptedAt, id: segment.segment + segment.states.length - 1 };
      return { deliveries, more: true, upTo, passedOver };
    }
    return { deliveries, more: false, passedOver };
  };
}

function sourcesIn({ segment, states }: WaitingLetters, next: number, about: readonly About[]): ReadonlySet<string> {
  const sources = new Set<string>();
  for (let at = states.indexOf("w", Math.max(0, next - segment)); at >= 0; at = states.indexOf("w", at + 1)) {
    sources.add(about[at]?.[0] ?? "");
  }
  return sources;
}

type Within = { readonly destination: string; readonly next: number; readonly open: OpenSegments["open"] };

/** The waiting deliveries of a segment, from the event `next` on. */
function waitingIn({ segment, states, waiting, acceptedAt }: WaitingLetters, within: Within): Delivery[] {
  const { destination, next, open } = within;
  if (countLetter(states, "w") !== waiting) throw damaged(segment, `its letters do not say that ${waiting} wait`);
  const { about, bodies } = open(segment, { events: states.length, waiting });
  const deliveries: Delivery[] = [];
  for (let at = states.indexOf("w", Math.max(0, next - segment)); at >= 0; at = states.indexOf("w", at + 1)) {
    const [event, body] = [about[at], bodies[at]];
    if (!event || !body) throw damaged(segment, `it does not say what event ${segment + at} is`);
    const [source, type, messageId] = event;
    deliveries.push(
      untried({ id: segment + at, destination, ref: refOf(segment), source, messageId, type, body, acceptedAt }),
    );
  }
  return deliveries;
}

/** Events of all segments opened for one page, and segments that are remembered: large ones have about 120 KB of bodies. */
const MOST_OPENED = 32 * MOST_EVENTS;
const MOST_REMEMBERED = 64;

type Opened = { readonly about: readonly About[]; readonly bodies: readonly string[] };

/**
 * Opens segments. Where a destination gets only some of the events, others get the rest: such a segment is remembered, as they
 * read it at about the same time. Its waiting deliveries do not change.
 */
export type OpenSegments = {
  /** Throws if the segment is damaged. */
  open(segment: number, about: { readonly events: number; readonly waiting: number }): Opened;
  /** What its events are, without their bodies. Throws if that is unreadable. */
  aboutOf(segment: number): readonly About[];
  /** Drops what it remembers: some of it was erased. */
  forget(): void;
};

export function createOpenSegments(db: Database): OpenSegments {
  // Read one by one, so that a damaged page costs its own segment only.
  const read = db.prepare<[number], Pick<Packed, "about" | "bodies" | "sum">>(
    "SELECT about, bodies, sum FROM contents WHERE segment = ?",
  );
  const readAbout = db.prepare<[number], string>("SELECT about FROM contents WHERE segment = ?").pluck();
  // The last one used comes last.
  const remembered = new Map<number, Opened>();

  return {
    open(segment, { events, waiting }) {
      const known = remembered.get(segment);
      remembered.delete(segment);
      const opened = known ?? openNow(segment, events);
      if (waiting * 2 <= events) remembered.set(segment, opened);
      const [oldest] = remembered.keys();
      if (oldest !== undefined && remembered.size > MOST_REMEMBERED) remembered.delete(oldest);
      return opened;
    },
    aboutOf: (segment) => remembered.get(segment)?.about ?? parseAbout(segment, readAbout.get(segment)),
    forget: () => remembered.clear(),
  };

  function openNow(segment: number, events: number): Opened {
    const texts = read.get(segment);
    if (!texts) throw damaged(segment, "it has no contents");
    const bodies = unpackBodies({ segment, events, ...texts });
    return { about: JSON.parse(texts.about), bodies };
  }
}

/** Answers null where something is damaged, and reports it. */
function skipDamaged<T>(destination: string, report: StoreReport, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    report.storeFailed(`read the waiting deliveries of ${destination}`, withRemedy(error));
    return null;
  }
}

type Tried = Omit<Delivery, "ref" | "source" | "messageId" | "type" | "finals"> & {
  about: string;
  finals: string | null;
  sum: number | null;
};

function createReadRetries(db: Database, report: StoreReport): (ask: QueueAsk) => QueuePage {
  const list = db.prepare<[string, number, number, number], QueuePosition & { row: number }>(
    `SELECT rowid AS row, event AS id, due_at AS dueAt FROM tried
     WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?) AND due_at <= ? ORDER BY due_at, event`,
  );
  // One by one, as above.
  const read = db.prepare<[number, number], Tried>(
    `SELECT event AS id, destination, about, body, sum, accepted_at AS acceptedAt, attempts,
       first_attempt_at AS firstAttemptAt, attempted_at AS attemptedAt, replayed_at AS replayedAt,
       stood_still AS stoodStill, due_at AS dueAt, finals
     FROM tried WHERE rowid = ? AND event = ?`,
  );

  return function readRetries({ destination, after, dueBy, limit }) {
    const { dueAt, id } = after ?? { dueAt: -1, id: -1 };
    const deliveries: Delivery[] = [];
    let body = 0;
    // Skipped rows are due, so without `upTo` they would be asked for again at once.
    let damagedAt: QueuePosition | null = null;
    for (const { row, ...place } of list.iterate(destination, dueAt, id, dueBy)) {
      const delivery = skipDamaged(destination, report, () => toDelivery(place.id, read.get(row, place.id)));
      damagedAt = delivery === null ? place : null;
      if (delivery === null) continue;
      deliveries.push(delivery);
      body += delivery.body.length;
      if (deliveries.length === limit || body >= MOST_BODY) return { deliveries, more: true };
    }
    return { deliveries, more: false, ...(damagedAt && { upTo: damagedAt }) };
  };
}

/** A delivery with a row of its own is found by its id. */
const NOWHERE = refOf(0);

function toDelivery(event: number, found: Tried | undefined): Delivery {
  if (!found) throw damagedRow(event);
  const { about, finals, sum, ...row } = found;
  if (sum !== null && sum !== checksum(about, row.body)) throw damagedRow(row.id);
  const [source, type, messageId]: About = JSON.parse(about);
  return { ...row, ref: NOWHERE, source, messageId, type, finals: parseFinals(finals) };
}

const NONE: readonly FinalAnswer[] = [];

function parseFinals(text: string | null): readonly FinalAnswer[] {
  return text === null ? NONE : JSON.parse(text);
}

type BacklogParts = {
  readonly counts: Pick<Counts, "all">;
  readonly rows: Pick<SegmentRows, "waitingUp">;
  readonly caughtUp: () => Promise<void>;
};

/** Answers the delivery loop and the gauges, each question by one step in an index. */
export function createBacklog(db: Database, { counts, rows, caughtUp }: BacklogParts): Backlog {
  const nextRetry = db.prepare<[string, number, number], { at: At }>(
    `SELECT due_at AS at FROM tried WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?)
     ORDER BY due_at, event LIMIT 1`,
  );
  const oldestTried = db.prepare<[string], { at: At }>(
    `SELECT coalesce(replayed_at, accepted_at) AS at FROM tried WHERE destination = ? AND state = 'waiting'
     ORDER BY coalesce(replayed_at, accepted_at), event LIMIT 1`,
  );

  return {
    async nextRetryAt(destination, after) {
      return nextRetry.get(destination, after?.dueAt ?? -1, after?.id ?? -1)?.at ?? null;
    },
    async oldestWaitingAt(destination) {
      await caughtUp();
      const [first] = rows.waitingUp(destination, 0);
      const found = [first?.acceptedAt, oldestTried.get(destination)?.at].filter((at) => at !== undefined);
      return found.length === 0 ? null : Math.min(...found);
    },
    async counts() {
      await caughtUp();
      return counts.all();
    },
  };
}
