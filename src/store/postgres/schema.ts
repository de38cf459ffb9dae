/**
 * The tables of an outbox that several daemons share, in the schema that the connection's search path begins with. They
 * resemble those of SQLite (`store/sqlite/schema.ts`); what differs is said here. Times are in milliseconds since 1970, on
 * the daemons' clocks, which continue from the database's; beats are by the database's own.
 */
const TABLES = `
  CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL);

  -- The clock by which daemons are found dead.
  CREATE FUNCTION the_time() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  -- A stream is a part of the outbox that one daemon writes and delivers: its holder, NULL if nobody needs it. "epoch" counts
  -- the holders: what is written for another epoch is refused. "dirty": its counts lack what its holder has not written yet.
  CREATE TABLE streams (
    id      smallint PRIMARY KEY,
    holder  text COLLATE "C",
    epoch   bigint  NOT NULL,
    beat_at bigint  NOT NULL,
    dirty   boolean NOT NULL
  );

  -- The daemons that run. "about": JSON of where and what it is, and in it "schema", the version of the tables that it knows;
  -- seen_version: up to which version it has read the news; "sending": a JSON array of the destinations that it has attempts
  -- under way for.
  CREATE TABLE daemons (
    id           text COLLATE "C" PRIMARY KEY,
    about        json   NOT NULL,
    beat_at      bigint NOT NULL,
    seen_version bigint NOT NULL,
    sending      json   NOT NULL
  );

  -- The daemons that have beaten since the server crashed, or a standby took its place: PostgreSQL empties it then.
  CREATE UNLOGGED TABLE remembered (daemon text COLLATE "C" PRIMARY KEY);

  -- Work that one daemon does for all.
  CREATE TABLE leases (name text COLLATE "C" PRIMARY KEY, holder text COLLATE "C", beat_at bigint NOT NULL);
  INSERT INTO leases VALUES ('work', NULL, 0);

  -- What daemons tell each other. The version is counted up in the transaction that adds a row, so rows appear in its order.
  CREATE TABLE control (version bigint NOT NULL);
  INSERT INTO control VALUES (0);
  CREATE TABLE news (
    version bigint PRIMARY KEY,
    at      bigint NOT NULL,
    by      text   NOT NULL,
    kind    text   NOT NULL,
    what    json   NOT NULL
  );

  -- Numbers of events, in blocks.
  CREATE SEQUENCE event_numbers INCREMENT 256;

  -- "about" and "bodies" as on SQLite; "sum" is the CRC-32 of both, "bytes" their size.
  CREATE TABLE segments (
    first       bigint   PRIMARY KEY,
    stream      smallint NOT NULL,
    events      int      NOT NULL,
    accepted_at bigint   NOT NULL,
    about       json     NOT NULL,
    bodies      bytea    NOT NULL,
    sum         bigint   NOT NULL,
    bytes       int      NOT NULL
  );
  -- They are compressed already.
  ALTER TABLE segments ALTER COLUMN bodies SET STORAGE EXTERNAL;

  -- One row for each segment and destination. Each bit string has a bit for each event, the first one first: "routed" is for
  -- this destination, "waiting" waits for its first attempt, "delivered" was delivered by it; what is routed and neither of
  -- these has a row in "tried". "takers" has a line of JSON for each webhook, status and time. "done": nothing waits. Only
  -- "done" is in an index, and changes once.
  CREATE TABLE progress (
    segment     bigint   NOT NULL,
    destination text COLLATE "C" NOT NULL,
    stream      smallint NOT NULL,
    routed      varbit   NOT NULL,
    waiting     varbit   NOT NULL,
    delivered   varbit   NOT NULL,
    settled_at  bigint,
    takers      text     NOT NULL DEFAULT '',
    done        boolean  NOT NULL,
    PRIMARY KEY (segment, destination)
  );
  CREATE INDEX progress_open ON progress (stream, destination, segment) WHERE NOT done;

  CREATE TABLE tried (
    event            bigint   NOT NULL,
    destination      text COLLATE "C" NOT NULL,
    stream           smallint NOT NULL,
    state            text COLLATE "C" NOT NULL,
    due_at           bigint,
    attempts         int      NOT NULL,
    first_attempt_at bigint,
    attempted_at     bigint,
    stood_still      bigint   NOT NULL,
    settled_at       bigint,
    url              text,
    status           int,
    reason           text,
    finals           json,
    accepted_at      bigint   NOT NULL,
    about            json     NOT NULL,
    body             text     NOT NULL,
    log              json,
    replayed_at      bigint,
    sum              bigint   NOT NULL,
    bytes            int      GENERATED ALWAYS AS (octet_length(body) + 300) STORED,
    PRIMARY KEY (event, destination)
  );
  CREATE INDEX tried_due ON tried (stream, destination, due_at, event) WHERE state = 'waiting';
  CREATE INDEX tried_waiting ON tried (destination, coalesce(replayed_at, accepted_at), event) WHERE state = 'waiting';
  CREATE INDEX tried_settled ON tried (state, settled_at, event) WHERE state <> 'waiting';

  CREATE TABLE counts (
    stream      smallint NOT NULL,
    destination text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    count       bigint   NOT NULL,
    PRIMARY KEY (stream, destination, state)
  );

  -- The messageIds of the last 24 hours: 16 bytes of SHA-256 over source and messageId.
  CREATE TABLE seen (key bytea PRIMARY KEY, at bigint NOT NULL);
  CREATE INDEX seen_at ON seen USING brin (at);

  CREATE TABLE clocks (
    destination text COLLATE "C" PRIMARY KEY,
    paused_at   bigint,
    unserved_at bigint,
    offline_at  bigint,
    stopped_at  bigint,
    stood_still bigint NOT NULL
  );

  CREATE TABLE deletions (
    id           text COLLATE "C" PRIMARY KEY,
    requested_at bigint  NOT NULL,
    ended_at     bigint,
    status       text    NOT NULL,
    stage        text COLLATE "C" NOT NULL,
    users        int     NOT NULL,
    scope        json,
    sources      json    NOT NULL,
    up_to        bigint  NOT NULL,
    erase        boolean NOT NULL,
    suppress     boolean NOT NULL,
    forced       boolean NOT NULL DEFAULT false,
    notices      json    NOT NULL DEFAULT '[]',
    erased       json,
    untold       json    NOT NULL DEFAULT '[]'
  );
  CREATE INDEX deletions_stage ON deletions (stage, id);

  CREATE TABLE deletion_users (
    deletion text COLLATE "C" NOT NULL,
    nth      int  NOT NULL,
    user_id  text COLLATE "C",
    hash     text COLLATE "C" NOT NULL,
    PRIMARY KEY (deletion, nth)
  );
  CREATE INDEX deletion_users_hash ON deletion_users (hash, deletion);

  CREATE TABLE deletion_notices (
    deletion text COLLATE "C" NOT NULL,
    source   text COLLATE "C" NOT NULL,
    nth      int     NOT NULL,
    event    bigint  NOT NULL,
    fates    json    NOT NULL,
    open     boolean NOT NULL,
    PRIMARY KEY (deletion, source, nth)
  );
  CREATE INDEX deletion_notices_open ON deletion_notices (deletion, event) WHERE open;

  CREATE TABLE suppressed (
    hash     text COLLATE "C" NOT NULL,
    source   text COLLATE "C" NOT NULL,
    since_at bigint NOT NULL,
    PRIMARY KEY (hash, source)
  );

  -- Empty, unless a transaction somewhere still needs rows that were deleted: VACUUM gives its page back only then.
  CREATE TABLE vacuum_probe (at bigint NOT NULL);

  -- One row: the salt of all hashes of users, and the key of the ids of calls about them.
  CREATE TABLE secrets (salt text NOT NULL, call_key text NOT NULL);
  INSERT INTO secrets VALUES (replace(gen_random_uuid()::text, '-', ''),
    replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

  CREATE TABLE computations (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text   NOT NULL,
    source     text COLLATE "C" NOT NULL,
    class      text   NOT NULL,
    name       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    size       bigint NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint,
    UNIQUE (source, key)
  );

  CREATE TABLE members (
    computation bigint NOT NULL,
    "user"      text COLLATE "C" NOT NULL,
    value       text,
    event       bigint,
    PRIMARY KEY (computation, "user")
  );
  CREATE INDEX members_gone ON members (computation, event) WHERE value IS NULL;

  -- "daemon": the one that prepares it.
  CREATE TABLE syncs (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text   NOT NULL,
    kind        text   NOT NULL,
    state       text   NOT NULL,
    daemon      text COLLATE "C" NOT NULL,
    computation bigint,
    started_at  bigint NOT NULL,
    finished_at bigint,
    added       bigint NOT NULL DEFAULT 0,
    changed     bigint NOT NULL DEFAULT 0,
    removed     bigint NOT NULL DEFAULT 0,
    done        bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX syncs_of ON syncs (computation, number);
  CREATE INDEX syncs_open ON syncs (number) WHERE state <> 'finished';

  CREATE TABLE changes (
    sync  bigint NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    value text,
    PRIMARY KEY (sync, "user")
  );
`;

/** What brings the tables from one version to the next. */
export type Step = {
  readonly sql: string;
  /** The oldest version of the tables whose daemons can use them after this step. Older ones refuse to start. */
  readonly oldest: number;
};

/**
 * The first step makes the tables, and each of the others brings those of the version before up to date. A released step never
 * changes. It is one transaction, and holds up who uses what it changes: it has to be quick with any number of rows.
 *
 * Daemons are upgraded one by one, so that those of the version before work on tables that are newer than they know. So a step
 * only adds: tables, functions, indexes, and columns that may be left out and come last. What is no longer used is removed
 * by a step of a later version, and that one has the version which stopped using it as `oldest`. It is not run beside older
 * daemons.
 */
export const STEPS: readonly Step[] = [{ sql: TABLES, oldest: 1 }];

/** The version of the tables, which counts up with each step. */
export const SCHEMA = STEPS.length;

export const TABLE_NAMES: readonly string[] = STEPS.flatMap(({ sql }) =>
  [...sql.matchAll(/CREATE (?:UNLOGGED )?TABLE (\w+)/g)].map(([, name = ""]) => name),
);
