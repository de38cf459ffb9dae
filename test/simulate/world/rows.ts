/** What stands in the outbox, read by another connection, as an operator's shell would. */

import type { At, Ms } from "../../../src/model/units.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import type { Reason } from "./clocks.ts";

export type Row = {
  readonly event: number;
  readonly destination: string;
  readonly state: string;
  readonly dueAt: At | null;
  readonly attempts: number;
  readonly firstAttemptAt: At | null;
  readonly stoodStill: Ms;
  readonly settledAt: At | null;
  readonly reason: string | null;
  readonly replayedAt: At | null;
  readonly source: string;
  readonly messageId: string;
};

export type EventRow = {
  readonly id: number;
  readonly source: string;
  readonly type: string;
  readonly messageId: string;
  readonly userId: string | null;
  readonly acceptedAt: At;
};

/** `upTo`: the newest event when the deletion was asked for. */
export type NoticeRow = {
  readonly source: string;
  readonly userId: string | null;
  readonly event: number;
  readonly upTo: number;
};

export type ClockRow = {
  readonly destination: string;
  readonly reasons: readonly Reason[];
  readonly stoppedAt: At | null;
  readonly stoodStill: Ms;
};

export type Rows = {
  readonly events: ReadonlyMap<number, EventRow>;
  /** By `keyOf`. */
  readonly deliveries: ReadonlyMap<string, Row>;
  readonly notices: readonly NoticeRow[];
  readonly paused: ReadonlySet<string>;
  /** Of the destinations whose clock has ever stood still. */
  readonly clocks: ReadonlyMap<string, ClockRow>;
  /** Of audiences, as `source name`. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** Deletions and syncs that are not done. */
  readonly unfinished: readonly string[];
};

export const NO_ROWS: Rows = {
  ...{ events: new Map(), deliveries: new Map(), notices: [], paused: new Set(), clocks: new Map() },
  ...{ members: new Map(), unfinished: [] },
};

export function keyOf(event: number, destination: string): string {
  return `${event} ${destination}`;
}

/** As an operator would say it, with the message. */
export function nameOf({ event, messageId, destination }: Row): string {
  return `${event}-${destination} (${messageId})`;
}

/** `read` answers the same object as before if nothing was committed since. */
export type Shell = { read(): Rows; close(): void };

export async function openShell(path: string): Promise<Shell> {
  const db = await openDatabase(path);
  const statements = prepare(db);
  let version = -1;
  let rows = NO_ROWS;
  return {
    read() {
      const now = Number(db.pragma("data_version", { simple: true }));
      if (now !== version) rows = readAll(statements);
      version = now;
      return rows;
    },
    close: () => void db.close(),
  };
}

type Segment = { first: number; accepted_at: number; about: string };
type Letters = { segment: number; destination: string; states: string };
type Tried = {
  event: number;
  destination: string;
  state: string;
  due_at: number | null;
  attempts: number;
  first_attempt_at: number | null;
  stood_still: number;
  settled_at: number | null;
  reason: string | null;
  replayed_at: number | null;
  accepted_at: number;
  about: string;
};
type Clock = Record<"paused_at" | "unserved_at" | "offline_at" | "stopped_at", At | null> & {
  destination: string;
  stood_still: Ms;
};
type About = readonly [source: string, type: string, messageId: string, userId: string | null];
type Statements = ReturnType<typeof prepare>;

