import type { FoundEvent, ListedDelivery } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import { damaged } from "../bodies.ts";
import type { Database } from "../driver.ts";
import type { About } from "../letters.ts";
import { fromLetter, fromRow, LISTED, readSettled, type TriedRow } from "./listed.ts";

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
