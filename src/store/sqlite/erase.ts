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
import type { Tx } from "./commits.ts";
import type { Counts } from "./counts.ts";
import { codeOf, type Database } from "./driver.ts";
import type { Kept, Segment } from "./kept.ts";
import { type About, checksum, packBodies } from "./segment.ts";

/** Rows in one step, and events of segments that are opened in it. */
const STEP = 1_000;
const STEP_EVENTS = 1_000;

export type EraseParts = {
  readonly counts: Counts;
  readonly kept: Kept;
  readonly report: Pick<Report, "storeFailed">;
};

/** Finds what waits of some users, in steps. Notices of other requests do not count: they are what tells the receivers. */
export function createReadWaitingOf({ kept, report }: Omit<EraseParts, "counts">): StoredDeletions["waiting"] {
  return async function waiting(of, after) {
    const { segments, rows, next } = walk(kept, { upTo: of.upTo, open: true }, after);
    const inSegments = segments.flatMap((segment) => {
      // What is damaged is not sent either.
      const found = orReport(report, "find what waits of deleted users", () =>
        kept.listed(segment, ["w"]).flatMap((one) => waitingOf(one, of)),
      );
      return found ?? [];
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

/** A step through all that is kept, of which these events are erased. Answers how many were. */
type EraseStep = (tx: Tx, wish: EraseWish, after: WalkCursor | null) => ErasedStep & ErasedCount;

/**
 * Removes bodies, attempts, users and messageIds of events; that they came, and what became of them, stays as letters. Waiting
 * deliveries are left.
 */
export function createErase(db: Database, { counts, kept, report }: EraseParts): EraseStep {
  const save = db.prepare<[string, string | Buffer, number, number]>(
    "UPDATE contents SET about = ?, bodies = ?, sum = ? WHERE segment = ?",
  );
  const remove = db.prepare<[number, string]>("DELETE FROM tried WHERE event = ? AND destination = ?");

  return function erase(tx, wish, after) {
    const { segments, rows, next } = walk(kept, { upTo: Number.MAX_SAFE_INTEGER, open: false }, after);
    // Of a damaged segment nobody can say that their events are gone. Those of others are erased all the same.
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

/** What `about` says of an event that was erased: it came, from there, and of this type. */
function erasedAbout([source, type, , , skipped]: About): About {
  return skipped ? [source, type, ERASED, null, skipped] : [source, type, ERASED, null];
}

/** Of the same form as any body, for people who read the table. */
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

/** A step through all that is kept of events up to `upTo`: the segments first, then the rows of `tried`, by their number. */
function walk(kept: Kept, ask: WalkAsk, after: WalkCursor | null): WalkStep {
  const [table, id, destination] = after ?? (["segments", 0, ""] as const);
  if (table === "segments") return walkSegments(kept, ask, id);
  const all = kept.rowsUp({ id, destination }, ask.upTo, STEP);
  const last = all.length < STEP ? undefined : all.at(-1);
  const rows = ask.open ? all.filter(({ state }) => state === "waiting") : all;
  return { segments: [], rows, next: last ? ["tried", last.id, last.destination] : null };
}

function walkSegments(kept: Kept, { upTo, open }: WalkAsk, after: number): WalkStep {
  const all = kept.segmentsUp(after, upTo, STEP);
  const segments: Segment[] = [];
  let events = 0;
  for (const segment of all) {
    if (open && segment.open === 0) continue;
    segments.push(segment);
    events += segment.events;
    if (events >= STEP_EVENTS) return { segments, rows: [], next: ["segments", segment.first, ""] };
  }
  const last = all.length < STEP ? undefined : all.at(-1);
  return { segments, rows: [], next: last ? ["segments", last.first, ""] : ["tried", 0, ""] };
}

/** The user of these whom an event is about, or null. The one whom an alias leaves stands in its body only. */
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
