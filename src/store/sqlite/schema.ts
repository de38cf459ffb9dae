import type { Migrating } from "../../model/daemon.ts";
import { type Database, sizeOf } from "./driver.ts";

/** The tables of an outbox. The daemon writes few, large rows; the views at the end are for people. */
const SCHEMA = `
  -- The events of one commit are one segment, or several if they are many: those with the numbers first, first + 1, … as
  -- many as "events" says. "open" counts its deliveries that wait for their first attempt. settled_at is when the last of
  -- the others was settled, NULL before any was. Times are in milliseconds since 1970, on a clock that never steps.
  CREATE TABLE segments (
    first       INTEGER PRIMARY KEY,
    events      INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    open        INTEGER NOT NULL,
    settled_at  INTEGER,
    dense       INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- For pruning: segments that are settled, by age; and those that are settled for the most part. "dense" excludes those
  -- whose waiting deliveries would take more space on their own.
  CREATE INDEX segments_settled ON segments (settled_at) WHERE open = 0;
  CREATE INDEX segments_sparse ON segments (accepted_at) WHERE open > 0 AND dense = 0 AND events >= open * 2;

  -- What the events of a segment are, in their order. "about" is a JSON array with an array for each: its source, type,
  -- messageId, userId, and the destinations that do not get it, if any: an array for each rule, with those that it keeps it
  -- from. In place of that may stand the index of the first event of the segment that has the same. "bodies" has a
  -- line for each, which every receiver gets to the byte; from 4 KB on it is compressed (a BLOB of zstd). "sum" is the
  -- CRC-32 of "about" and, after it, "bodies", NULL in rows of development versions. Erasing an event empties its
  -- messageId, its userId and its body; otherwise a row never changes. The newest segments have a row only here ("tail.ts"):
  -- "tail" says in JSON when they were accepted, their letters for each destination, and which deliveries of earlier ones
  -- had succeeded; tail_sum is its CRC-32. It means nothing any more once there is a row in "segments".
  CREATE TABLE contents (
    segment  INTEGER PRIMARY KEY,
    about    TEXT    NOT NULL,
    bodies   ANY     NOT NULL,
    sum      INTEGER,
    tail     TEXT    NOT NULL,
    tail_sum INTEGER NOT NULL
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

  -- First attempts, as the delivery loop reads them.
  CREATE INDEX progress_waiting ON progress (destination, segment) WHERE waiting > 0;

  -- One row for each delivery that its first attempt did not deliver, or that was sent again.
  --   state             waiting, until an attempt settles it: then delivered, failed or expired
  --   due_at            when the next attempt is due; NULL once it is settled
  --   first_attempt_at  when the first attempt that left the machine began
  --   stood_still       for how long the destination's clock had stood still until then, in all ("clocks"): what it has
  --                     stood still since does not count towards the cutoff
  --   attempted_at      when the last attempt ended
  --   settled_at        NULL while it waits
  --   url, status       who took it
  --   reason            why it waits, or was given up
  --   finals            a JSON array of the webhooks that have refused the event for good
  --   about, body       as in "contents"
  --   log               its attempts as JSON: the first five, how many were left out, and the last five. NULL if none was
  --                     made, or if the first one delivered it (url, status and settled_at say all of that)
  --   replayed_at       when the operator last sent it again (fairlead replay): it waits since then
  --   sum               the CRC-32 of "about" and, after it, "body"; NULL in rows of development versions
  CREATE TABLE tried (
    event            INTEGER NOT NULL,
    destination      TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    due_at           INTEGER,
    attempts         INTEGER NOT NULL,
    first_attempt_at INTEGER,
    attempted_at     INTEGER,
    stood_still      INTEGER NOT NULL,
    settled_at       INTEGER,
    url              TEXT,
    status           INTEGER,
    reason           TEXT,
    finals           TEXT,
    accepted_at      INTEGER NOT NULL,
    about            TEXT    NOT NULL,
    body             TEXT    NOT NULL,
    log              TEXT,
    replayed_at      INTEGER,
    sum              INTEGER,
    PRIMARY KEY (event, destination)
  ) STRICT;

  -- Waiting deliveries by the time they are due and by age; settled ones by age, for pruning and for lists.
  CREATE INDEX tried_due ON tried (destination, due_at, event) WHERE state = 'waiting';
  CREATE INDEX tried_waiting ON tried (destination, coalesce(replayed_at, accepted_at), event) WHERE state = 'waiting';
  CREATE INDEX tried_delivered ON tried (settled_at) WHERE state = 'delivered';
  CREATE INDEX tried_failed ON tried (settled_at) WHERE state = 'failed';
  CREATE INDEX tried_expired ON tried (settled_at) WHERE state = 'expired';

  -- How many deliveries there are, kept in the transaction that changes them: counting a million takes a while.
  CREATE TABLE counts (
    destination TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    count       INTEGER NOT NULL,
    PRIMARY KEY (destination, state)
  ) STRICT, WITHOUT ROWID;

  -- The messageIds of the last 24 hours, which recognise a repeat however long its event is kept. One row for each commit:
  -- "keys" holds 16 bytes of SHA-256 over source and messageId for each of its events, numbered from "first".
  CREATE TABLE seen (
    first   INTEGER PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    keys    BLOB    NOT NULL
  ) STRICT;

  -- Single values: last_at and those written with it say where the store's clock was (store/timeline.ts); next_event is
  -- the lowest number that no event has had, as far as pruning has removed segments.
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- One row for each destination whose clock has ever stood still. By this clock its deliveries reach their cutoff.
  --   paused_at    fairlead pause
  --   unserved_at  disabled, or not in the config, while something waits for it
  --   offline_at   this machine has no network
  --   stopped_at   while one of these is set, the clock stands still since then; NULL while it runs
  --   stood_still  for how long it had stood still before that, in milliseconds
  CREATE TABLE clocks (
    destination TEXT PRIMARY KEY,
    paused_at   INTEGER,
    unserved_at INTEGER,
    offline_at  INTEGER,
    stopped_at  INTEGER,
    stood_still INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- One row for each request to delete users (fairlead delete-user).
  --   status    running, finished or failed
  --   stage     notices (they are made), settling (they are delivered), erasing, done
  --   scope     a JSON array of the sources that were named, NULL if none was
  --   sources   a JSON array of those that send notices
  --   up_to     events with numbers up to this were there before
  --   notices   JSON: how many notices are in which state
  --   erased    JSON: how much was removed
  --   untold    a JSON array of the destinations that cannot be told, each with the reason
  -- requested_at and ended_at are of the machine's clock.
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
    erased       TEXT,
    untold       TEXT    NOT NULL DEFAULT '[]'
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deletions_stage ON deletions (stage, id);

  -- The users of these requests. user_id is NULL once it is erased; "hash" is the SHA-256 of the salt, a colon and the
  -- user_id.
  CREATE TABLE deletion_users (
    deletion TEXT    NOT NULL,
    nth      INTEGER NOT NULL,
    user_id  TEXT,
    hash     TEXT    NOT NULL,
    PRIMARY KEY (deletion, nth)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deletion_users_hash ON deletion_users (hash, deletion);

  -- One row for each notice, written with its event. "fates" is a JSON array of destination and state; "open" is 0 when
  -- these cannot change any more.
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

  -- Users whose calls are refused: from this source or, where that is empty, from all. since_at is of the machine's clock.
  CREATE TABLE suppressed (
    hash     TEXT    NOT NULL,
    source   TEXT    NOT NULL,
    since_at INTEGER NOT NULL,
    PRIMARY KEY (hash, source)
  ) STRICT, WITHOUT ROWID;

  -- The salt of all hashes of users, in one row.
  CREATE TABLE salt (value TEXT NOT NULL) STRICT;
  INSERT INTO salt VALUES (lower(hex(randomblob(16))));

  -- One row for each audience and each computed trait of a source; "class" says which. "key" is the trait that receivers
  -- get, "id" what they know it by, "size" how many users have a value. removed_at is set when it is removed; the row stays
  -- while calls about its users may wait.
  CREATE TABLE computations (
    number     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    UNIQUE (source, key)
  ) STRICT;

  -- One row for each user with a value, which is JSON: true for a member of an audience. The value is NULL for a user who has
  -- left, as long as the call that said so may wait. "event" is the number of the last call about them; NULL if it went
  -- nowhere.
  CREATE TABLE members (
    computation INTEGER NOT NULL,
    user        TEXT    NOT NULL,
    value       TEXT,
    event       INTEGER,
    PRIMARY KEY (computation, user)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX members_gone ON members (computation, event) WHERE value IS NULL;

  -- One row for each sync: what it changes, and how many of its changes are in the outbox ("done"). "state" is prepared
  -- while its changes are written down (abandoned if it is given up, or the daemon ends), then running, then finished.
  CREATE TABLE syncs (
    number      INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    computation INTEGER,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    added       INTEGER NOT NULL DEFAULT 0,
    changed     INTEGER NOT NULL DEFAULT 0,
    removed     INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- The syncs of a computation; and those that may have changes, which deleted users leave.
  CREATE INDEX syncs_of ON syncs (computation, number);
  CREATE INDEX syncs_open ON syncs (number) WHERE state <> 'finished';

  -- What a sync still has to do: a row goes in the commit of its call. "value" is as in members.
  CREATE TABLE changes (
    sync  INTEGER NOT NULL,
    user  TEXT    NOT NULL,
    value TEXT,
    PRIMARY KEY (sync, user)
  ) STRICT, WITHOUT ROWID;

  -- For people: the events that are still in their segments (with their body, unless it is compressed), and all
  -- deliveries. Both read everything; the daemon does not use them.
  CREATE VIEW events AS
    SELECT c.segment + a.key AS id, c.segment, a.value ->> 0 AS source, a.value ->> 1 AS type,
      a.value ->> 2 AS message_id, a.value ->> 3 AS user_id,
      iif(json_type(a.value, '$[4]') = 'integer', c.about -> ('$[' || (a.value ->> 4) || '][4]'), a.value -> 4) AS skipped, coalesce(s.accepted_at, iif(json_valid(c.tail), c.tail ->> 'at', NULL)) AS accepted_at,
      iif(typeof(c.bodies) = 'text', json_extract('[' || replace(c.bodies, char(10), ',') || ']', '$[' || a.key || ']'), NULL)
        AS body
    FROM contents c LEFT JOIN segments s ON s.first = c.segment JOIN json_each(c.about) a;

  CREATE VIEW deliveries AS
    SELECT s.first + a.key AS event, p.destination, iif(substr(p.states, a.key + 1, 1) = 'd', 'delivered', 'waiting') AS state,
      iif(substr(p.states, a.key + 1, 1) = 'w', s.accepted_at, NULL) AS due_at,
      iif(substr(p.states, a.key + 1, 1) = 'd', 1, 0) AS attempts, NULL AS first_attempt_at, NULL AS attempted_at, 0 AS stood_still,
      l.value ->> 'at' AS settled_at, l.value ->> 'url' AS url, l.value ->> 'status' AS status, NULL AS reason,
      NULL AS finals, s.accepted_at, a.value ->> 2 AS message_id
    FROM progress p JOIN segments s ON s.first = p.segment JOIN contents c ON c.segment = p.segment JOIN json_each(c.about) a
      LEFT JOIN json_each('[' || replace(rtrim(p.settled, char(10)), char(10), ',') || ']') l
        ON EXISTS (SELECT 1 FROM json_each(l.value, '$.events') e WHERE e.value = s.first + a.key)
    WHERE substr(p.states, a.key + 1, 1) IN ('w', 'd')
    UNION ALL
    SELECT c.segment + a.key, r.value ->> 0, iif(l.at IS NULL, 'waiting', 'delivered'), iif(l.at IS NULL, c.tail ->> 'at', NULL),
      iif(l.at IS NULL, 0, 1), NULL, NULL, 0, l.at, l.url, l.status, NULL, NULL, c.tail ->> 'at',
      a.value ->> 2
    FROM contents c JOIN json_each(iif(json_valid(c.tail), c.tail, '{}'), '$.to') r JOIN json_each(c.about) a
      LEFT JOIN (
        SELECT x.value ->> 0 AS destination, x.value ->> 1 AS at, x.value ->> 2 AS url, x.value ->> 3 AS status, e.value AS event
        FROM contents n JOIN json_each(iif(json_valid(n.tail), n.tail, '{}'), '$.successes') x JOIN json_each(x.value, '$[4]') e
        WHERE n.segment > (SELECT coalesce(max(first), 0) FROM segments)
      ) l ON l.event = c.segment + a.key AND l.destination = r.value ->> 0
    WHERE c.segment > (SELECT coalesce(max(first), 0) FROM segments) AND substr(r.value ->> 1, a.key + 1, 1) = 'w'
    UNION ALL
    SELECT event, destination, state, due_at, attempts, first_attempt_at, attempted_at, stood_still, settled_at, url, status, reason,
      finals, accepted_at, about ->> 2 FROM tried;

  -- The key of the hashes of users in the messageIds of audiences and traits, in one row. It is never shown.
  -- A table comes last: if SQLite looks at a view first, integrity_check and quick_check miss pages that nothing refers to.
  CREATE TABLE call_key (value TEXT NOT NULL) STRICT;
  INSERT INTO call_key VALUES (lower(hex(randomblob(32))));
`;

