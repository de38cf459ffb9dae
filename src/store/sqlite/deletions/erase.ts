import type { ErasedCount, ErasedStep, TheirEvents, WalkCursor } from "../../../model/deletion.ts";
import type { Report } from "../../../model/report.ts";
import { type Packed, packBodies, unpackBodies } from "../bodies.ts";
import { checksum } from "../checksum.ts";
import type { Counts } from "../counts.ts";
import { codeOf, type Database } from "../driver.ts";
import type { About } from "../letters.ts";
import type { Progress } from "../progress.ts";
import { theirsIn } from "./theirs.ts";
import { createWalk, erasedAbout, isErased, type TriedRow } from "./walk.ts";

export type EraseParts = {
  readonly counts: Counts;
  readonly progress: Progress;
  readonly report: Pick<Report, "storeFailed">;
};

export type EraseRows = {
  /** Inside a transaction: a step through all that is kept, of which these events are erased. Answers how many were. */
  run(wish: EraseWish, after: WalkCursor | null): ErasedStep & ErasedCount;
};

/** `prefix`: of the messageIds of the request's own notices. */
export type EraseWish = { readonly of: TheirEvents; readonly prefix: string };

/**
 * Removes bodies, attempts, users and messageIds of events; that they came, and what became of them, stays as letters. What
 * waits is left, whatever it is.
 */
export function createErase(db: Database, { counts, progress, report }: EraseParts): EraseRows {
  const walk = createWalk(db);
  const { readTexts, readStates, save, readBody, remove } = prepare(db);

  return {
    run(wish, after) {
      // What this very transaction has settled has to be in the rows that are read.
      progress.flush();
      const { segments, rows, next } = walk({ upTo: Number.MAX_SAFE_INTEGER, open: false }, after);
      const inSegments = segments.map((first) => eraseIfWhole(first, wish));
      const inRows = rows.map((row) => eraseRow(row, wish));
      const events = inSegments.reduce((sum, one) => sum + one.done, 0);
      const deliveries = inRows.reduce((sum, one) => sum + one.done, 0);
      return { next, busy: [...inSegments, ...inRows].some(({ left }) => left), events, deliveries };
    },
  };

  function eraseIfWhole(segment: number, wish: EraseWish): Done {
    try {
      return eraseIn(segment, wish);
    } catch (error) {
      if (codeOf(error) !== "") throw error;
      report.storeFailed("erase users", error);
      // Whose events are in it cannot be read, and so not be said to be gone. Those of others are erased all the same.
      return { done: 0, left: true };
    }
  }

  function eraseIn(segment: number, wish: EraseWish): Done {
    const texts = readTexts.get(segment);
    if (!texts) return NOTHING;
    const about: About[] = JSON.parse(texts.about);
    let opened: string[] | null = null;
    const open = (): string[] => {
      opened ??= [...unpackBodies(texts)];
      return opened;
    };
    const theirs = about.flatMap((one, nth) =>
      isTheirs({ id: segment + nth, about: one, body: () => open()[nth] ?? "{}" }, wish) ? [nth] : [],
    );
    const states = theirs.length === 0 ? [] : readStates.all(segment);
    const ready = theirs.filter((nth) => states.every((letters) => letters[nth] !== "w"));
    if (ready.length > 0) {
      const bodies = open();
      for (const nth of ready) blank(nth, about, bodies);
      save(segment, JSON.stringify(about), packBodies(bodies));
    }
    return { done: ready.length, left: ready.length < theirs.length };
  }

  function eraseRow({ event, destination, state, about }: TriedRow, wish: EraseWish): Done {
    const body = (): string => readBody.get(event, destination) ?? "{}";
    if (!isTheirs({ id: event, about: JSON.parse(about), body }, wish)) return NOTHING;
    if (state === "waiting") return { done: 0, left: true };
    remove.run(event, destination);
    counts.add(destination, state, -1);
    return { done: 1, left: false };
  }
}

type Done = { readonly done: number; readonly left: boolean };
const NOTHING: Done = { done: 0, left: false };

function blank(nth: number, about: About[], bodies: string[]): void {
  const was = about[nth];
  if (!was) return;
  about[nth] = erasedAbout(was);
  // Of the same form as any body, for whoever reads the table.
  bodies[nth] = JSON.stringify({ type: was[1], erased: true });
}

type Event = { readonly id: number; readonly about: About; readonly body: () => string };

function isTheirs({ id, about, body }: Event, { of, prefix }: EraseWish): boolean {
  const [, , messageId] = about;
  if (isErased(messageId)) return false;
  return messageId.startsWith(prefix) || (id <= of.upTo && theirsIn(about, body, of) !== null);
}

function prepare(db: Database) {
  const save = db.prepare<[string, string | Buffer, number, number]>(
    "UPDATE contents SET about = ?, bodies = ?, sum = ? WHERE segment = ?",
  );
  return {
    readTexts: db.prepare<[number], Packed>(
      `SELECT s.first AS segment, s.events, c.about, c.bodies, c.sum FROM segments s
       JOIN contents c ON c.segment = s.first WHERE s.first = ?`,
    ),
    readStates: db.prepare<[number], string>("SELECT states FROM progress WHERE segment = ? AND waiting > 0").pluck(),
    save(segment: number, about: string, bodies: string | Buffer): void {
      save.run(about, bodies, checksum(about, bodies), segment);
    },
    readBody: db
      .prepare<[number, string], string>("SELECT body FROM tried WHERE event = ? AND destination = ?")
      .pluck(),
    remove: db.prepare<[number, string]>("DELETE FROM tried WHERE event = ? AND destination = ?"),
  };
}
