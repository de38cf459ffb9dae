import { type AttemptLog, NO_ATTEMPTS } from "../../../model/attempt.ts";
import type { Delivery, FinalAnswer } from "../../../model/delivery.ts";
import type { DeliveryDetail, ListedDelivery } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import { withoutQuery } from "../../../model/url.ts";
import { damaged, type Packed, unpackBodies } from "../bodies.ts";
import type { Database } from "../driver.ts";
import { logOfFirst } from "../first-attempt.ts";
import type { About } from "../letters.ts";
import { fromLetter, fromRow, LISTED, readSettled, type TriedRow } from "./listed.ts";

type Place = Pick<Delivery, "id" | "destination">;

type Row = TriedRow & { firstAttemptAt: At | null; finals: string | null; log: string | null; body: string };
type Segment = Packed & { acceptedAt: At; states: string; settled: string };

/** Reads all there is to know of one delivery, wherever it is kept. */
export function createReadDetail(db: Database): (place: Place) => DeliveryDetail | null {
  const readRow = db.prepare<[number, string], Row>(
    `SELECT ${LISTED}, first_attempt_at AS firstAttemptAt, finals, log, body FROM tried
     WHERE event = ? AND destination = ?`,
  );
  const readSegment = db.prepare<[number, string], Segment>(
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

function ofRow({ firstAttemptAt, finals, log, body, ...row }: Row): DeliveryDetail {
  const listed = fromRow(row);
  const refusals: readonly FinalAnswer[] = finals === null ? [] : JSON.parse(finals);
  return {
    ...{ ...listed, body, firstAttemptAt, log: log === null ? onlyAttempt(listed) : JSON.parse(log) },
    finals: refusals.map(({ url, reason }) => ({ url: withoutQuery(url), reason })),
  };
}

function ofLetter({ id, destination }: Place, { acceptedAt, states, ...segment }: Segment): DeliveryDetail | null {
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
