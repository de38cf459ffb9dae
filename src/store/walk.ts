import type { WalkCursor } from "../model/deletion.ts";

/**
 * A walk through all events up to a number, in steps: first the segments, then the rows of `tried`, by number. A delivery that
 * leaves its segment for a row meanwhile is met there.
 */
export type Place = readonly [table: "segments" | "tried", event: number, destination: string];

/** Rows that a step reads, and events of the segments that it opens. */
export const STEP = 1_000;
const STEP_EVENTS = 1_000;

export function placeOf(cursor: WalkCursor | null): Place {
  return cursor === null ? ["segments", 0, ""] : JSON.parse(cursor);
}

type Segment = { readonly first: number; readonly events: number };

/** Chooses which of the next segments a step opens. `next`: where the next step begins. */
export function chooseSegments<S extends Segment>(
  read: readonly S[],
  isWanted: (segment: S) => boolean,
): { readonly segments: readonly S[]; readonly next: WalkCursor } {
  const segments: S[] = [];
  let events = 0;
  for (const segment of read.filter(isWanted)) {
    segments.push(segment);
    events += segment.events;
    if (events >= STEP_EVENTS) return { segments, next: cursorOf("segments", segment.first) };
  }
  const last = read.length < STEP ? undefined : read.at(-1);
  return { segments, next: last ? cursorOf("segments", last.first) : cursorOf("tried", 0) };
}

/** Where the walk continues after these rows of `tried`; null at the end. */
export function afterRows(read: readonly { readonly id: number; readonly destination: string }[]): WalkCursor | null {
  const last = read.length < STEP ? undefined : read.at(-1);
  return last ? cursorOf("tried", last.id, last.destination) : null;
}

function cursorOf(table: Place[0], event: number, destination = ""): WalkCursor {
  return JSON.stringify([table, event, destination] satisfies Place);
}
