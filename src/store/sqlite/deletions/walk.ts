import type { WalkCursor } from "../../../model/deletion.ts";
import type { DeliveryState } from "../../../model/delivery.ts";
import type { Database } from "../driver.ts";
import type { About } from "../letters.ts";

/** Rows in one step, and events of segments that are opened in it. */
const STEP = 1_000;
const STEP_EVENTS = 1_000;

export type Segment = { first: number; events: number; open: number };
export type TriedRow = { event: number; destination: string; state: DeliveryState; about: string };

export type WalkStep = {
  readonly segments: readonly number[];
  readonly rows: readonly TriedRow[];
  /** Null at the end. */
  readonly next: WalkCursor | null;
};

/** A way through all that is kept of events up to `upTo`: the segments first, then the rows of `tried`, by their number. */
export type Walk = (of: WalkAsk, after: WalkCursor | null) => WalkStep;

/** `open`: only what may wait still. */
export type WalkAsk = { readonly upTo: number; readonly open: boolean };

export function createWalk(db: Database): Walk {
  const readSegments = db.prepare<[number, number, number], Segment>(
    "SELECT first, events, open FROM segments WHERE first > ? AND first <= ? ORDER BY first LIMIT ?",
  );
  const readRows = db.prepare<[number, string, number, number], TriedRow>(
    `SELECT event, destination, state, about FROM tried WHERE (event, destination) > (?, ?) AND event <= ?
     ORDER BY event, destination LIMIT ?`,
  );

  return function step(of, after) {
    const [table, event, destination] = after ?? (["segments", 0, ""] as const);
    return table === "segments" ? throughSegments(of, event) : throughRows(of, event, destination);
  };

  function throughSegments({ upTo, open }: WalkAsk, after: number): WalkStep {
    const rows = readSegments.all(after, upTo, STEP);
    const segments: number[] = [];
    let events = 0;
    for (const segment of rows) {
      if (open && segment.open === 0) continue;
      segments.push(segment.first);
      events += segment.events;
      if (events >= STEP_EVENTS) return { segments, rows: [], next: ["segments", segment.first, ""] };
    }
    const last = rows.length < STEP ? undefined : rows.at(-1);
    return { segments, rows: [], next: last ? ["segments", last.first, ""] : ["tried", 0, ""] };
  }

  function throughRows({ upTo, open }: WalkAsk, event: number, destination: string): WalkStep {
    const all = readRows.all(event, destination, upTo, STEP);
    const last = all.length < STEP ? undefined : all.at(-1);
    const rows = open ? all.filter(({ state }) => state === "waiting") : all;
    return { segments: [], rows, next: last ? ["tried", last.event, last.destination] : null };
  }
}

/** What `about` says of an event that was erased: it came, from there, and of this type. */
export function erasedAbout([source, type, , , skipped]: About): About {
  return skipped ? [source, type, ERASED, null, skipped] : [source, type, ERASED, null];
}

/** No event has an empty messageId: calls without one get one. */
const ERASED = "";

export function isErased(messageId: string): boolean {
  return messageId === ERASED;
}
