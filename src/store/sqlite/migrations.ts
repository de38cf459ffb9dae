import type { Database } from "./driver.ts";

/**
 * The schema, step by step. A step is never changed once it was released: a store of any age is brought up to date by
 * the steps it has not seen. `PRAGMA user_version` is the number of steps done.
 */
const STEPS: readonly string[] = [
  `
  -- One row for each call or deletion that was accepted. "body" is what every receiver gets, to the byte. Its deliveries
  -- have the ids first_delivery, first_delivery + 1, … as many as "deliveries" says. "skipped" is a JSON array of the
  -- destinations that do not get it, each with the rule that decided; NULL if there is none.
  CREATE TABLE events (
    id             INTEGER PRIMARY KEY,
    source         TEXT    NOT NULL,
    type           TEXT    NOT NULL,
    message_id     TEXT    NOT NULL,
    user_id        TEXT,
    received_at    INTEGER NOT NULL,
    accepted_at    INTEGER NOT NULL,
    first_delivery INTEGER NOT NULL,
    deliveries     INTEGER NOT NULL,
    skipped        TEXT,
    body           TEXT    NOT NULL
  ) STRICT;

  -- Events that go nowhere have no delivery to be pruned with.
  CREATE INDEX events_unrouted ON events (accepted_at) WHERE deliveries = 0;

  -- One row for each event and destination. "state" is waiting until an attempt settles it: then delivered, failed or
  -- expired. Times are in milliseconds since 1970, on a clock that never steps. due_at says when the next attempt is due,
  -- and is NULL once it is settled; settled_at is NULL until then. attempted_at is the end of the last attempt that did not
  -- deliver it, and first_attempt_at the beginning of the first one that left the machine; both are NULL when the first
  -- attempt delivered it. held is the time that does not count towards the cutoff. url and status say who took it, reason why it
  -- waits or was given up; finals is a JSON array of the webhooks that have refused the event for good.
  CREATE TABLE deliveries (
    id               INTEGER PRIMARY KEY,
    event_id         INTEGER NOT NULL,
    destination      TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    due_at           INTEGER,
    attempts         INTEGER NOT NULL DEFAULT 0,
    first_attempt_at INTEGER,
    attempted_at     INTEGER,
    held             INTEGER NOT NULL DEFAULT 0,
    settled_at       INTEGER,
    url              TEXT,
    status           INTEGER,
    reason           TEXT,
    finals           TEXT
  ) STRICT;

  -- What waits, as the delivery loop reads it: first attempts by age, retries by the time they are due.
  CREATE INDEX deliveries_first ON deliveries (destination) WHERE state = 'waiting' AND attempted_at IS NULL;
  CREATE INDEX deliveries_retry ON deliveries (destination, due_at) WHERE state = 'waiting' AND attempted_at NOT NULL;
  -- The oldest of the retries, for the operator.
  CREATE INDEX deliveries_tried ON deliveries (destination) WHERE state = 'waiting' AND attempted_at NOT NULL;
  -- What is settled, by age, for pruning and for lists.
  CREATE INDEX deliveries_delivered ON deliveries (settled_at) WHERE state = 'delivered';
  CREATE INDEX deliveries_failed ON deliveries (settled_at) WHERE state = 'failed';
  CREATE INDEX deliveries_expired ON deliveries (settled_at) WHERE state = 'expired';

  -- How many deliveries there are, kept in the transaction that changes them: counting a million would take a while.
  CREATE TABLE counts (
    destination TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    count       INTEGER NOT NULL,
    PRIMARY KEY (destination, state)
  ) STRICT, WITHOUT ROWID;

  -- The messageIds of the last 24 hours, so that a repeat is recognised however long its event is kept. One row for
  -- each commit: "keys" holds 16 bytes of SHA-256 over source and messageId for each event of it, numbered from "first".
  CREATE TABLE seen (
    first   INTEGER PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    keys    BLOB    NOT NULL
  ) STRICT;

  -- Single values: last_at is the latest time the daemon knew, so that a machine whose clock is behind goes on from it.
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];

export const SCHEMA_VERSION = STEPS.length;

/** Brings the schema up to date, one transaction a step. Throws if the file was written by a newer Fairlead. */
export function migrate(db: Database): void {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `its schema is version ${version}, and this Fairlead knows up to ${SCHEMA_VERSION}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade",
    );
  }
  STEPS.slice(version).forEach((step, index) => {
    const next = version + index + 1;
    db.exec(`BEGIN IMMEDIATE; ${step} PRAGMA user_version = ${next}; COMMIT`);
  });
}
