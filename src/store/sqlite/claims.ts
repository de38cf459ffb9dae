import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { Backlog, ClaimAsk, ClaimPage, QueuePosition } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { type At, MB } from "../../model/units.ts";
import { untried } from "./append.ts";
import type { Counts } from "./counts.ts";
import { type Database, withRemedy } from "./driver.ts";
import { type About, checksum, countLetter, damaged, damagedRow, type Packed, refOf, unpackBodies } from "./segment.ts";

/** Bodies in one page, in characters: what waits may be large, and there may be many destinations. */
const MOST_BODY = 2 * MB;

/**
 * Reads what waits for a destination, in the order in which it is to be sent. What is damaged is told, and passed over: it
 * must neither be sent nor keep back what is behind it.
 */
export function createClaims(db: Database, report: Pick<Report, "storeFailed">): (ask: ClaimAsk) => ClaimPage {
  const first = createReadFirst(db, report);
  const retries = createReadRetries(db, report);
  return function claims(ask) {
    try {
      return ask.queue === "first" ? first(ask) : retries(ask);
    } catch (error) {
      throw withRemedy(error);
    }
  };
}

type Letters = { segment: number; states: string; waiting: number; acceptedAt: At };
type Told = Pick<Report, "storeFailed">;

/** Whole segments, so that none is taken apart twice: a page may be longer than was asked, by less than a segment. */
function createReadFirst(db: Database, report: Told): (ask: ClaimAsk) => ClaimPage {
  // The last one of the page before may not have been read to its end.
  const readFrom = db
    .prepare<[string, number], number>(
      `SELECT segment FROM progress WHERE destination = ? AND waiting > 0 AND segment <= ?
       ORDER BY segment DESC LIMIT 1`,
    )
    .pluck();
  const read = db.prepare<[string, number, number], Letters>(
    `SELECT p.segment, p.states, p.waiting, s.accepted_at AS acceptedAt FROM progress p
     CROSS JOIN segments s ON s.first = p.segment
     WHERE p.destination = ? AND p.waiting > 0 AND p.segment >= ? AND s.first + s.events > ? ORDER BY p.segment`,
  );

  // By itself: where its page is damaged, those of others can be read all the same.
  const readTexts = db.prepare<[number], Pick<Packed, "about" | "bodies" | "sum">>(
    "SELECT about, bodies, sum FROM contents WHERE segment = ?",
  );

  const readBack = db.prepare<[string], Letters>(
    `SELECT p.segment, p.states, p.waiting, s.accepted_at AS acceptedAt FROM progress p
     CROSS JOIN segments s ON s.first = p.segment
     WHERE p.destination = ? AND p.waiting > 0 ORDER BY p.segment DESC`,
  );

  return function readFirst({ destination, after, limit, newestFirst }) {
    const next = newestFirst ? 0 : (after?.id ?? 0) + 1;
    const deliveries: Delivery[] = [];
    let body = 0;
    const segments = newestFirst
      ? readBack.iterate(destination)
      : read.iterate(destination, readFrom.get(destination, next) ?? next, next);
    for (const segment of segments) {
      const waiting = passingOver(destination, report, () => waitingIn(segment, destination, next)) ?? [];
      for (const delivery of newestFirst ? waiting.reverse() : waiting) {
        deliveries.push(delivery);
        body += delivery.body.length;
      }
      if (deliveries.length >= limit || body >= MOST_BODY) return { deliveries, more: true };
    }
    return { deliveries, more: false };
  };

  /** What waits in a segment, from the event `next` on. */
  function waitingIn({ segment, states, waiting, acceptedAt }: Letters, destination: string, next: number): Delivery[] {
    if (countLetter(states, "w") !== waiting) throw damaged(segment, `its letters do not say that ${waiting} wait`);
    const texts = readTexts.get(segment);
    if (!texts) throw damaged(segment, "it has no contents");
    const bodies = unpackBodies({ segment, events: states.length, ...texts });
    const about: readonly About[] = JSON.parse(texts.about);
    const deliveries: Delivery[] = [];
    for (let at = states.indexOf("w", Math.max(0, next - segment)); at >= 0; at = states.indexOf("w", at + 1)) {
      const [event, body] = [about[at], bodies[at]];
      if (!event || !body) throw damaged(segment, `it does not say what event ${segment + at} is`);
      const [, type, messageId] = event;
      deliveries.push(untried({ id: segment + at, destination, segment, messageId, type, body, acceptedAt }));
    }
    return deliveries;
  }
}

/** Answers null where something is damaged, and tells it. */
function passingOver<T>(destination: string, report: Told, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    report.storeFailed(`read what waits for ${destination}`, withRemedy(error));
    return null;
  }
}

type Tried = Omit<Delivery, "ref" | "messageId" | "type" | "finals"> & {
  about: string;
  finals: string | null;
  sum: number | null;
};

function createReadRetries(db: Database, report: Told): (ask: ClaimAsk) => ClaimPage {
  const list = db.prepare<[string, number, number, number], QueuePosition & { row: number }>(
    `SELECT rowid AS row, event AS id, due_at AS dueAt FROM tried
     WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?) AND due_at <= ? ORDER BY due_at, event`,
  );
  // Each by itself, as above.
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
    // Behind what is passed over: due as it is, it would be asked for again at once.
    let damagedAt: QueuePosition | null = null;
    for (const { row, ...place } of list.iterate(destination, dueAt, id, dueBy)) {
      const delivery = passingOver(destination, report, () => toDelivery(place.id, read.get(row, place.id)));
      damagedAt = delivery === null ? place : null;
      if (delivery === null) continue;
      deliveries.push(delivery);
      body += delivery.body.length;
      if (deliveries.length === limit || body >= MOST_BODY) return { deliveries, more: true };
    }
    return { deliveries, more: false, ...(damagedAt && { upTo: damagedAt }) };
  };
}

/** A delivery that has a row of its own is found by its id. */
const NOWHERE = refOf(0);

function toDelivery(event: number, found: Tried | undefined): Delivery {
  if (!found) throw damagedRow(event);
  const { about, finals, sum, ...row } = found;
  if (sum !== null && sum !== checksum(about, row.body)) throw damagedRow(row.id);
  const [, type, messageId]: About = JSON.parse(about);
  return { ...row, ref: NOWHERE, messageId, type, finals: parseFinals(finals) };
}

const NONE: readonly FinalAnswer[] = [];

function parseFinals(text: string | null): readonly FinalAnswer[] {
  return text === null ? NONE : JSON.parse(text);
}

/** What the loop and the gauges ask, each by one step in an index. */
export function createBacklog(db: Database, counts: Counts): Backlog {
  const nextRetry = db.prepare<[string, number, number], { at: At }>(
    `SELECT due_at AS at FROM tried WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?)
     ORDER BY due_at, event LIMIT 1`,
  );
  const oldestFirst = db.prepare<[string], { at: At }>(
    `SELECT s.accepted_at AS at FROM progress p CROSS JOIN segments s ON s.first = p.segment
     WHERE p.destination = ? AND p.waiting > 0 ORDER BY p.segment LIMIT 1`,
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
      const found = [oldestFirst.get(destination), oldestTried.get(destination)].flatMap((row) =>
        row ? [row.at] : [],
      );
      return found.length === 0 ? null : Math.min(...found);
    },
    counts: async () => counts.all(),
  };
}
