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
import { type About, Damage, parseAbout, unpackBodies } from "../segment.ts";
import { afterRows, chooseSegments, placeOf, STEP } from "../walk.ts";
import { onesIn, textOrPacked } from "./bits.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { withRemedy } from "./kept.ts";

type Reporting = { readonly report: Pick<Report, "storeFailed"> };

/** Finds, in steps, the waiting events of some users. */
export function createReadWaitingOf({ db, report }: Pick<Engine, "db" | "report">): StoredDeletions["waiting"] {
  return async function waiting(of, after) {
    const { segments, rows, next } = await walk(db, { upTo: of.upTo, open: true }, after);
    const found = [
      // Damaged segments are not sent either.
      ...segments.flatMap((one) => orReport({ report }, FIND, () => waitingIn(one, of)) ?? []),
      ...rows.flatMap((row) => waitingAs(row, () => row.body ?? "{}", of)),
    ];
    return { found: [...new Map(found.map((one) => [one.event, one])).values()], next };
  };
}

const FIND = "find waiting deliveries of deleted users";

function waitingIn(segment: Opened, of: TheirEvents): readonly WaitingEvent[] {
  const { first, about } = read(segment);
  const bodies = bodiesOf(segment);
  return onesIn(segment.waiting ?? "").flatMap((nth) => {
    const [source, type, , userId] = about[nth] ?? NO_EVENT;
    return waitingAs({ id: first + nth, source, type, userId }, () => bodies()[nth] ?? "{}", of);
  });
}

const NO_EVENT: About = ["", "track", "", null];

function waitingAs(
  event: Pick<ListedDelivery, "id" | "source" | "type" | "userId">,
  body: () => string,
  of: TheirEvents,
): readonly WaitingEvent[] {
  const userId = whoseWaits(event, body, of);
  return userId === null ? [] : [{ event: event.id, source: event.source, userId }];
}

/** Erases these events from the next few segments or rows. Answers how many there were. */
type EraseStep = (tx: Tx, wish: EraseWish, after: WalkCursor | null) => Promise<ErasedStep & ErasedCount>;

/**
 * Removes bodies, attempts, users and messageIds of events, in all streams. That the events came and how they ended stays, as
 * bits. Waiting deliveries are left: they are in the memory of the daemon that holds them, which nothing else of an event is.
 */
export function createErase({ counts, report }: Pick<Engine, "counts" | "report">): EraseStep {
  return async function erase(tx, wish, after) {
    const { segments, rows, next } = await walk(tx, { upTo: Number.MAX_SAFE_INTEGER, open: false }, after);
    const events = await eraseInSegments(tx, segments, { report, wish });
    const deliveries = await eraseRows(tx, rows, wish);
    return { next, busy: events.left || deliveries.left, events: events.done, deliveries: deliveries.done };
  };

  async function eraseRows(tx: Tx, rows: readonly Row[], wish: EraseWish): Promise<Done> {
    const theirs = rows.filter((row) => isToErase(row, () => row.body ?? "{}", wish));
    if (theirs.length === 0) return { done: 0, left: false };
    const removed = await tx.query<{ stream: number; destination: string; state: ListedDelivery["state"] }>(
      `DELETE FROM tried t USING unnest($1::bigint[], $2::text[]) r (event, destination)
       WHERE t.event = r.event AND t.destination = r.destination AND t.state <> 'waiting'
       RETURNING t.stream, t.destination, t.state`,
      [theirs.map(({ id }) => id), theirs.map(({ destination }) => destination)],
    );
    await counts.add(
      tx,
      removed.map((row) => ({ ...row, by: -1 })),
    );
    return { done: removed.length, left: removed.length < theirs.length };
  }
}

/** `left`: some are still to be erased. */
type Done = { readonly done: number; readonly left: boolean };

/**
 * The segments are read again under a lock, so that nothing that another transaction has erased comes back. Waiting
 * deliveries need no lock: an event that no longer waits does not wait again after its user was deleted.
 */
async function eraseInSegments(
  tx: Tx,
  segments: readonly Opened[],
  { report, wish }: Reporting & { readonly wish: EraseWish },
): Promise<Done> {
  // A damaged segment may still hold their events, so it counts as left. The others are erased anyway.
  const holds = (one: Opened) => orReport({ report }, ERASE, () => theirsIn(one, wish).length > 0);
  const judged = segments.map((one) => ({ first: one.first, theirs: holds(one) }));
  const damaged = judged.some(({ theirs }) => theirs === null);
  const some = judged.filter(({ theirs }) => theirs).map(({ first }) => first);
  if (some.length === 0) return { done: 0, left: damaged };
  const locked = await tx.query<Opened>(`${open("bodies")} FOR NO KEY UPDATE`, [some]);
  const erased = locked.map((one) => orReport({ report }, ERASE, () => eraseIn(one, wish)));
  const written = erased.flatMap((one) => (one?.contents ? [one.contents] : []));
  if (written.length > 0) {
    await tx.query(
      `UPDATE segments s SET about = c.about::json, bodies = c.bodies, sum = c.sum,
         bytes = octet_length(c.about) + octet_length(c.bodies)
       FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[]) c (first, about, bodies, sum)
       WHERE s.first = c.first`,
      [
        ...[written.map(({ first }) => first), written.map(({ about }) => about)],
        ...[written.map(({ bodies }) => Buffer.from(bodies)), written.map(({ sum }) => sum)],
      ],
    );
  }
  const done = erased.reduce((sum, one) => sum + (one?.done ?? 0), 0);
  return { done, left: damaged || erased.some((one) => one === null || one.left) };
}

