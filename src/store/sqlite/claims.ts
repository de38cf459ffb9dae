import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { EventType } from "../../model/event.ts";
import type { ClaimAsk, ClaimPage } from "../../model/ports.ts";
import { type At, MB } from "../../model/units.ts";
import type { Database } from "./driver.ts";

/** Bodies in one page, in characters: what waits may be large, and there may be many destinations. */
const MOST_BODY = 2 * MB;

type Row = {
  id: number;
  destination: string;
  messageId: string;
  type: EventType;
  body: string;
  acceptedAt: At;
  attempts: number;
  firstAttemptAt: At | null;
  attemptedAt: At | null;
  held: number;
  dueAt: At;
  finals: string | null;
};

const COLUMNS = `d.id, d.destination, e.message_id AS messageId, e.type, e.body, e.accepted_at AS acceptedAt, d.attempts,
  d.first_attempt_at AS firstAttemptAt, d.attempted_at AS attemptedAt, d.held, d.due_at AS dueAt, d.finals
  FROM deliveries d JOIN events e ON e.id = d.event_id`;

/** Reads what waits for a destination, in the order in which it is to be sent. */
export function createClaims(db: Database): (ask: ClaimAsk) => ClaimPage {
  const first = db.prepare<[string, number, number], Row>(
    `SELECT ${COLUMNS} WHERE d.destination = ? AND d.state = 'waiting' AND d.attempted_at IS NULL AND d.id > ?
     ORDER BY d.id LIMIT ?`,
  );
  const retry = db.prepare<[string, number, number, number, number], Row>(
    `SELECT ${COLUMNS} WHERE d.destination = ? AND d.state = 'waiting' AND d.attempted_at NOT NULL
     AND (d.due_at, d.id) > (?, ?) AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
  );

  return function claims({ destination, queue, after, dueBy, limit }) {
    const { dueAt, id } = after ?? { dueAt: -1, id: -1 };
    const rows =
      queue === "first" ? first.iterate(destination, id, limit) : retry.iterate(destination, dueAt, id, dueBy, limit);
    return readPage(rows, limit);
  };
}

function readPage(rows: Iterable<Row>, limit: number): ClaimPage {
  const deliveries: Delivery[] = [];
  let body = 0;
  for (const row of rows) {
    deliveries.push({ ...row, finals: parseFinals(row.finals) });
    body += row.body.length;
    if (body >= MOST_BODY) return { deliveries, more: true };
  }
  return { deliveries, more: deliveries.length === limit };
}

const NONE: readonly FinalAnswer[] = [];

function parseFinals(text: string | null): readonly FinalAnswer[] {
  return text === null ? NONE : JSON.parse(text);
}
