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
import { type EraseWish, findToErase, isToErase, packWithout, whoseWaits } from "../erasing.ts";
import { afterRows, chooseSegments, placeOf, STEP } from "../walk.ts";
import type { Tx } from "./commits.ts";
import { codeOf, type Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import type { Segment } from "./segment-rows.ts";
import type { Tables } from "./tables.ts";

type EraseParts = { readonly tables: Tables; readonly report: Pick<Report, "storeFailed"> };

/** Finds, in steps, the waiting events of some users. */
export function createReadWaitingOf({ tables: { kept }, report }: EraseParts): StoredDeletions["waiting"] {
  return async function waiting(of, after) {
    const { segments, rows, next } = walk(kept, { upTo: of.upTo, open: true }, after);
    const inSegments = segments.flatMap((segment) => {
      // Damaged segments are not sent either.
      const read = () => kept.listed(segment, ["w"]).flatMap((one) => waitingOf(one, of));
      return orReport(report, "find waiting deliveries of deleted users", read) ?? [];
    });
    const found = [...inSegments, ...rows.flatMap((row) => waitingOf(row, of))];
    return { found: [...new Map(found.map((one) => [one.event, one])).values()], next };
  };

  function waitingOf(one: ListedDelivery, of: TheirEvents): readonly WaitingEvent[] {
    const userId = whoseWaits(one, () => kept.body(one), of);
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
    // A damaged segment may still hold their events, so it counts as `left`. The others are erased anyway.
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
    const theirs = findToErase(segment, about, { bodies: () => kept.bodies(segment), wish });
    if (theirs.length === 0) return NOTHING;
    const letters = kept.letters(segment);
    const ready = new Set(theirs.filter((nth) => letters.every(({ states }) => states[nth] !== "w")));
    if (ready.size > 0) {
      const left = packWithout({ about, bodies: kept.bodies(segment) }, ready);
      save.run(left.about, left.bodies, left.sum, segment);
      kept.forget();
      openSegments.forget();
    }
    return { done: ready.size, left: ready.size < theirs.length };
  }

  function eraseRow(tx: Tx, row: ListedDelivery, wish: EraseWish): Done {
    if (!isToErase(row, () => kept.body(row), wish)) return NOTHING;
    if (row.state === "waiting") return { done: 0, left: true };
    remove.run(row.id, row.destination);
    counts.add(tx, row.destination, row.state, -1);
    return { done: 1, left: false };
  }
}

type Done = { readonly done: number; readonly left: boolean };
const NOTHING: Done = { done: 0, left: false };

/** `open`: only what may still wait. */
type WalkAsk = { readonly upTo: number; readonly open: boolean };

type WalkStep = {
  readonly segments: readonly Segment[];
  readonly rows: readonly ListedDelivery[];
  /** Null at the end. */
  readonly next: WalkCursor | null;
};

/** The next step through all events up to `upTo`. */
function walk(kept: Kept, { upTo, open }: WalkAsk, after: WalkCursor | null): WalkStep {
  const [table, id, destination] = placeOf(after);
  if (table === "segments") {
    return { rows: [], ...chooseSegments(kept.segmentsUp(id, upTo, STEP), (one) => !open || one.open > 0) };
  }
  const all = kept.rowsUp({ id, destination }, upTo, STEP);
  const rows = open ? all.filter(({ state }) => state === "waiting") : all;
  return { segments: [], rows, next: afterRows(all) };
}
