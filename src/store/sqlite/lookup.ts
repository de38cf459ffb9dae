import type { DeliveryDetail, FoundEvent, ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { DETAIL, type DetailRow, detailOf, detailOfRow, fromRow, LISTED, type TriedRow } from "../listed.ts";
import type { Hit } from "../listing.ts";
import { type Ended, type Reads, toEvent } from "../lookup.ts";
import type { Letter } from "../segment.ts";
import type { Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import type { Repeats } from "./repeats.ts";

type ReadsParts = { readonly kept: Kept; readonly repeats: Repeats };

/** What lookups (store/lookup.ts) read. */
export function createReads(db: Database, { kept, repeats }: ReadsParts): Reads {
  return {
    segmentsDown: kept.segmentsDown,
    listedIn(segments, { states, destination }) {
      const wanted = states.map((state) => LETTERS[state]);
      return segments.flatMap((segment) => kept.listed(segment, wanted, { destination }));
    },
    rowsDown: kept.rowsDown,
    endedDown: createEndedDown(db),
    detail: createReadDetail(db, kept),
    event: (id) => readEvent(kept, id),
    seen(messageId, sources) {
      return sources.flatMap((source) => {
        const at = repeats.seenAt(source, messageId);
        return at === null ? [] : [{ source, at }];
      });
    },
    places: kept.places,
    disorder: 0,
  };
}

const LETTERS = { waiting: "w", delivered: "d" } satisfies Record<string, Letter>;

type Row = TriedRow & { rowid: number };

function createEndedDown(db: Database) {
  // The state is part of the statement, so that its index can be used.
  const endedIn = (state: Ended["state"]) =>
    db.prepare<[At, At, number, number], Row>(
      `SELECT rowid, ${LISTED} FROM tried WHERE state = '${state}' AND settled_at >= ? AND (settled_at, rowid) < (?, ?)
       ORDER BY settled_at DESC, rowid DESC LIMIT ?`,
    );
  const read = { failed: endedIn("failed"), expired: endedIn("expired") };

  return function endedDown({ state, since }: Ended, [at, rowid]: Hit["position"], limit: number): readonly Hit[] {
    const rows = read[state].all(since, at, Number(rowid), limit);
    return rows.map(({ rowid, ...row }) => ({ delivery: fromRow(row), position: [row.settledAt ?? 0, rowid] }));
  };
}

type Place = Pick<ListedDelivery, "id" | "destination">;

/** Reads one delivery, wherever it is kept. */
function createReadDetail(db: Database, kept: Kept): (place: Place) => DeliveryDetail | null {
  const readRow = db.prepare<[number, string], DetailRow>(
    `SELECT ${DETAIL} FROM tried WHERE event = ? AND destination = ?`,
  );

  return function readDetail({ id, destination }) {
    const row = readRow.get(id, destination);
    if (row) return detailOfRow(row);
    const segment = kept.segmentOf(id);
    const found = segment && kept.listed(segment, ["w", "d"], { id, destination }).at(0);
    return found ? detailOf(found, kept.body(found)) : null;
  };
}

/** Reads an event from its segment, and from the rows that may have outlived it. */
export function readEvent(kept: Kept, id: number): FoundEvent | null {
  const rows = kept.rowsOf(id);
  const found = kept.segmentOf(id);
  if (found === null) return toEvent({ id, rows, segment: null });
  const { first, acceptedAt } = found;
  const about = kept.about(first);
  const listed = kept.listed(found, ["w", "d"], { id });
  const apart = kept.letters(first).filter(({ states }) => states[id - first] === "t");
  const segment = { first, acceptedAt, about, listed, apart: apart.map(({ destination }) => destination) };
  return toEvent({ id, rows, segment });
}