/** `PRAGMA user_version` of the schema above. Lower numbers belong to development versions. */
export const FIRST_SCHEMA = 10;

/**
 * The SQL of each step from FIRST_SCHEMA on, which has to be quick on an outbox of any size. A released step never changes. A step
 * that drops an index of a table in rewrite.ts has to drop both of its names.
 */
const STEPS: readonly string[] = [];

export const SCHEMA_VERSION = FIRST_SCHEMA + STEPS.length;

/** The schema of a file cannot be used by this version. */
export class SchemaRefused extends Error {
  readonly code: "schema_newer" | "schema_unsupported";
  constructor({ code, message }: SchemaFault) {
    super(message);
    this.code = code;
  }
}

export type SchemaFault = { readonly code: SchemaRefused["code"]; readonly message: string };

/** Why this version cannot use a store of this schema; null if it can. */
export function faultOfSchema(version: number, newest = SCHEMA_VERSION): SchemaFault | null {
  if (version > newest) {
    const message = `its schema is version ${version}, and this Fairlead knows up to ${newest}`;
    return { code: "schema_newer", message };
  }
  if (version === 0 || version >= FIRST_SCHEMA) return null;
  const message = `its schema is version ${version}, of a development version; this Fairlead knows ${FIRST_SCHEMA} and later`;
  return { code: "schema_unsupported", message };
}

