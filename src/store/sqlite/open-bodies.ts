import type { At } from "../../model/units.ts";
import { damaged, type Packed, unpackBodies } from "./bodies.ts";
import type { Database } from "./driver.ts";
import { createSegmentOf, type Waiting } from "./waiting.ts";

export type OpenBodies = {
  /** What an event of a segment is to be sent as, and when it was accepted. */
  read(place: Pick<Waiting, "id" | "segment">): { readonly body: string; readonly acceptedAt: At };
  /** Lets go of what it has read. */
  forget(): void;
};

export type DeliveryBodies = {
  /** Of a delivery, wherever it stands; `{}` if it is not there any more. */
  read(place: Pick<Waiting, "id" | "destination">): string;
  /** Lets go of what it has read. */
  forget(): void;
};

/** Reads what deliveries send: of those that have a row of their own from there, of others from their segment. */
export function createDeliveryBodies(db: Database): DeliveryBodies {
  const readRow = db
    .prepare<[number, string], string>("SELECT body FROM tried WHERE event = ? AND destination = ?")
    .pluck();
  const segmentOf = createSegmentOf(db);
  const bodies = createOpenBodies(db);
  return {
    read({ id, destination }) {
      const row = readRow.get(id, destination);
      const segment = row === undefined ? segmentOf(id) : null;
      return row ?? (segment === null ? "{}" : bodies.read({ id, segment }).body);
    },
    forget: bodies.forget,
  };
}

type Opened = { readonly segment: number; readonly acceptedAt: At; readonly bodies: readonly string[] };

/** Neighbours are asked for in turn: the segment that was unpacked last is kept until all are done. */
export function createOpenBodies(db: Database): OpenBodies {
  const find = db.prepare<[number], Packed & { acceptedAt: At }>(
    `SELECT s.first AS segment, s.events, s.accepted_at AS acceptedAt, c.about, c.bodies, c.sum FROM segments s
     JOIN contents c ON c.segment = s.first WHERE s.first = ?`,
  );
  let last: Opened | null = null;

  return {
    read({ id, segment }) {
      last = last?.segment === segment ? last : open(segment);
      const body = last.bodies[id - segment];
      if (body === undefined) throw damaged(segment, `it does not say what event ${id} is`);
      return { body, acceptedAt: last.acceptedAt };
    },
    forget() {
      last = null;
    },
  };

  function open(segment: number): Opened {
    const packed = find.get(segment);
    if (!packed) throw damaged(segment, "it has no contents");
    return { segment, acceptedAt: packed.acceptedAt, bodies: unpackBodies(packed) };
  }
}
