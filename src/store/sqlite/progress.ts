import type { At } from "../../model/units.ts";
import type { Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Letter } from "./letters.ts";

/** What a transaction changes in the letters of segments: gathered while it runs, written at its end, a row at a time. */
export type Progress = Keeper & {
  /** Inside a transaction: what its segment says of a delivery, or null if there is no such row. */
  letter(place: Place): Letter | null;
  /** Inside a transaction, for one that waits: it was delivered by its first attempt. */
  deliver(place: Place, by: Delivered): void;
  /** Inside a transaction, for one that waits: it gets a row in `tried`. */
  setApart(place: Place, at: At): void;
  /** Inside a transaction: writes what was gathered so far, and looks at the rows anew from here on. */
  flush(): void;
};

export type Place = { readonly id: number; readonly segment: number; readonly destination: string };
export type Delivered = { readonly at: At; readonly url: string; readonly status: number };

export function createProgress(db: Database): Progress {
  const pages = createPages(db);
  return {
    letter(place) {
      const page = pages.find(place);
      return page ? (String.fromCharCode(page.states[place.id - page.segment] ?? 0) as Letter) : null;
    },
    deliver(place, by) {
      const page = leave(place, "d", by.at);
      if (page.by !== null && !isSame(page.by, by)) writeDown(page);
      page.by = by;
      page.events.push(place.id);
    },
    setApart: (place, at) => void leave(place, "t", at),
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
    page.states[place.id - page.segment] = letter.charCodeAt(0);
    page.left += 1;
    page.lastAt = Math.max(page.lastAt, at);
    return page;
  }
}

/** A row of the table that the transaction has looked at. */
type Page = {
  readonly segment: number;
  readonly destination: string;
  readonly states: Buffer;
  settled: string;
  /** Events that were delivered and are not in `settled` yet, and who took them. */
  by: Delivered | null;
  events: number[];
  /** How many have left off waiting since it was written, and when the last of them did. */
  left: number;
  lastAt: At;
};

type Pages = { find(place: Place): Page | null; write(): void; forget(): void };

function createPages(db: Database): Pages {
  const read = db.prepare<[number, string], { states: string; settled: string }>(
    "SELECT states, settled FROM progress WHERE segment = ? AND destination = ?",
  );
  const update = db.prepare<[number, string, string, number, string]>(
    "UPDATE progress SET waiting = waiting - ?, states = ?, settled = ? WHERE segment = ? AND destination = ?",
  );
  const close = db.prepare<[number, At, number]>(
    "UPDATE segments SET open = open - ?, settled_at = max(coalesce(settled_at, 0), ?), dense = 0 WHERE first = ?",
  );
  // By destination, then segment.
  const pages = new Map<string, Map<number, Page>>();

  return {
    find({ segment, destination }) {
      const known = pages.get(destination) ?? new Map<number, Page>();
      const page = known.get(segment);
      if (page) return page;
      const row = read.get(segment, destination);
      if (!row) return null;
      const states = Buffer.from(row.states, "latin1");
      const fresh = { segment, destination, states, settled: row.settled, by: null, events: [], left: 0, lastAt: 0 };
      pages.set(destination, known.set(segment, fresh));
      return fresh;
    },
    write() {
      for (const known of pages.values()) for (const page of known.values()) if (page.left > 0) write(page);
    },
    forget: () => pages.clear(),
  };

  function write(page: Page): void {
    writeDown(page);
    const { segment, destination, states, settled, left, lastAt } = page;
    update.run(left, states.toString("latin1"), settled, segment, destination);
    close.run(left, lastAt, segment);
    page.left = 0;
  }
}

function isSame(one: Delivered, other: Delivered): boolean {
  return one.at === other.at && one.url === other.url && one.status === other.status;
}

/** The lines are only ever added to: `{"at":…,"url":…,"status":…,"events":[…]}`. */
function writeDown(page: Page): void {
  if (page.by === null) return;
  page.settled += `${JSON.stringify({ ...page.by, events: page.events })}\n`;
  page.by = null;
  page.events = [];
}
