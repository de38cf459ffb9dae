import type { ErasedCount, ErasedStep, TheirEvents, WalkCursor } from "../../model/deletion.ts";
import type { DeliveryState } from "../../model/delivery.ts";
import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Commits } from "./commits.ts";
import type { Counts } from "./counts.ts";
import { codeOf, type Database } from "./driver.ts";
import type { Progress } from "./progress.ts";
import type { About } from "./segment.ts";
import { checksum, type Packed, packBodies, unpackBodies } from "./segment.ts";

export type EraseParts = {
  readonly counts: Counts;
  readonly progress: Progress;
  readonly report: Pick<Report, "storeFailed">;
};

type EraseRows = {
  /** Inside a transaction: a step through all that is kept, of which these events are erased. Answers how many were. */
  run(wish: EraseWish, after: WalkCursor | null): ErasedStep & ErasedCount;
};

/** `prefix`: of the messageIds of the request's own notices. */
type EraseWish = { readonly of: TheirEvents; readonly prefix: string };

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

/** Pages given back in one step: nobody waits long behind it. */
const STEP_PAGES = 500;
/** Steps, in case that pruning frees pages as fast as they are given back: 10 GB of them. */
const MOST_STEPS = 5_000;

type ScrubWorld = {
  readonly commits: Commits;
  readonly clock: Pick<Clock, "nextTurn">;
  readonly failed: (error: unknown) => Fault;
};

/**
 * Removes what the engine has left of rows that are gone: free pages, by giving all of them back to the file system, and the
 * write-ahead log, by making it empty. Answers false while somebody else who reads the file keeps it from the latter.
 */
export function createScrub(db: Database, { commits, clock, failed }: ScrubWorld): () => Promise<boolean | Fault> {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();

  return async function scrub() {
    for (let steps = 0; steps < MOST_STEPS && Number(countFree.get()) > 0; steps += 1) {
      const run = (): null => {
        db.pragma(`incremental_vacuum(${STEP_PAGES})`);
        return null;
      };
      const refused = await commits.add<Fault | null>({ rows: STEP_PAGES, run, failed });
      if (refused !== null) return refused;
      await clock.nextTurn();
    }
    return emptyLog(db);
  };
}

/** Whoever reads is not waited for: the whole daemon would be. */
function emptyLog(db: Database): boolean {
  const patience = Number(db.pragma("busy_timeout", { simple: true }));
  db.pragma("busy_timeout = 0");
  try {
    const [said] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return said?.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${patience}`);
  }
}

/** Rows in one step, and events of segments that are opened in it. */
const STEP = 1_000;
const STEP_EVENTS = 1_000;

type Segment = { first: number; events: number; open: number };
export type TriedRow = { event: number; destination: string; state: DeliveryState; about: string };

type WalkStep = {
  readonly segments: readonly number[];
  readonly rows: readonly TriedRow[];
  /** Null at the end. */
  readonly next: WalkCursor | null;
};

/** A way through all that is kept of events up to `upTo`: the segments first, then the rows of `tried`, by their number. */
type Walk = (of: WalkAsk, after: WalkCursor | null) => WalkStep;

/** `open`: only what may wait still. */
type WalkAsk = { readonly upTo: number; readonly open: boolean };

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
function erasedAbout([source, type, , , skipped]: About): About {
  return skipped ? [source, type, ERASED, null, skipped] : [source, type, ERASED, null];
}

/** No event has an empty messageId: calls without one get one. */
const ERASED = "";

export function isErased(messageId: string): boolean {
  return messageId === ERASED;
}

/**
 * The user of these whom an event is about, or null. An alias is about two: the one it goes away from stands in its body
 * only.
 */
export function theirsIn(
  about: About,
  body: () => string,
  { users, sources }: Omit<TheirEvents, "upTo">,
): string | null {
  const [source, type, , userId] = about;
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