const ERASE = "erase users";

function theirsIn(segment: Opened, wish: EraseWish): readonly number[] {
  const { first, about } = read(segment);
  return findToErase(first, about, { bodies: bodiesOf(segment), wish });
}

function eraseIn(segment: Opened, wish: EraseWish) {
  const { first, about } = read(segment);
  const theirs = theirsIn(segment, wish);
  const ready = new Set(theirs.filter((nth) => segment.waiting?.[nth] !== "1"));
  const contents = ready.size > 0 ? { first, ...packWithout({ about, bodies: bodiesOf(segment)() }, ready) } : null;
  return { done: ready.size, left: ready.size < theirs.length, contents };
}

/** Answers null where the outbox is damaged, and reports it. */
function orReport<T>({ report }: Reporting, what: string, run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    report.storeFailed(what, withRemedy(error));
    return null;
  }
}

type WalkStep = {
  readonly segments: readonly Opened[];
  readonly rows: readonly Row[];
  /** Null at the end. */
  readonly next: WalkCursor | null;
};

/** A segment with a 1 in `waiting` for each event that waits for its first attempt. `bodies` is null if none is needed. */
type Opened = {
  readonly first: number;
  readonly events: number;
  readonly about: string;
  readonly bodies: Buffer | null;
  readonly sum: number;
  readonly waiting: string | null;
};

type Row = Pick<ListedDelivery, "id" | "destination" | "state" | "source" | "type" | "messageId" | "userId"> & {
  readonly body: string | null;
};

/** The next step through all events up to `upTo`; with `open`, only those of which something may wait. */
async function walk(
  sql: Sql,
  { upTo, open: onlyOpen }: { readonly upTo: number; readonly open: boolean },
  after: WalkCursor | null,
): Promise<WalkStep> {
  const [table, id, destination] = placeOf(after);
  if (table === "segments") {
    const all = await sql.query<{ first: number; events: number; open: boolean }>(SEGMENTS, [id, upTo, STEP]);
    const { segments, next } = chooseSegments(all, (one) => !onlyOpen || one.open);
    const firsts = segments.map(({ first }) => first);
    const opened = firsts.length === 0 ? [] : await sql.query<Opened>(open(ofAliases("bodies")), [firsts]);
    return { segments: opened, rows: [], next };
  }
  const all = await sql.query<RowRead>(ROWS, [id, destination, upTo, STEP]);
  const rows = onlyOpen ? all.filter(({ state }) => state === "waiting") : all;
  return { segments: [], rows: rows.map(toRow), next: afterRows(all) };
}

const SEGMENTS = `
  SELECT first, events, EXISTS (SELECT FROM progress p WHERE p.segment = s.first AND NOT p.done) AS open
  FROM segments s WHERE first > $1 AND first <= $2 ORDER BY first LIMIT $3`;

/** Only the body of an alias may be needed to tell whose an event is. The column is compared as text: it may have a NUL. */
function ofAliases(column: string): string {
  return `CASE WHEN about::text LIKE '%"alias"%' THEN ${column} END`;
}

function open(bodies: string): string {
  return `
    SELECT first, events, about, ${bodies} AS bodies, sum,
      (SELECT bit_or(waiting) FROM progress p WHERE p.segment = s.first AND NOT p.done)::text AS waiting
    FROM segments s WHERE first = ANY ($1::bigint[]) ORDER BY first`;
}

type RowRead = Pick<Row, "id" | "destination" | "state" | "body"> & { readonly about: string };

const ROWS = `
  SELECT event AS id, destination, state, about, ${ofAliases("body")} AS body FROM tried
  WHERE (event, destination) > ($1, $2) AND event <= $3 ORDER BY event, destination LIMIT $4`;

function toRow({ about, ...row }: RowRead): Row {
  const [source, type, messageId, userId]: About = JSON.parse(about);
  return { ...row, source, type, messageId, userId };
}

function read({ first, about }: Opened): { readonly first: number; readonly about: readonly About[] } {
  return { first, about: parseAbout(first, about) };
}

/** Unpacks them when they are first asked for. */
function bodiesOf({ first, events, about, bodies, sum }: Opened): () => readonly string[] {
  let unpacked: readonly string[] | null = null;
  return () => {
    if (bodies === null) throw new Error(`the bodies of segment ${first} were not read`);
    unpacked ??= unpackBodies({ segment: first, events, about, bodies: textOrPacked(bodies), sum });
    return unpacked;
  };
}