const REMEDIES = {
  schema_newer: "use the newer Fairlead that wrote it, or a backup from before the upgrade",
  schema_unsupported: "set another outbox.path, or move the file away",
};

/** The schema of a file, 0 if it is new. Throws SchemaRefused if this version cannot use it. */
export function schemaOf(db: Database, newest: number): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  const fault = faultOfSchema(version, newest);
  if (fault) throw new SchemaRefused({ ...fault, message: `${fault.message}; ${REMEDIES[fault.code]}` });
  return version;
}

type Steps = {
  readonly steps?: readonly string[] | undefined;
  /** Called before each step on a file that is not new. */
  readonly migrating?: Migrating | undefined;
};

/**
 * Creates the tables of a new file, or runs the steps that an older file lacks. Each step and its version number are one
 * transaction: a crash leaves the file as it was, and the next start runs the step again.
 */
export function migrate(db: Database, { steps = STEPS, migrating }: Steps = {}): void {
  const of = FIRST_SCHEMA + steps.length;
  const version = schemaOf(db, of);
  if (version === 0) take(db, SCHEMA, FIRST_SCHEMA);
  const from = Math.max(version, FIRST_SCHEMA);
  steps.slice(from - FIRST_SCHEMA).forEach((sql, nth) => {
    const step = from + nth + 1;
    if (version > 0) migrating?.({ step, of, bytes: sizeOf(db) });
    take(db, sql, step);
  });
}

function take(db: Database, sql: string, version: number): void {
  db.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${version}; COMMIT`);
}
