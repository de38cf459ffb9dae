import type { Migrating } from "../../model/supervisor.ts";
import type { Database } from "./driver.ts";
import { type Step, takeSteps } from "./migrate.ts";
import { COMPUTATIONS } from "./schema.ts";
import { CHECKSUMS } from "./segment.ts";

/**
 * The schema, step by step. A step is never changed once it was released: a store of any age is brought up to date by
 * the steps it has not seen. `PRAGMA user_version` is the number of steps done. Some indexes have either of two names:
 * `deletions/rewrite.ts`.
 */
export const STEPS: readonly Step[] = [
  `
  -- What the daemon writes is built for few, large writes: the events of one commit are one segment (or several, if they
  -- are many), and what becomes of most of them, a delivery at the first attempt, is a letter in the segment's progress.
  -- Whoever reads by hand has the views "events" and "deliveries" at the end, with a row for each.

  -- One row for each segment: the events with the numbers first, first + 1, … as many as "events" says. "open" counts
  -- its deliveries that still wait for their first attempt; settled_at is when the last of the others left off waiting, and
  -- NULL before any has. Times are in milliseconds since 1970, on a clock that never steps.
  CREATE TABLE segments (
    first       INTEGER PRIMARY KEY,
    events      INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    open        INTEGER NOT NULL,
    settled_at  INTEGER,
    dense       INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- What is settled, by age, for pruning; and what is settled for the most part, unless "dense" says that what waits in it
  -- would take more space by itself.
  CREATE INDEX segments_settled ON segments (settled_at) WHERE open = 0;
  CREATE INDEX segments_sparse ON segments (accepted_at) WHERE open > 0 AND dense = 0 AND events >= open * 2;

  -- What the events of a segment are, in their order: "about" is a JSON array with an array for each, of its source,
  -- type, messageId, userId, and if there are any the destinations that do not get it, each with the rule that decided;
  -- "bodies" has a line for each, which is what every receiver gets, to the byte; from 4 KB on it is compressed (a BLOB of
  -- zstd). Never changed, and so not in the row above.
  CREATE TABLE contents (
    segment INTEGER PRIMARY KEY,
    about   TEXT NOT NULL,
    bodies  ANY  NOT NULL
  ) STRICT;

  -- One row for each segment and destination, with a letter for each event in "states": w waits for its first attempt,
  -- d was delivered by it, t has a row in "tried", and - is not for this destination. "waiting" counts the w. "settled"
  -- has a line of JSON for each webhook, status and time of those that were delivered.
  CREATE TABLE progress (
    segment     INTEGER NOT NULL,
    destination TEXT    NOT NULL,
    waiting     INTEGER NOT NULL,
    states      TEXT    NOT NULL,
    settled     TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (segment, destination)
  ) STRICT, WITHOUT ROWID;

  -- What waits for its first attempt, as the delivery loop reads it.
  CREATE INDEX progress_waiting ON progress (destination, segment) WHERE waiting > 0;

  -- One row for each delivery that its first attempt did not deliver. "state" is waiting until an attempt settles it: then
  -- delivered, failed or expired. due_at says when the next attempt is due, and is NULL once it is settled; settled_at is
  -- NULL until then. attempted_at is the end of the last attempt, first_attempt_at the beginning of the first one that left
  -- the machine. held is the time that does not count towards the cutoff. url and status say who took it, reason why it
  -- waits or was given up; finals is a JSON array of the webhooks that have refused the event for good.
  CREATE TABLE tried (
    event            INTEGER NOT NULL,
    destination      TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    due_at           INTEGER,
    attempts         INTEGER NOT NULL,
    first_attempt_at INTEGER,
    attempted_at     INTEGER,
    held             INTEGER NOT NULL,
    settled_at       INTEGER,
    url              TEXT,
    status           INTEGER,
    reason           TEXT,
    finals           TEXT,
    accepted_at      INTEGER NOT NULL,
    about            TEXT    NOT NULL,
    body             TEXT    NOT NULL,
    PRIMARY KEY (event, destination)
  ) STRICT;

  -- What waits, by the time it is due and by age; and what is settled, by age, for pruning and for lists.
  CREATE INDEX tried_due ON tried (destination, due_at, event) WHERE state = 'waiting';
  CREATE INDEX tried_waiting ON tried (destination, event) WHERE state = 'waiting';
  CREATE INDEX tried_delivered ON tried (settled_at) WHERE state = 'delivered';
  CREATE INDEX tried_failed ON tried (settled_at) WHERE state = 'failed';
  CREATE INDEX tried_expired ON tried (settled_at) WHERE state = 'expired';

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

  -- Single values: last_at and those that are written with it say where the line of time was (store/timeline.ts);
  -- next_event is the least number that no event has had, as far as pruning has removed it from segments.
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- For people: the events that are still in their segments (with their body, unless it is compressed), and all
  -- deliveries. Both read everything; the daemon does not use them.
  CREATE VIEW events AS
    SELECT s.first + a.key AS id, s.first AS segment, a.value ->> 0 AS source, a.value ->> 1 AS type,
      a.value ->> 2 AS message_id, a.value ->> 3 AS user_id, a.value -> 4 AS skipped, s.accepted_at,
      iif(typeof(c.bodies) = 'text', json_extract('[' || replace(c.bodies, char(10), ',') || ']', '$[' || a.key || ']'), NULL)
        AS body
    FROM segments s JOIN contents c ON c.segment = s.first JOIN json_each(c.about) a;

  CREATE VIEW deliveries AS
    SELECT s.first + a.key AS event, p.destination, iif(substr(p.states, a.key + 1, 1) = 'd', 'delivered', 'waiting') AS state,
      iif(substr(p.states, a.key + 1, 1) = 'w', s.accepted_at, NULL) AS due_at,
      iif(substr(p.states, a.key + 1, 1) = 'd', 1, 0) AS attempts, NULL AS first_attempt_at, NULL AS attempted_at, 0 AS held,
      l.value ->> 'at' AS settled_at, l.value ->> 'url' AS url, l.value ->> 'status' AS status, NULL AS reason,
      NULL AS finals, s.accepted_at, a.value ->> 2 AS message_id
    FROM progress p JOIN segments s ON s.first = p.segment JOIN contents c ON c.segment = p.segment JOIN json_each(c.about) a
      LEFT JOIN json_each('[' || replace(rtrim(p.settled, char(10)), char(10), ',') || ']') l
        ON EXISTS (SELECT 1 FROM json_each(l.value, '$.events') e WHERE e.value = s.first + a.key)
    WHERE substr(p.states, a.key + 1, 1) IN ('w', 'd')
    UNION ALL
    SELECT event, destination, state, due_at, attempts, first_attempt_at, attempted_at, held, settled_at, url, status, reason,
      finals, accepted_at, about ->> 2 FROM tried;
  `,
  `
  -- The attempts of a delivery, as JSON: the first five, how many were left out, and the last five. NULL if none was made, if
  -- the first one delivered it (url, status and settled_at say all of that), or if they were made by schema 1.
  ALTER TABLE tried ADD COLUMN log TEXT;
  `,
  `
  -- One row for each spell in which nothing is delivered to a destination because the operator wants it so. "kind" is paused
  -- (fairlead pause) or unserved (disabled, or not in the config) while it lasts, and until_at is NULL; then it is over. Such
  -- time does not count towards the cutoff of what waited then.
  CREATE TABLE spells (
    destination TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    from_at     INTEGER NOT NULL,
    until_at    INTEGER,
    PRIMARY KEY (destination, kind, from_at)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- When the operator last had it sent again (fairlead replay); NULL if never. What came before is in the log. It waits since
  -- then, not since it was accepted.
  ALTER TABLE tried ADD COLUMN replayed_at INTEGER;
  DROP INDEX tried_waiting;
  CREATE INDEX tried_waiting ON tried (destination, coalesce(replayed_at, accepted_at), event) WHERE state = 'waiting';
  `,
  `
  -- One row for each request that users be deleted (fairlead delete-user). "status" is running, finished or failed; "stage"
  -- is what is done for it now: notices (they are made), settling (they are delivered), erasing, done. requested_at and ended_at
  -- are of the wall clock. "scope" is a JSON array of the sources that were named, NULL if none was; "sources" those that send
  -- notices. Events with numbers up to "up_to" were there before. "notices" counts what became of the notices, "erased" what was
  -- removed: both are JSON.
  CREATE TABLE deletions (
    id           TEXT PRIMARY KEY,
    requested_at INTEGER NOT NULL,
    ended_at     INTEGER,
    status       TEXT    NOT NULL,
    stage        TEXT    NOT NULL,
    users        INTEGER NOT NULL,
    scope        TEXT,
    sources      TEXT    NOT NULL,
    up_to        INTEGER NOT NULL,
    erase        INTEGER NOT NULL,
    suppress     INTEGER NOT NULL,
    forced       INTEGER NOT NULL DEFAULT 0,
    notices      TEXT    NOT NULL DEFAULT '[]',
    erased       TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deletions_stage ON deletions (stage, id);

  -- Their users. user_id is NULL once it is erased; "hash" is the SHA-256 of the salt, a colon and the user_id.
  CREATE TABLE deletion_users (
    deletion TEXT    NOT NULL,
    nth      INTEGER NOT NULL,
    user_id  TEXT,
    hash     TEXT    NOT NULL,
    PRIMARY KEY (deletion, nth)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deletion_users_hash ON deletion_users (hash, deletion);

  -- One row for each notice that was made, written with its event. "fates" is a JSON array of destination and state; "open" is 0
  -- when these cannot change any more.
  CREATE TABLE deletion_notices (
    deletion TEXT    NOT NULL,
    source   TEXT    NOT NULL,
    nth      INTEGER NOT NULL,
    event    INTEGER NOT NULL,
    fates    TEXT    NOT NULL,
    open     INTEGER NOT NULL,
    PRIMARY KEY (deletion, source, nth)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deletion_notices_open ON deletion_notices (deletion, event) WHERE open = 1;

  -- Users whose calls are refused, from this source or, where that is empty, from all. since_at is of the wall clock.
  CREATE TABLE suppressed (
    hash     TEXT    NOT NULL,
    source   TEXT    NOT NULL,
    since_at INTEGER NOT NULL,
    PRIMARY KEY (hash, source)
  ) STRICT, WITHOUT ROWID;

  -- The salt of all hashes of users, in one row.
  CREATE TABLE salt (value TEXT NOT NULL) STRICT;
  INSERT INTO salt VALUES (lower(hex(randomblob(16))));

  -- In "contents", an event whose messageId is empty was erased: its user and its body went, its letters stay.
  `,
  COMPUTATIONS,
  CHECKSUMS,
  `
  -- Syncs that may have changes: whoever is deleted leaves them.
  CREATE INDEX syncs_open ON syncs (number) WHERE state <> 'finished';

  -- Whom a deletion cannot reach: a JSON array of destinations, each with the reason.
  ALTER TABLE deletions ADD COLUMN untold TEXT NOT NULL DEFAULT '[]';

  -- The key of the hashes of users in the messageIds of audiences and traits, in one row. Nobody is shown it.
  CREATE TABLE call_key (value TEXT NOT NULL) STRICT;
  INSERT INTO call_key VALUES (lower(hex(randomblob(32))));
  `,
];

export const SCHEMA_VERSION = STEPS.length;

/**
 * Brings the schema up to date, or as far as `upTo`; `migrating` hears of each step of a file that is not new. Throws if
 * the file was written by a newer Fairlead.
 */
export function migrate(db: Database, upTo = SCHEMA_VERSION, migrating?: Migrating): void {
  takeSteps(db, STEPS, { upTo, migrating });
}
