import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { ClaimAsk, ClaimPage } from "../../model/ports.ts";
import { type At, MB } from "../../model/units.ts";
import { damaged, unpackBodies } from "./bodies.ts";
import type { Database } from "./driver.ts";
import type { About } from "./letters.ts";
import { untried } from "./untried.ts";

/** Bodies in one page, in characters: what waits may be large, and there may be many destinations. */
const MOST_BODY = 2 * MB;

/** Reads what waits for a destination, in the order in which it is to be sent. */
export function createClaims(db: Database): (ask: ClaimAsk) => ClaimPage {
  const first = createReadFirst(db);
  const retries = createReadRetries(db);
  return (ask) => (ask.queue === "first" ? first(ask) : retries(ask));
}

type Segment = { segment: number; states: string; acceptedAt: At; about: string; bodies: string | Buffer };

/** Whole segments, so that none is taken apart twice: a page may be longer than was asked, by less than a segment. */
function createReadFirst(db: Database): (ask: ClaimAsk) => ClaimPage {
  // The last one of the page before may not have been read to its end.
  const readFrom = db
    .prepare<[string, number], number>(
      `SELECT segment FROM progress WHERE destination = ? AND waiting > 0 AND segment <= ?
       ORDER BY segment DESC LIMIT 1`,
    )
    .pluck();
  const read = db.prepare<[string, number, number], Segment>(
    `SELECT p.segment, p.states, s.accepted_at AS acceptedAt, c.about, c.bodies FROM progress p
     CROSS JOIN segments s ON s.first = p.segment CROSS JOIN contents c ON c.segment = p.segment
     WHERE p.destination = ? AND p.waiting > 0 AND p.segment >= ? AND s.first + s.events > ? ORDER BY p.segment`,
  );

  return function readFirst({ destination, after, limit }) {
    const next = (after?.id ?? 0) + 1;
    const deliveries: Delivery[] = [];
    let body = 0;
    for (const segment of read.iterate(destination, readFrom.get(destination, next) ?? next, next)) {
      for (const delivery of waitingIn(segment, destination, next)) {
        deliveries.push(delivery);
        body += delivery.body.length;
      }
      if (deliveries.length >= limit || body >= MOST_BODY) return { deliveries, more: true };
    }
    return { deliveries, more: false };
  };
}

/** What waits in a segment, from the event `next` on. */
function waitingIn({ segment, states, acceptedAt, ...texts }: Segment, destination: string, next: number): Delivery[] {
  const about: readonly About[] = JSON.parse(texts.about);
  const bodies = unpackBodies({ segment, events: states.length, bodies: texts.bodies });
  const deliveries: Delivery[] = [];
  for (let at = states.indexOf("w", Math.max(0, next - segment)); at >= 0; at = states.indexOf("w", at + 1)) {
    const [event, body] = [about[at], bodies[at]];
    if (!event || !body) throw damaged(segment, `it does not say what event ${segment + at} is`);
    const [, type, messageId] = event;
    deliveries.push(untried({ id: segment + at, destination, segment, messageId, type, body, acceptedAt }));
  }
  return deliveries;
}

type Tried = Omit<Delivery, "messageId" | "type" | "finals"> & { about: string; finals: string | null };

function createReadRetries(db: Database): (ask: ClaimAsk) => ClaimPage {
  const read = db.prepare<[string, number, number, number, number], Tried>(
    `SELECT event AS id, destination, 0 AS segment, about, body, accepted_at AS acceptedAt, attempts,
       first_attempt_at AS firstAttemptAt, attempted_at AS attemptedAt, replayed_at AS replayedAt,
       held, due_at AS dueAt, finals
     FROM tried WHERE destination = ? AND state = 'waiting' AND (due_at, event) > (?, ?) AND due_at <= ?
     ORDER BY due_at, event LIMIT ?`,
  );

  return function readRetries({ destination, after, dueBy, limit }) {
    const { dueAt, id } = after ?? { dueAt: -1, id: -1 };
    const deliveries: Delivery[] = [];
    let body = 0;
    for (const { about, finals, ...row } of read.iterate(destination, dueAt, id, dueBy, limit)) {
      const [, type, messageId]: About = JSON.parse(about);
      deliveries.push({ ...row, messageId, type, finals: parseFinals(finals) });
      body += row.body.length;
      if (body >= MOST_BODY) return { deliveries, more: true };
    }
    return { deliveries, more: deliveries.length === limit };
  };
}

const NONE: readonly FinalAnswer[] = [];

function parseFinals(text: string | null): readonly FinalAnswer[] {
  return text === null ? NONE : JSON.parse(text);
}
