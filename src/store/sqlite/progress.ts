import type { DeliveryRef } from "../../model/delivery.ts";
import type { At } from "../../model/units.ts";
import type { Letter } from "../segment.ts";
import { type Delivered, noTakers, note, type Takers, toLines } from "../takers.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

/** The changes of a transaction to the letters of segments. They are collected while it runs, and written at its end. */
type Progress = Keeper & {
  /** The letter of a delivery; null if there is no such row. */
  letter(tx: Tx, place: Place): Letter | null;
  /** A waiting delivery was delivered by its first attempt. */
  deliver(tx: Tx, place: Place, by: Delivered): void;
  /** A waiting delivery moves to a row in `tried`. */
  setApart(tx: Tx, place: Place, at: At): void;
  /** A delivery that its first attempt delivered moves to a row in `tried`, to be sent again. */
  again(tx: Tx, place: Place): void;
  /**
   * Moves a waiting delivery, here or with a row in `tried`, to another destination. Its letter here becomes that of an event
   * that was never for this destination.
   */
  move(tx: Tx, place: Place, to: string): void;
  /** Writes the changes so far. Outside of a transaction there are none. */
  flush(): void;
};

export type Place = { readonly id: number; readonly segment: number; readonly destination: string };

/** On SQLite the reference of a delivery is the number of its segment, which is that of the segment's first event. */
export function refOf(segment: number): DeliveryRef {
  return segment as unknown as DeliveryRef;
}

export function segmentOf(ref: DeliveryRef): number {
  return ref as unknown as number;
}

export function createProgress(db: Database): Progress {
  const pages = createPages(db);
  return {
    letter(_tx, place) {
      const page = pages.find(place);
      return page && letterAt(page, place.id);
    },
    deliver(_tx, place, by) {
      note(leave(place, "d", by.at).takers, place.id, by);
    },
    setApart: (_tx, place, at) => void leave(place, "t", at),
    again(_tx, place) {
      const page = pages.find(place);
      if (page) put(page, place.id, "t");
    },
    move(_tx, place, to) {
      const page = pages.find(place);
      // A delivery with a row of its own may have outlived its segment.
      if (!page) return;
      const waits = put(page, place.id, "-") === "w";
      const other = pages.find({ ...place, destination: to }) ?? pages.create(page, to);
      put(other, place.id, waits ? "w" : "t");
      page.left += Number(waits);
      other.left -= Number(waits);
    },
    flush() {
      pages.write();
      pages.forget();
    },
    write: pages.write,
    committed: pages.forget,
    rolledBack: pages.forget,
  };

  function leave(place: Place, letter: Letter, at: At): Page {
    const page = pages.find(place);
    if (!page) throw new Error(`there is no progress of segment ${place.segment} for ${place.destination}`);
    put(page, place.id, letter);
    page.left += 1;
    page.lastAt = Math.max(page.lastAt, at);
    return page;
  }
}

/** Answers the letter that was there. */
function put(page: Page, id: number, letter: Letter): Letter {
  const was = letterAt(page, id);
  page.states[id - page.segment] = letter.charCodeAt(0);
  page.changed = true;
  return was;
}

function letterAt({ states, segment }: Page, id: number): Letter {
  return String.fromCharCode(states[id - segment] ?? 0) as Letter;
}

/** A row of the table that the transaction has read. */
type Page = {
  readonly segment: number;
  readonly destination: string;
  readonly states: Buffer;
  /** Of those that the transaction has found delivered; the others are in `settled`. */
  readonly takers: Takers;
  readonly settled: string;
  /** Whether it differs from the row. */
  changed: boolean;
  /** How many deliveries have stopped waiting since the row was written, less those that have begun; and when the last settled. */
  left: number;
  lastAt: At;
};

type Row = { states: string; settled: string };

type Pages = {
  find(place: Place): Page | null;
  /** Inserts the row of another destination for the same segment, with no delivery in it. */
  create(page: Page, destination: string): Page;
  write(): void;
  forget(): void;
};

function createPages(db: Database): Pages {
  const read = db.prepare<[number, string], Row>(
    "SELECT states, settled FROM progress WHERE segment = ? AND destination = ?",
  );
  const insert = db.prepare<[number, string, string]>(
    "INSERT INTO progress (segment, destination, waiting, states) VALUES (?, ?, 0, ?)",
  );
  const update = db.prepare<[number, string, string, number, string]>(
    "UPDATE progress SET waiting = waiting - ?, states = ?, settled = ? WHERE segment = ? AND destination = ?",
  );
  const close = db.prepare<[number, At, number]>(
    `UPDATE segments SET open = open - ?, settled_at = nullif(max(coalesce(settled_at, 0), ?), 0), dense = 0
     WHERE first = ?`,
  );
  // By destination, then segment.
  const pages = new Map<string, Map<number, Page>>();

  return {
    find(place) {
      const page = pages.get(place.destination)?.get(place.segment);
      if (page) return page;
      const row = read.get(place.segment, place.destination);
      return row ? keep(place, row) : null;
    },
    create({ segment, states }, destination) {
      const none = "-".repeat(states.length);
      insert.run(segment, destination, none);
      return keep({ segment, destination }, { states: none, settled: "" });
    },
    write() {
      for (const known of pages.values()) for (const page of known.values()) if (page.changed) write(page);
    },
    forget: () => pages.clear(),
  };

  function keep({ segment, destination }: Omit<Place, "id">, { states: letters, settled }: Row): Page {
    const states = Buffer.from(letters, "latin1");
    const page = { segment, destination, states, settled, takers: noTakers(), changed: false, left: 0, lastAt: 0 };
    const known = pages.get(destination) ?? new Map<number, Page>();
    pages.set(destination, known.set(segment, page));
    return page;
  }

  function write(page: Page): void {
    const { segment, destination, states, settled, takers, left, lastAt } = page;
    update.run(left, states.toString("latin1"), settled + toLines(takers), segment, destination);
    close.run(left, lastAt, segment);
    page.changed = false;
    page.left = 0;
  }
}
