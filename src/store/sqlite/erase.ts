import type {
  ErasedCount,
  ErasedStep,
  StoredDeletions,
  TheirEvents,
  WaitingEvent,
  WalkCursor,
} from "../../model/deletion.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { Report } from "../../model/report.ts";
import { type About, checksum, packBodies } from "../segment.ts";
import type { Tx } from "./commits.ts";
import { codeOf, type Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import type { Segment } from "./segment-rows.ts";
import type { Tables } from "./tables.ts";

/** Rows, and events of opened segments, in one step. */
const STEP = 1_000;
const STEP_EVENTS = 1_000;

type EraseParts = { readonly tables: Tables; readonly report: Pick<Report, "storeFailed"> };

/** Finds, in steps, the waiting events of some users. Deletion notices are left out: receivers are to get them. */
export function createReadWaitingOf({ tables: { kept }, report }: EraseParts): StoredDeletions["waiting"] {
  return async function waiting(of, after) {
    const { segments, rows, next } = walk(kept, { upTo: of.upTo, open: true }, after);
    const inSegments = segments.flatMap((segment) => {
      // Damaged segments are not sent either.
      const read = () => kept.listed(segment, ["w"]).flatMap((one) => waitingOf(one, of));
      return orReport(report, "find what waits of deleted users", read) ?? [];
    });
    const found = [...inSegments, ...rows.flatMap((row) => waitingOf(row, of))];
    return { found: [...new Map(found.map((one) => [one.event, one])).values()], next };
  };

  function waitingOf(one: ListedDelivery, of: TheirEvents): readonly WaitingEvent[] {
    if (one.type === "delete" || one.id > of.upTo) return [];
    const userId = theirsIn(one, () => kept.body(one), of);
    return userId === null ? [] : [{ event: one.id, source: one.source, userId }];
  }
}

/** Answers null where the outbox is damaged, and reports it. */
function orReport<T>(report: Pick<Report, "storeFailed">, what: string, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (codeOf(error) !== "") throw error;
    report.storeFailed(what, error);
    return null;
  }
}

/** `prefix`: of the messageIds of the request's own notices. */
type EraseWish = { readonly of: TheirEvents; readonly prefix: string };

/** Erases these events from the next few segments or rows. Answers how many there were. */
type EraseStep = (tx: Tx, wish: EraseWish, after: WalkCursor | null) => ErasedStep & ErasedCount;

/**
 * Removes bodies, attempts, users and messageIds of events. That the events came and how they ended stays, as letters. Waiting
 * deliveries are left.
 */
export function createErase(db: Database, { tables: { counts, kept, openSegments }, report }: EraseParts): EraseStep {
  const save = db.prepare<[string, string | Buffer, number, number]>(
    "UPDATE contents SET about = ?, bodies = ?, sum = ? WHERE segment = ?",
  );
  const remove = db.prepare<[number, string]>("DELETE FROM tried WHERE event = ? AND destination = ?");

  return function erase(tx, wish, after) {
    const { segments, rows, next } = walk(kept, { upTo: Number.MAX_SAFE_INTEGER, open: false }, after);
    // A damaged segment may still hold their events, so it counts as `left`. The others are erased all the same.
    const inSegments = segments.map(
      ({ first }) => orReport(report, "erase users", () => eraseIn(first, wish)) ?? { done: 0, left: true },
    );
    const inRows = rows.map((row) => eraseRow(tx, row, wish));
    const events = inSegments.reduce((sum, one) => sum + one.done, 0);
    const deliveries = inRows.reduce((sum, one) => sum + one.done, 0);
    return { next, busy: [...inSegments, ...inRows].some(({ left }) => left), events, deliveries };
  };

  function eraseIn(segment: number, wish: EraseWish): Done {
    const about = kept.about(segment);
    const theirs = about.flatMap(([source, type, messageId, userId], nth) => {
      const event = { id: segment + nth, source, type, messageId, userId };
      return isTheirs(event, () => kept.bodies(segment)[nth] ?? "{}", wish) ? [nth] : [];
    });
    if (theirs.length === 0) return NOTHING;
    const letters = kept.letters(segment);
    const ready = new Set(theirs.filter((nth) => letters.every(({ states }) => states[nth] !== "w")));
    if (ready.size > 0) {
      const left = JSON.stringify(about.map((one, nth) => (ready.has(nth) ? erasedAbout(one) : one)));
      const bodies = packBodies(
        kept.bodies(segment).map((body, nth) => (ready.has(nth) ? erasedBody(about[nth]) : body)),
      );
      save.run(left, bodies, checksum(left, bodies), segment);
      kept.forget();
      openSegments.forget();
    }
    return { done: ready.size, left: ready.size < theirs.length };
  }

  function eraseRow(tx: Tx, row: ListedDelivery, wish: EraseWish): Done {
    if (!isTheirs(row, () => kept.body(row), wish)) return NOTHING;
    if (row.state === "waiting") return { done: 0, left: true };
    remove.run(row.id, row.destination);
    counts.add(tx, row.destination, row.state, -1);
    return { done: 1, left: false };
  }
}