function prepare(db: Database) {
  return {
    segments: db.prepare<[], Segment>(
      "SELECT first, accepted_at, about FROM segments JOIN contents ON segment = first",
    ),
    letters: db.prepare<[], Letters>("SELECT segment, destination, states FROM progress"),
    tried: db.prepare<[], Tried>(
      `SELECT event, destination, state, due_at, attempts, first_attempt_at, stood_still, settled_at, reason, replayed_at, accepted_at,
         about FROM tried`,
    ),
    notices: db.prepare<[], { source: string; user_id: string | null; event: number; up_to: number }>(
      `SELECT n.source, u.user_id, n.event, d.up_to FROM deletion_notices n JOIN deletion_users u USING (deletion, nth)
         JOIN deletions d ON d.id = n.deletion`,
    ),
    members: db.prepare<[], { source: string; name: string; user: string }>(
      "SELECT source, name, user FROM members JOIN computations ON number = computation WHERE value IS NOT NULL",
    ),
    unfinished: db.prepare<[], { id: string }>(
      `SELECT id FROM deletions WHERE status = 'running' UNION ALL SELECT id FROM syncs WHERE state = 'running'`,
    ),
    clocks: db.prepare<[], Clock>("SELECT * FROM clocks"),
  };
}

function readAll({ segments, letters, tried, notices, ...others }: Statements): Rows {
  const events = new Map<number, EventRow>();
  const deliveries = new Map<string, Row>();
  const clocks = others.clocks.all().map(toClock);
  for (const { first, accepted_at: acceptedAt, about } of segments.all()) {
    (JSON.parse(about) as About[]).forEach((one, nth) => {
      events.set(first + nth, toEvent(first + nth, one, acceptedAt));
    });
  }
  for (const row of letters.all()) {
    for (const [nth, letter] of [...row.states].entries()) {
      const event = events.get(row.segment + nth);
      if (event && (letter === "w" || letter === "d")) {
        deliveries.set(keyOf(event.id, row.destination), untried(event, row.destination, letter));
      }
    }
  }
  for (const row of tried.all()) {
    const event = toEvent(row.event, JSON.parse(row.about), row.accepted_at);
    if (!events.has(event.id)) events.set(event.id, event);
    deliveries.set(keyOf(event.id, row.destination), toRow(row, event));
  }
  return {
    ...{ events, deliveries },
    notices: notices.all().map(({ source, user_id: userId, event, up_to: upTo }) => ({ source, userId, event, upTo })),
    paused: new Set(clocks.filter(({ reasons }) => reasons.includes("paused")).map(({ destination }) => destination)),
    clocks: new Map(clocks.map((clock) => [clock.destination, clock])),
    members: readMembers(others.members.all()),
    unfinished: others.unfinished.all().map(({ id }) => id),
  };
}

function readMembers(rows: readonly { source: string; name: string; user: string }[]): Rows["members"] {
  const members = new Map<string, Set<string>>();
  for (const { source, name, user } of rows) {
    const key = `${source} ${name}`;
    members.set(key, (members.get(key) ?? new Set()).add(user));
  }
  return members;
}

function toClock(row: Clock): ClockRow {
  const reasons = (["paused", "unserved", "offline"] as const).filter((why) => row[`${why}_at`] !== null);
  return { destination: row.destination, reasons, stoppedAt: row.stopped_at, stoodStill: row.stood_still };
}

function toEvent(id: number, [source, type, messageId, userId]: About, acceptedAt: At): EventRow {
  return { id, source, type, messageId, userId, acceptedAt };
}

function untried({ id: event, source, messageId, acceptedAt }: EventRow, destination: string, letter: "w" | "d"): Row {
  const state = letter === "d" ? "delivered" : "waiting";
  return {
    ...{ event, destination, state, source, messageId, dueAt: letter === "w" ? acceptedAt : null },
    ...{
      attempts: letter === "d" ? 1 : 0,
      firstAttemptAt: null,
      stoodStill: 0,
      settledAt: null,
      reason: null,
      replayedAt: null,
    },
  };
}

function toRow(row: Tried, { source, messageId }: EventRow): Row {
  const { event, destination, state, attempts, stood_still: stoodStill, reason } = row;
  return {
    ...{ event, destination, state, attempts, stoodStill, reason, source, messageId, dueAt: row.due_at },
    ...{ firstAttemptAt: row.first_attempt_at, settledAt: row.settled_at, replayedAt: row.replayed_at },
  };
}