type Done = { readonly done: number; readonly left: boolean };
const NOTHING: Done = { done: 0, left: false };

type Event = Pick<ListedDelivery, "source" | "type" | "userId">;

function isTheirs(
  event: Event & Pick<ListedDelivery, "id" | "messageId">,
  body: () => string,
  { of, prefix }: EraseWish,
): boolean {
  if (isErased(event.messageId)) return false;
  return event.messageId.startsWith(prefix) || (event.id <= of.upTo && theirsIn(event, body, of) !== null);
}

/** What stays in `about` of an erased event: its source, its type, and who did not get it. */
function erasedAbout([source, type, , , skipped]: About): About {
  return skipped !== undefined ? [source, type, ERASED, null, skipped] : [source, type, ERASED, null];
}

/** JSON like any other body, for people who read the table. */
function erasedBody(about: About | undefined): string {
  return JSON.stringify({ type: about?.[1], erased: true });
}

/** No event has an empty messageId: calls without one get one. */
const ERASED = "";

export function isErased(messageId: string): boolean {
  return messageId === ERASED;
}

/** `open`: only what may still wait. */
type WalkAsk = { readonly upTo: number; readonly open: boolean };

type WalkStep = {
  readonly segments: readonly Segment[];
  readonly rows: readonly ListedDelivery[];
  /** Null at the end. */
  readonly next: WalkCursor | null;
};

type Place = readonly [table: "segments" | "tried", event: number, destination: string];

function cursorOf(table: Place[0], event: number, destination = ""): WalkCursor {
  return JSON.stringify([table, event, destination]);
}

/** The next step through all events up to `upTo`: first the segments, then the rows of `tried`, by number. */
function walk(kept: Kept, ask: WalkAsk, after: WalkCursor | null): WalkStep {
  const [table, id, destination]: Place = after === null ? ["segments", 0, ""] : JSON.parse(after);
  if (table === "segments") return walkSegments(kept, ask, id);
  const all = kept.rowsUp({ id, destination }, ask.upTo, STEP);
  const last = all.length < STEP ? undefined : all.at(-1);
  const rows = ask.open ? all.filter(({ state }) => state === "waiting") : all;
  return { segments: [], rows, next: last ? cursorOf("tried", last.id, last.destination) : null };
}

function walkSegments(kept: Kept, { upTo, open }: WalkAsk, after: number): WalkStep {
  const all = kept.segmentsUp(after, upTo, STEP);
  const segments: Segment[] = [];
  let events = 0;
  for (const segment of all) {
    if (open && segment.open === 0) continue;
    segments.push(segment);
    events += segment.events;
    if (events >= STEP_EVENTS) return { segments, rows: [], next: cursorOf("segments", segment.first) };
  }
  const last = all.length < STEP ? undefined : all.at(-1);
  return { segments, rows: [], next: last ? cursorOf("segments", last.first) : cursorOf("tried", 0) };
}

/** Which of these users an event is about, or null. The previous id of an alias is in its body only. */
function theirsIn(
  { source, type, userId }: Event,
  body: () => string,
  { users, sources }: Omit<TheirEvents, "upTo">,
): string | null {
  if (sources !== null && !sources.includes(source)) return null;
  if (userId !== null && users.has(userId)) return userId;
  if (type !== "alias") return null;
  const previous = previousIn(body());
  return previous !== null && users.has(previous) ? previous : null;
}

export function previousIn(body: string): string | null {
  const previous: unknown = JSON.parse(body)["Previous ID"];
  return typeof previous === "string" ? previous : null;
}
